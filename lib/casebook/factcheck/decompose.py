"""Atomic claims with logical form and verifiability, by rules on whole words.

Clauses and predicates joined by a connector are parted, and the subject, a leading
condition and a modal are restored. A list of things under one verb, a condition and a
reported clause stay whole. There is no parser behind it: what the rules are worth is
measured on annotated sentences, see `casebook.factcheck.decomposition_study`.
"""

import re

from casebook.errors import InputError
from casebook.factcheck import grammar
from casebook.factcheck.model import SubClaim
from casebook.factcheck.verifiability import verifiability
from casebook.factcheck.words import STOP, names, numbers, sentences, words

MOST_SUBCLAIMS = 10
LONGEST_CLAIM = 10_000  # characters
_RELATIVE = re.compile(r"^(?P<head>[^,]+), (?P<pro>which|who|whose) (?P<rest>.+)$")
_DETERMINER = re.compile(r"\b(?:the|a|an)\b", re.IGNORECASE)


def decompose(claim, most=MOST_SUBCLAIMS):
    """Part a claim into atomic claims.

    Parameters
    ----------
    claim : str
        Claim, not blank, at most 10,000 characters.
    most : int
        Most parts to give.

    Returns
    -------
    tuple of SubClaim
        In the order of the claim, those that cannot be verified included.

    Raises
    ------
    InputError
        If the claim is blank, too long, or has more parts than allowed: none is left
        out silently.
    """
    texts = split(checked_claim(claim))
    if len(texts) > most:
        raise InputError(f"the claim has {len(texts)} parts, more than {most}")
    return tuple(
        SubClaim(
            f"SC{number}",
            text,
            logical_form(text),
            verifiability(text),
            names(text),
            tuple(f"{n.value:g} {n.unit}".strip() for n in numbers(text)),
        )
        for number, text in enumerate(texts, start=1)
    )


def checked_claim(claim):
    """Refuse a claim that is no text, blank or too long; give it trimmed."""
    if not isinstance(claim, str) or not claim.strip():
        raise InputError("the claim is empty")
    if len(claim) > LONGEST_CLAIM:
        raise InputError(
            f"the claim has {len(claim):,} characters, more than {LONGEST_CLAIM:,}: "
            "give one claim at a time"
        )
    return " ".join(claim.split())


def split(claim):
    """Part a claim into the texts of its atomic claims.

    Parameters
    ----------
    claim : str
        Claim.

    Returns
    -------
    list of str
        Sentences that can be judged alone.
    """
    parts = []
    for start, end in sentences(claim):
        lead, body = _leading(claim[start:end].rstrip(" .;"))
        for clause in _relative_clauses(body):
            parts += [_sentence(lead, part) for part in _coordinated(clause)]
    return parts or [claim]


def _sentence(lead, text):
    text = f"{lead} {text}" if lead else text
    text = text.strip(" ,;")
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith("?") else ".")


def _leading(sentence):
    """Take a condition or a frame off the front, up to its comma."""
    first = (words(sentence) or ("",))[0]
    comma = sentence.find(", ")
    if first not in grammar.LEADING or not 0 < comma < len(sentence) - 2:
        return "", sentence
    lead = sentence[: comma + 1]
    # "Under the lease the rent is 900, ..." holds the first clause, and is no frame.
    if first not in grammar.CONDITIONS and grammar.finite_verb(lead) is not None:
        return "", sentence
    return lead, sentence[comma + 2 :]


def _relative_clauses(text):
    """Part a non-restrictive relative clause from its main clause."""
    match = _RELATIVE.match(text)
    if not match:
        return [text]
    head, pronoun, rest = match["head"], match["pro"], match["rest"]
    inner, comma, after = rest.partition(", ")
    if comma and grammar.starts_predicate(after, False):
        return [f"{head} {after}", _relative(head, pronoun, inner)]
    if grammar.finite_verb(head) is None:
        return [text]
    places = [found.start() for found in _DETERMINER.finditer(head)]
    noun = head[places[-1] :] if places else head
    return [head, _relative(noun, pronoun, rest)]


