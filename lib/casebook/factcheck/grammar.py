"""Closed word lists that tell verbs, subjects and connectors apart without a parser."""

import re

from casebook.factcheck.words import listed

AUXILIARIES = listed("is are was were has have had does do did isn't aren't wasn't weren't hasn't doesn't don't didn't")
MODALS = listed("must may can cannot could shall will would should might won't can't")
_BASES = listed(
    "accept accrue agree allow announce apply appoint approve assign audit bear begin "
    "believe belong break bring buy call cancel carry cause cease choose close come "
    "compensate complain confirm contain continue cost count cover create declare "
    "decline deduct defend define delete deliver demand deserve destroy dissolve drive "
    "employ end enforce enter exceed exclude exist expire extend fail fall file find "
    "finish follow forbid forecast forward found give go grant guarantee handle happen "
    "hold include increase indemnify inform inspect insure issue keep last lapse leave "
    "lend let limit live lose maintain make mean meet merge move need notify occur "
    "offer open operate owe own pay permit process promise prove provide publish "
    "reach receive recover reduce refuse refund register reject remain remove rent "
    "repair repay replace report require reserve restore return revoke rise sail sell "
    "send serve settle sign stand start state stay stop store supply suspend take "
    "terminate think transfer treat use visit waive win work"
)
_PASTS = listed(
    "began bore bought broke brought came chose fell found gave held kept left lent "
    "lost made meant met paid rose sent sold stood took went won"
)
DETERMINERS = listed("a an the this that these those its their his her our your my each every any either no some")
_BEFORE_NOUNS = DETERMINERS | listed("of in on at by for from with to per")
_PLURALS = listed("we you they i these those people")
SUBORDINATE = listed(
    "if when where which who whose that unless because although until since while whereas whom after before"
)
CONDITIONS = listed("if when where unless after before while until since because although once should except")
LEADING = CONDITIONS | listed("under in for from during on as at abroad")
ADVERBS = listed("also then not never only always still")
CONNECTOR = re.compile(r"\s*;\s+|\s*,?\s+(?:and|but|while|whereas|yet)\s+|\s*,\s+")


def _third(verb):
    if verb.endswith(("s", "sh", "ch", "x", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if _consonant_y(verb) else verb + "s"


def _past(verb):
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if _consonant_y(verb) else verb + "ed"


def _consonant_y(verb):
    return verb.endswith("y") and verb[-2] not in "aeiou"


BASE = frozenset(_BASES) | {"be", "have", "do"}
THIRD = {_third(verb): verb for verb in _BASES}
PAST = {_past(verb): verb for verb in _BASES} | dict.fromkeys(_PASTS)
_TOKEN = re.compile(r"[\w’'.,-]*\w|[,;]")


def tokens(text):
    """Split a clause into tokens with their places."""
    return [(m.group().lower(), m.start()) for m in _TOKEN.finditer(text)]


def finite_verb(text):
    """Find the first finite verb of a clause."""
    listed = [token for token, _ in tokens(text)]
    for place in range(1, len(listed)):
        token, before = listed[place], listed[place - 1]
        if token in AUXILIARIES or token in MODALS:
            return place
        if before in _BEFORE_NOUNS or token in (",", ";"):
            continue
        if token in THIRD:
            return place
        if token in PAST and not _auxiliary_follows(listed[place + 1 :]):
            return place
        if token in BASE and (before in _PLURALS or before.endswith("s")):
            return place
    return None


def _auxiliary_follows(listed):
    for token in listed:
        if token in (",", ";") or token in SUBORDINATE or token in ("and", "but"):
            return False
        if token in AUXILIARIES or token in MODALS:
            return True
    return False


def starts_predicate(text, after_modal):
    """Tell whether a text starts with a finite verb whose subject stands before."""
    listed = [token for token, _ in tokens(text) if token not in ADVERBS]
    if len(listed) < 2:
        return False
    first, second = listed[:2]
    if second in (",", ";", "and", "or"):  # a list of nouns: "interest, costs and fees"
        return False
    if first in AUXILIARIES or first in MODALS or first in THIRD or first in PAST:
        return True
    return after_modal and first in BASE


def starts_clause(text, longest=10):
    """Tell whether a text starts with a subject and its finite verb."""
    place = finite_verb(text)
    if place is None or place > longest:
        return False
    before = [token for token, _ in tokens(text)[:place]]
    return not SUBORDINATE & set(before) and "," not in before
