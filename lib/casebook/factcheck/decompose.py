"""Atomic claims with their verifiability: by rules, as documented, by a function of one's own.

The rules part a claim where a tagger finds a predicate or a clause after a connector, and restore
subject, modal and leading condition. A list of things under one verb stays whole.
"""

import itertools
import re
from collections import namedtuple

from casebook.errors import InputError
from casebook.factcheck.words import CLAIM_WORDS, LISTS, of_kind, yaml_table
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.stats.samples import check_choice
from casebook.text import sentence_texts, tokens

VERIFIABLE, OPINION, VAGUE = ("verifiable", "opinion", "vague")
MOST_SUBCLAIMS = 10
_DOCUMENTED_SPLIT = re.compile(r" and |,| that ", re.IGNORECASE)
_DOCUMENTED_NAME = re.compile(r"[A-Z][a-zA-Z]*(?:\s+[A-Z][a-zA-Z]*)*")

#: One atomic claim; the documented pipeline writes its entities into queries.
SubClaim = namedtuple(
    "SubClaim", "id text verifiability entities", defaults=[VERIFIABLE, ()]
)

#: Tags after which a word that is tagged as a noun or participle is a verb with its object.
OBJECTS = {
    "NNS": ("DT", "PRP$", "PRP", "CD", "NNS"),
    "NN": ("PRP$", "PRP"),
    "VBN": ("DT", "PRP$", "PRP", "CD", "NNS", "NNP"),
}
_TOKEN = re.compile(r"\w[\w’'.,-]*\w|\w|[,;]")
_RELATIVE = re.compile(
    r"^(?P<head>[^,]+), (?:which|who) (?P<inner>[^,]+)(?:, (?P<after>.+))?$"
)

#: A word of a clause, its part of speech in the Penn tag set, and its characters.
Token = namedtuple("Token", "word tag start end")
_END = Token("", "", 0, 0)


def numbered(texts, kind_of=lambda text: VERIFIABLE):
    pairs = enumerate(texts, start=1)
    return tuple(SubClaim(f"SC{number}", text, kind_of(text)) for number, text in pairs)


def decompose(claim):
    texts = split_claim(checked_claim(claim))
    if len(texts) > MOST_SUBCLAIMS:
        raise InputError(
            f"the claim has {len(texts)} parts, more than {MOST_SUBCLAIMS}"
        )
    return numbered(texts, verifiability)


def undivided(claim):
    return numbered([checked_claim(claim)])


def checked_claim(claim):
    if not isinstance(claim, str) or not claim.strip():
        raise InputError("the claim is empty")
    return " ".join(claim.split())


def verifiability(text):
    """Whether a text can be checked against documents, by whole words."""
    plain = tokens(text)
    for kind, patterns in CLAIM_WORDS["patterns"].items():
        if re.search("|".join(patterns), text, re.IGNORECASE):
            return kind
    if not LISTS["judgement"].keys().isdisjoint(plain):
        return OPINION
    n_vague = sum(word in LISTS["vague"] for word in plain)
    return VAGUE if n_vague > 1 and not of_kind(text, "number") else VERIFIABLE


def decompose_documented(claim):
    """The documented parts, quirks included: split at connectors, cut at ten."""
    pieces = filter(None, map(str.strip, _DOCUMENTED_SPLIT.split(claim)))
    parts = numbered(pieces, documented_verifiability)[:MOST_SUBCLAIMS]
    names = [dict.fromkeys(_DOCUMENTED_NAME.findall(part.text)) for part in parts]
    pairs = zip(parts, names, strict=True)
    return tuple(part._replace(entities=tuple(found)) for part, found in pairs)


def documented_verifiability(text):
    """The documented kind, by substrings: "William" contains "will"."""
    lowered = text.lower()
    for kind, substrings in yaml_table("documented")["verifiability"].items():
        too_long = kind == VAGUE and len(text.split()) >= 10
        if not too_long and any(substring in lowered for substring in substrings):
            return kind
    return VERIFIABLE


