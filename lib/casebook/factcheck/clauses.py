"""The clauses of a claim: each has one finite verb, with its subject, modal and condition."""

import re
from collections import namedtuple

from casebook.factcheck.words import CLAIM_WORDS
from casebook.text import sentence_texts

CONNECTORS = frozenset(CLAIM_WORDS["connectors"].split())
CONDITIONS = frozenset(CLAIM_WORDS["conditions"].split())
DEPENDENT = frozenset(CLAIM_WORDS["dependent"].split())
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
LONGEST_SUBJECT = 10  # words, of a clause after a connector
_TOKEN = re.compile(r"\w[\w’'.,-]*\w|\w|[,;]")
_RELATIVE = re.compile(
    r"^(?P<head>[^,]+), (?P<pronoun>which|who|whose) (?P<inner>[^,]+)(?:, (?P<after>.+))?$"
)

#: A word of a clause, its part of speech in the Penn tag set, and its characters.
Token = namedtuple("Token", "word tag start end")


def split_claim(claim):
    """Texts of the atomic claims of a claim."""
    parts = []
    for sentence in sentence_texts(claim):
        stop = "?" if sentence.endswith("?") else "."
        for clause in filter(None, (clause.strip(" .;,?") for clause in sentence.split(";"))):
            lead, body = split_condition(clause)
            clauses = [part for whole in _relative_clauses(body) for part in _coordinated(whole)]
            for part in clauses:
                text = f"{lead} {part}".strip(" ,")
                parts.append(f"{text[:1].upper()}{text[1:]}{stop}")
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
    """Place of the first finite verb that no dependent clause holds."""
    for place in range(1, len(tokens)):
        if tokens[place].word in DEPENDENT and place > 1:
            return None
        if _is_finite(tokens, place):
            return place
    return None


def _is_finite(tokens, place):
    token = tokens[place]
    before = tokens[place - 1].tag
    if token.tag == "VBD" and tokens[place + 1 : place + 2] and tokens[place + 1].word == "by":
        return False  # "a hall designed by"
    if token.tag in FINITE or (token.tag == "VB" and before.startswith("NN")):
        return True
    return _has_object(tokens[place:]) and before.startswith("NN")


def _has_object(tokens):
    """Whether a verb starts here that is tagged as a noun or participle: "rents a stall"."""
    if len(tokens) < 2:
        return False
    return tokens[1].tag in OBJECTS.get(tokens[0].tag, ())


def _relative_clauses(text):
    """Main clause and relative clause after a comma, each with its subject."""
    match = _RELATIVE.match(text)
    if not match:
        return [text]
    head, pronoun, inner, after = match.groups()
    verb = finite_verb(tokens_of(head))
    if after and verb is None:
        return [f"{head} {after}", f"{head} {inner}"]
    article = head.lower().rfind(" the ") + 1
    antecedent = head[article:] if article else head.rpartition(" ")[2]
    if pronoun == "whose":
        noun, _, inner = inner.partition(" ")
        antecedent = f"the {noun} of {antecedent}"
    return [text] if after or verb is None else [head, f"{antecedent} {inner}"]


def _coordinated(text):
    """Parts of a clause at the connectors after which a predicate or a clause follows."""
    tokens = tokens_of(text)
    if not tokens:
        return [text]
    parts = []
    start = 0
    before = None  # subject and first verb, which a predicate shares
    for place, token in enumerate(tokens):
        joins = token.word in CONNECTORS or token.word == ","
        if not joins or place <= start or tokens[place - 1].word == ",":
            continue
        left = tokens[start:place]
        right = tokens[place + 1 :]
        sure = token.word != "and"
        if right and right[0].word in CONNECTORS:
            right = right[1:]
        verb = _verb_before(left, right)
        shares = before is not None and _starts_verb(left, before[1])
        if verb is None and not shares:
            continue
        after = [] if shares else [token.word for token in left[verb + 1 :]]
        is_cut = after[:1] == [","] and after.count(",") == 1  # "may, if asked, sell"
        in_series = not CONNECTORS.isdisjoint(token.word for token in tokens[place:])
        if is_cut or not in_series:
            continue
        known = before
        if not shares:
            known = (text[left[0].start : left[verb].start].strip(), left[verb])
        if not _follows(right, known[1], sure):
            continue
        parts.append(_restored(text, left, before))
        before = known
        start = len(tokens) - len(right)
    return [*parts, _restored(text, tokens[start:], before)]


def _verb_before(left, right):
    """Place of the verb of a clause, which may be tagged as a noun if another verb follows it."""
    verb = finite_verb(left)
    if verb is None and (finite_verb(right) or _is_verb(right)):
        return _noun_after_noun(left)
    return verb


def _noun_after_noun(tokens):
    """Place of a third person or past that the tagger takes for a noun: "burns wood"."""
    for place in range(1, len(tokens) - 1):
        is_noun = tokens[place].tag in ("NNS", "VBN") and tokens[place + 1].word != "of"
        if is_noun and tokens[place - 1].tag.startswith("NN"):
            return place
    return None


def _is_verb(tokens):
    return bool(tokens) and (tokens[0].tag in FINITE or _has_object(tokens))


def _starts_verb(tokens, helper):
    """Whether a predicate starts here: a finite verb, or one that shares a helper."""
    rest = tokens
    while len(rest) > 1 and (rest[0].tag == "RB" or rest[0].word == "first"):
        rest = rest[1:]
    if len(rest) < 2 or rest[1].word in (",", "and", "or"):
        return False
    is_bare = rest[0].tag in ("VB", "VBP") or (rest[0].tag == "NN" and rest[1].tag == "DT")
    bare = helper.tag == "MD" and is_bare
    passive = helper.word in BE and rest[0].tag in ("VBN", "VBD")
    return bare or passive or _is_verb(rest)


def _follows(tokens, helper, sure):
    """Whether a predicate, or a clause with its own subject, starts here."""
    if not tokens or _starts_verb(tokens, helper):
        return bool(tokens)
    place = finite_verb(tokens)
    if place is None and tokens[0].tag in ("DT", "PRP$"):
        place = _noun_after_noun(tokens)
    if place is None or place > LONGEST_SUBJECT:
        return False
    if not {",", "and"}.isdisjoint(token.word for token in tokens[:place]):
        return False
    return sure or tokens[0].tag != "VBG"


def _restored(text, tokens, before):
    """A part with the subject, and the helper if it shares one, of the part before."""
    part = text[tokens[0].start : tokens[-1].end].strip(" ,")
    if before is None:
        return part
    subject, helper = before
    first = tokens[0]
    if first.word in ("it", "they"):
        return f"{subject} {part.partition(' ')[2]}"
    verb = finite_verb(tokens)
    if first.word in POSSESSIVES and verb:
        noun = text[tokens[1].start : tokens[verb - 1].end]
        within = subject
        if subject.split(" ")[0].lower() in ARTICLES:
            within = subject[:1].lower() + subject[1:]
        return f"the {noun} of {within} {text[tokens[verb].start : tokens[-1].end]}"
    if not _starts_verb(tokens, helper):
        return part
    following = tokens[1].tag if len(tokens) > 1 else ""
    passive = helper.word in BE and first.tag in ("VBN", "VBD") and following in ("IN", "TO")
    if passive or (helper.tag == "MD" and first.tag in ("VB", "VBP", "NN")):
        return f"{subject} {helper.word} {part}"
    return f"{subject} {part}"