def _relative(head, pronoun, rest):
    if pronoun == "whose":
        owned, _, predicate = rest.partition(" ")
        return f"the {owned} of {_lower_first(head)} {predicate}"
    return f"{head} {rest}"


def _lower_first(text):
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first.lower() in STOP else text


def _coordinated(text):
    """Part a clause at its connectors where a clause or a predicate follows."""
    parts, start = [], 0
    for match in grammar.CONNECTOR.finditer(text):
        left, right = text[start : match.start()], text[match.end() :]
        if match.group().strip() == "," and not _series(text, match.end()):
            continue
        verb = grammar.finite_verb(left)
        bare = start and verb is None and grammar.starts_predicate(left, True)
        if verb is None and not bare:
            continue
        known = left if not parts else _restored(left, parts[-1])
        modal = _subject(known)[1] is not None
        if grammar.starts_predicate(right, modal) or grammar.starts_clause(right):
            parts.append(known)
            start = match.end()
    last = text[start:]
    return [*parts, _restored(last, parts[-1]) if parts else last]


def _series(text, place):
    """Tell whether a comma stands in a series that a connector with a word ends."""
    later = [m.group() for m in grammar.CONNECTOR.finditer(text, place)]
    return any(word.strip(" ,") in ("and", "but") for word in later)


def _subject(clause):
    """Give the subject of a clause, and its modal if the verb has one."""
    place = grammar.finite_verb(clause)
    if place is None:
        return None, None
    listed = grammar.tokens(clause)
    token, start = listed[place]
    return clause[:start].strip(), token if token in grammar.MODALS else None


def _restored(part, before):
    """Give a predicate the subject, and a bare verb the modal, of the clause before."""
    subject, modal = _subject(before)
    if subject is None:
        return part
    listed = [token for token, _ in grammar.tokens(part)]
    if listed and listed[0] in ("it", "they"):
        return f"{subject} {part.partition(' ')[2]}"
    if not grammar.starts_predicate(part, modal is not None):
        return part
    first = next(token for token in listed if token not in grammar.ADVERBS)
    if modal and first in grammar.BASE:
        return f"{subject} {modal} {part}"
    return f"{subject} {part}"


def logical_form(text):
    """Write an atomic claim as a predicate.

    Parameters
    ----------
    text : str
        Atomic claim.

    Returns
    -------
    str
        Such as ``covers(the policy, fire)`` or ``not(pay(the policy, medicines))``,
        after its frame if it has one (``under the lease: is(the rent, 900)``);
        ``claim(<text>)`` where no verb is found.
    """
    lead, clause = _leading(text.rstrip(".?! "))
    frame = f"{lead.rstrip(', ').lower()}: " if lead else ""
    return frame + _predicate(clause)


def _predicate(clause):
    """Write a clause without its frame as a predicate."""
    place = grammar.finite_verb(clause)
    if place is None:
        return f"claim({clause})"
    listed = grammar.tokens(clause)
    subject = clause[: listed[place][1]].strip().lower()
    helper = place
    negated = False
    while place + 1 < len(listed) and (
        listed[place][0] in grammar.AUXILIARIES | grammar.MODALS
        or listed[place][0] in ("not", "never")
    ):
        negated |= listed[place][0] in ("not", "never", "cannot")
        place += 1
    verb, start = listed[place]
    if verb not in grammar.BASE | set(grammar.THIRD) | set(grammar.PAST):
        verb, start = listed[helper]
    rest = clause[start + len(verb) :].strip(" ,")
    if negated:
        rest = re.sub(r"^(?:not|never)\s+", "", rest)
    form = f"{verb}({subject}, {rest})" if rest else f"{verb}({subject})"
    return f"not({form})" if negated else form


def undivided(claim):
    """Give a claim as its own only part, taken to be verifiable."""
    return (SubClaim("SC1", checked_claim(claim), f"claim({claim})"),)