def plugin_decomposer(name):
    """Decomposer of one's own: a function of a claim to the texts of its parts."""
    split = callable_plugin(name, "claim -> list of texts")

    def decompose_by_plugin(claim):
        texts = called(name, split, checked_claim(claim))
        is_list = isinstance(texts, list | tuple) and texts
        if not is_list or not all(isinstance(text, str) for text in texts):
            raise InputError(
                f"{name} gave {texts!r}: give the texts of one part or more"
            )
        return numbered(texts)

    return decompose_by_plugin


DECOMPOSERS = {
    "rules": decompose,
    "documented": decompose_documented,
    "none": undivided,
}


def decomposer_of(name):
    if is_plugin(name):
        return plugin_decomposer(name)
    check_choice("decomposition", name, DECOMPOSERS)
    return DECOMPOSERS[name]


# --- the clauses of a claim: each has one finite verb, with its subject, modal and condition


def split_claim(claim):
    parts = []
    for sentence in sentence_texts(claim):
        clauses = [clause.strip(" .,?") for clause in sentence.split(";")]
        for clause in filter(None, clauses):
            lead, body = split_condition(clause)
            for part in itertools.chain(*map(_coordinated, _relative_clauses(body))):
                text = f"{lead} {part}".strip(" ,")
                parts.append(f"{text[:1].upper()}{text[1:]}.")
    return parts or [claim]


def split_condition(clause):
    lead, comma, body = clause.partition(", ")
    opening = lead.split(" ", 1)[0].lower()
    if (
        comma
        and opening in LISTS["conditions"]
        and finite_verb(tokens_of(body)) is not None
    ):
        return f"{lead},", body
    return "", clause


def tokens_of(text):
    from textblob.en import tag  # takes a second

    matches = list(_TOKEN.finditer(text))
    tagged = tag(" ".join(match.group() for match in matches), tokenize=False)
    pairs = zip(matches, tagged, strict=False)  # no word has a tag too
    return [
        Token(match.group().lower(), kind, *match.span()) for match, (_, kind) in pairs
    ]


def finite_verb(tokens):
    for place in range(1, len(tokens)):
        after_noun = tokens[place - 1].tag.startswith("NN")
        is_verb = tokens[place].tag == "VB" or _is_verb(tokens[place:])
        if tokens[place].tag in LISTS["finite"] or (after_noun and is_verb):
            return place
    return None


def _is_verb(tokens):
    """Whether a finite verb starts here, perhaps tagged as a noun with object: "rents a stall"."""
    first, following = [*tokens[:2], _END, _END][:2]
    return first.tag in LISTS["finite"] or following.tag in OBJECTS.get(first.tag, ())


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
        is_in_series = any(
            later.word in LISTS["connectors"] for later in tokens[place:]
        )
        joins = token.word == "," or token.word in LISTS["connectors"]
        if not joins or not is_in_series or not left:
            continue
        if right and right[0].word in LISTS["connectors"]:
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
    is_bare = rest[0].tag in ("VB", "VBP") or (
        rest[0].tag == "NN" and rest[1].tag == "DT"
    )
    is_passive = helper.word in LISTS["be"] and rest[0].tag in ("VBN", "VBD")
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
        return (
            text if not tokens else text[tokens[0].start : tokens[-1].end].strip(" ,")
        )
    part = text[tokens[0].start : tokens[-1].end].strip(" ,")
    subject, helper = before
    first, following = [*tokens, _END][:2]
    if first.word in ("it", "they"):
        return f"{subject} {part.partition(' ')[2]}"
    verb = finite_verb(tokens)
    if first.word in LISTS["possessives"] and verb:
        noun = text[following.start : tokens[verb - 1].end]
        if subject.split(" ")[0].lower() in LISTS["articles"]:
            subject = subject[:1].lower() + subject[1:]
        return f"the {noun} of {subject} {text[tokens[verb].start : tokens[-1].end]}"
    if not _starts_verb(tokens, helper):
        return part
    is_passive = (
        helper.word in LISTS["be"]
        and first.tag in ("VBN", "VBD")
        and following.tag in ("IN", "TO")
    )
    if is_passive or (helper.tag == "MD" and first.tag in ("VB", "VBP", "NN")):
        return f"{subject} {helper.word} {part}"
    return f"{subject} {part}"
