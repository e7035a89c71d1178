"""The clauses of a claim: each has one finite verb, with its subject, modal and condition."""

import re
from collections import namedtuple

from casebook.factcheck.words import CLAIM_WORDS
from casebook.text import sentence_texts

CONNECTORS = frozenset(CLAIM_WORDS["connectors"].split())
CONDITIONS = frozenset(CLAIM_WORDS["conditions"].split())
BE = frozenset(("is", "are", "was", "were"))
ARTICLES = frozenset(("a", "an", "the"))
POSSESSIVES = frozenset(("its", "their", "his", "her"))
FINITE = ("VBZ", "VBD", "VBP", "MD")
#: Tags after which a word that is tagged as a noun or participle is a verb with its object.
OBJECTS = {
    "NNS": ("DT", "PRP$", "PRP", "CD", "NNS"),
    "NN": ("PRP$", "PRP"),
    "VBN": ("DT", "PRP$", "PRP", "CD", "NNS", "NNP"),
}
_TOKEN = re.compile(r"\w[\w’'.,-]*\w|\w|[,;]")
_RELATIVE = re.compile(r"^(?P<head>[^,]+), (?:which|who) (?P<inner>[^,]+)(?:, (?P<after>.+))?$")

#: A word of a clause, its part of speech in the Penn tag set, and its characters.
Token = namedtuple("Token", "word tag start end")
_END = Token("", "", 0, 0)


def split_claim(claim):
    parts = []
    for sentence in sentence_texts(claim):
        clauses = [clause.strip(" .,?") for clause in sentence.split(";")]
        for clause in filter(None, clauses):
            lead, body = split_condition(clause)
            for whole in _relative_clauses(body):
                for part in _coordinated(whole):
                    text = f"{lead} {part}".strip(" ,")
                    parts.append(f"{text[:1].upper()}{text[1:]}.")
    return parts or [claim]


def split_condition(clause):
    """The condition or frame in front of a clause, up to its comma, and the rest."""
    lead, comma, body = clause.partition(", ")
    opening = lead.split(" ", 1)[0].lower()
    if comma and opening in CONDITIONS and finite_verb(tokens_of(body)) is not None:
        return f"{lead},", body
    return "", clause


def tokens_of(text):
    from textblob.en import tag  # takes a second

    matches = list(_TOKEN.finditer(text))
    if not matches:
        return []
    tagged = tag(" ".join(match.group() for match in matches), tokenize=False)
    found = []
    for match, (_, kind) in zip(matches, tagged, strict=True):
        found.append(Token(match.group().lower(), kind, *match.span()))
    return found


def finite_verb(tokens):
    """Place of the first finite verb, None without one."""
    for place in range(1, len(tokens)):
        after_noun = tokens[place - 1].tag.startswith("NN")
        is_verb = tokens[place].tag == "VB" or _is_verb(tokens[place:])
        if tokens[place].tag in FINITE or (after_noun and is_verb):
            return place
    return None


def _is_verb(tokens):
    """Whether a finite verb starts here, perhaps tagged as a noun with object: "rents a stall"."""
    first, following = [*tokens[:2], _END, _END][:2]
    return first.tag in FINITE or following.tag in OBJECTS.get(first.tag, ())


def _relative_clauses(text):
    match = _RELATIVE.match(text)
    if not match:
        return [text]
    head, inner, after = match.groups()
    verb = finite_verb(tokens_of(head))
    if after and verb is None:
        return [f"{head} {after}", f"{head} {inner}"]
    if after or verb is None:
        return [text]
    article = head.lower().rfind(" the ") + 1
    antecedent = head[article:] if article else head.rpartition(" ")[2]
    return [head, f"{antecedent} {inner}"]


def _coordinated(text):
    """Parts of a clause at the connectors after which a predicate or a clause follows."""
    tokens = tokens_of(text)
    parts = []
    start = 0
    before = None  # subject and first verb, which a predicate shares
    for place, token in enumerate(tokens):
        left = tokens[start:place]
        right = tokens[place + 1 :]
        is_in_series = any(later.word in CONNECTORS for later in tokens[place:])
        if not (token.word == "," or token.word in CONNECTORS) or not is_in_series or not left:
            continue
        if right and right[0].word in CONNECTORS:
            right = right[1:]
        known = before
        if before is None or not _starts_verb(left, before[1]):
            known = _subject_and_verb(text, left, right)
        if known is None or not _follows(right, known[1]):
            continue
        parts.append(_restored(text, left, before))
        before = known
        start = len(tokens) - len(right)
    return [*parts, _restored(text, tokens[start:], before)]


def _subject_and_verb(text, left, right):
    """Subject and verb of a clause; it may be tagged as a noun if another verb follows it."""
    verb = finite_verb(left)
    if verb is None and (finite_verb(right) or _is_verb(right)):
        verb = _noun_after_noun(left)
    if verb is None:
        return None
    after = [token.word for token in left[verb + 1 :]]
    if after[:1] == [","] and after.count(",") == 1:  # "may, if asked, sell"
        return None
    return text[left[0].start : left[verb].start].strip(), left[verb]


def _noun_after_noun(tokens):
    """Place of a third person or past that the tagger takes for a noun: "burns wood"."""
    for place in range(1, len(tokens) - 1):
        is_noun = tokens[place].tag in ("NNS", "VBN") and tokens[place + 1].word != "of"
        if is_noun and tokens[place - 1].tag.startswith("NN"):
            return place
    return None


def _starts_verb(tokens, helper):
    """Whether a predicate starts here: a finite verb, or one that shares a helper."""
    rest = [token for token in tokens if token.tag != "RB" and token.word != "first"]
    if len(rest) < 2:
        return False
    is_bare = rest[0].tag in ("VB", "VBP") or (rest[0].tag == "NN" and rest[1].tag == "DT")
    is_passive = helper.word in BE and rest[0].tag in ("VBN", "VBD")
    return (helper.tag == "MD" and is_bare) or is_passive or _is_verb(rest)


def _follows(tokens, helper):
    """Whether a predicate, or a clause with its own subject, starts here."""
    if not tokens or _starts_verb(tokens, helper):
        return bool(tokens)
    verb = finite_verb(tokens)
    if verb is None and tokens[0].tag in ("DT", "PRP$"):
        verb = _noun_after_noun(tokens)
    subject = {token.word for token in tokens[:verb]}
    return verb is not None and subject.isdisjoint((",", "and"))


def _restored(text, tokens, before):
    """A part with the subject, and the helper if it shares one, of the part before."""
    if before is None:
        return text if not tokens else text[tokens[0].start : tokens[-1].end].strip(" ,")
    part = text[tokens[0].start : tokens[-1].end].strip(" ,")
    subject, helper = before
    first, following = [*tokens, _END][:2]
    if first.word in ("it", "they"):
        return f"{subject} {part.partition(' ')[2]}"
    verb = finite_verb(tokens)
    if first.word in POSSESSIVES and verb:
        noun = text[following.start : tokens[verb - 1].end]
        if subject.split(" ")[0].lower() in ARTICLES:
            subject = subject[:1].lower() + subject[1:]
        return f"the {noun} of {subject} {text[tokens[verb].start : tokens[-1].end]}"
    if not _starts_verb(tokens, helper):
        return part
    is_passive = helper.word in BE and first.tag in ("VBN", "VBD") and following.tag in ("IN", "TO")
    if is_passive or (helper.tag == "MD" and first.tag in ("VB", "VBP", "NN")):
        return f"{subject} {helper.word} {part}"
    return f"{subject} {part}"
