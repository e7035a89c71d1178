"""What an explanation and a source name alike, and what one turns round.

`agreement` compares numbers, dates, provisions and parties; `find_flip` finds negation and
modality that a sentence and its source do not share: a rule of thumb over words, not an
entailment model, whose rate is reported beside that of mismatched sources.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from casebook.measures.quotations import PARTY, find_citations
from casebook.text import STOP_LIST, content_words, fold, sentences, tokens

_WORDS = r"\w+"
KINDS = ("number", "date", "provision", "party")
_MONTH_NAMES = """jan january feb february mar march apr april may may jun june jul july
aug august sep september oct october nov november dec december"""
_MONTHS = {name: i // 2 + 1 for i, name in enumerate(_MONTH_NAMES.split())}
_MONTHS["sept"] = 9
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: day of)? (?P<m>{_MONTH})\.?,? "
    r"(?P<y>\d{4})\b"
    rf"|\b(?P<m2>{_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})\b"
    r"|\b(?P<y3>\d{4})-(?P<m3>\d\d)-(?P<d3>\d\d)\b"
    r"|\b(?P<d4>\d{1,2})[./-](?P<m4>\d{1,2})[./-](?P<y4>\d{4})\b",
    re.IGNORECASE,
)
_SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "crore": 10**7,
    "crores": 10**7,
    "billion": 10**9,
}
_SCALES |= dict.fromkeys(("lakh", "lakhs", "lac"), 100_000)
_SMALL = """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty"""
_SPELLED = {word: value for value, word in enumerate(_SMALL.split(), start=2)}
_SPELLED |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<percent> ?(?:%|per ?cent))?"
    rf"(?: (?P<scale>{'|'.join(_SCALES)})\b)?(?![\w(])"
    rf"|\b(?P<word>{'|'.join(_SPELLED)})\b(?: (?P<scale2>{'|'.join(_SCALES)})\b)?",
    re.IGNORECASE,
)
_PARTIES = re.compile(rf"(?P<a>{PARTY}) (?:v|vs)\.? (?:the )?(?P<b>{PARTY})")


@dataclass(frozen=True)
class NamedShare:
    """What an explanation names, and how much of it a source names too."""

    kind: str
    share: float | None
    missing: tuple
    n: int


def mentions(text):
    """Find the distinct numbers, dates, provisions and parties of a text."""
    plain = re.sub(r"\s", " ", fold(text))
    citations = find_citations(text)
    dates, left = _dates(plain)
    for citation in citations:
        left = _blank(left, citation.start, citation.end)
    return {
        "number": frozenset(map(_value, _NUMBER.finditer(left))),
        "date": frozenset(dates),
        "provision": frozenset(" ".join(c.parts[1:]) for c in citations if c.kind == "provision"),
        "party": frozenset(
            side.removeprefix("In ").removeprefix("See ").strip(" .,").casefold()
            for start, end in sentences(plain)
            for match in _PARTIES.finditer(left[start:end])
            for side in match.groups()
        ),
    }


def _dates(plain):
    """Give the dates, and the text with spaces in their place."""
    dates = []
    rest = plain
    for match in _DATES.finditer(plain):
        year, month, day = (
            next(v for k, v in match.groupdict().items() if k[0] == part and v) for part in "ymd"
        )
        number = _MONTHS.get(month.lower()) or int(month)
        if 1 <= number <= 12 and 1 <= int(day) <= 31:
            dates.append(f"{int(year):04d}-{number:02d}-{int(day):02d}")
            rest = _blank(rest, *match.span())
    return dates, rest


def _blank(text, start, end):
    return text[:start] + " " * (end - start) + text[end:]


def _value(match):
    parts = match.groupdict()
    scale = _SCALES.get((parts["scale"] or parts["scale2"] or "").lower(), 1)
    if parts["word"]:
        return str(_SPELLED[parts["word"].lower()] * scale)
    value = float(parts["digits"].replace(",", "")) * scale
    number = f"{value:.6f}".rstrip("0").rstrip(".")
    return number + ("%" if parts["percent"] else "")


def agreement(explanation, source):
    """Compare what an explanation names with what a source names."""
    in_explanation = mentions(explanation)
    in_source = _remembered(source)
    text = _spaced(source)
    comparisons = []
    for kind in KINDS:
        missing = sorted(in_explanation[kind] - in_source[kind])
        if kind == "party":
            missing = [side for side in missing if _spaced(side) not in text]
        n = len(in_explanation[kind])
        share = 1 - len(missing) / n if n else None
        comparisons.append(NamedShare(kind, share, tuple(missing), n))
    return comparisons


def share_named(explanation, source):
    """Share of what an explanation names that a source names too, None where it names nothing."""
    kinds = agreement(explanation, source)
    total = sum(kind.n for kind in kinds)
    return 1 - sum(len(kind.missing) for kind in kinds) / total if total else None


def _spaced(text):
    """Give the words of a text, one space around each."""
    return f" {' '.join(re.findall(_WORDS, fold(text).casefold()))} "


@lru_cache(maxsize=256)
def _remembered(source):
    """Give the mentions of a source, which many explanations may share."""
    return mentions(source)


# Negation and modality.

LEAST_OVERLAP = 0.5
SCOPE = 4
_NEGATORS = frozenset(("not", "no", "never", "neither", "nor", "without", "cannot"))
_MODAL = re.compile(
    r"(?<!\S)(?:(?P<prohibition>(?:shall|must|may) not)|(?P<obligation>must|shall|required|obliged)"
    r"|(?P<permission>may|permitted|allowed|entitled))(?!\S)"
)


@dataclass(frozen=True)
class Flip:
    """What a sentence turns round."""

    negated: tuple
    modality: tuple | None
    overlap: float


def find_flip(sentence, source_sentences):
    """Compare a sentence with the source sentence that shares most content with it."""
    words = content_words(sentence)
    if not words or not source_sentences:
        return None
    shares = [len(words & content_words(s)) / len(words) for s in source_sentences]
    best = max(range(len(shares)), key=shares.__getitem__)
    if shares[best] < LEAST_OVERLAP:
        return None
    negated = _negated(sentence)
    in_source = _negated(source_sentences[best])
    shared = negated.keys() & in_source.keys()
    turned = sorted(word for word in shared if negated[word] != in_source[word])
    pair = modality(sentence), modality(source_sentences[best])
    differ = None not in pair and pair[0] != pair[1]
    return Flip(tuple(turned), pair if differ else None, shares[best])


def _negated(sentence):
    """Give each content word and whether an odd number of negators precede it."""
    words = ["not" if word.endswith("n't") else word for word in tokens(sentence)]
    negated = {}
    for position, word in enumerate(words):
        if word not in STOP_LIST and word not in _NEGATORS:
            before = words[max(0, position - SCOPE) : position]
            negated.setdefault(word, sum(w in _NEGATORS for w in before) % 2 == 1)
    return negated


def modality(sentence):
    """Give the modality of the first modal phrase of a sentence."""
    match = _MODAL.search(" ".join(re.sub("n't$", " not", word) for word in tokens(sentence)))
    return match and match.lastgroup
