"""Words, numbers, names and sentences of claims and passages, by fixed rules."""

import re
from dataclasses import dataclass
from functools import lru_cache

import nupunkt
import Stemmer

_WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]+(?:['’][^\W\d_]+)*")
_STEMMER = Stemmer.Stemmer("english")


def listed(text):
    """Give the words of a space-separated list."""
    return frozenset(text.split())


STOP = listed(
    "a an the this that these those there here it its is are was were be been being am "
    "do does did has have had having of in on at by for from to with into onto over as "
    "than then so and or but if when where while who whom which what whose how any all "
    "each every both such same own also only just up out off per about under between "
    "during after before until within against through because we you they he she i us "
    "your our their his her them me my shall will would may might can could must "
    "should not no nor never neither none nothing without"
)
_ONES = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBER_WORDS = {word: value for value, word in enumerate(_ONES, start=2)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_CURRENCIES = {"eur", "gbp", "usd", "€", "£", "$"}
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:(?:of|and|the|de)\s+)?[A-Z][\w'’-]*)*")


@dataclass(frozen=True)
class Number:
    """A number of a text and the word that says of what, ``""`` if there is none."""

    value: float
    unit: str


@lru_cache(maxsize=20_000)
def words(text):
    """Split a text into lower-case words and numbers."""
    return tuple(match.group().lower() for match in _WORD.finditer(text))


@lru_cache(maxsize=20_000)
def stems(text):
    """Give the stems of a text's words, numbers included."""
    return tuple(_STEMMER.stemWords([word.removesuffix("'s") for word in words(text)]))


@lru_cache(maxsize=20_000)
def content(text):
    """Give the distinct stems of a text that are no function words."""
    pairs = zip(words(text), stems(text), strict=True)
    return frozenset(stem for word, stem in pairs if word not in STOP)


def jaccard(first, second):
    """Overlap of two sets: what is shared over all."""
    union = first | second
    return len(first & second) / len(union) if union else 1.0


@lru_cache(maxsize=20_000)
def numbers(text):
    """Find the numbers of a text with what they count."""
    found, spelled = [], words(text.replace("%", " cent "))
    for place, word in enumerate(spelled):
        value = _NUMBER_WORDS.get(word)
        if word[0].isdigit():
            value = _plain(word)
        if value is not None:
            found.append(Number(float(value), _unit(spelled, place)))
    return tuple(found)


def _plain(word):
    """Read digits with thousands separators; None for a date such as 1.2.2020."""
    try:
        return float(word.replace(",", ""))
    except ValueError:
        return None


def _unit(spelled, place):
    after = [word for word in spelled[place + 1 : place + 3] if word != "per"]
    before = spelled[place - 1] if place else ""
    if before in _CURRENCIES:
        return before
    return _STEMMER.stemWord(after[0]) if after and after[0] not in STOP else ""


def names(text):
    """Find runs of capitalised words, the first word of a sentence left out."""
    found = {}
    for match in _NAME.finditer(text):
        name = match.group()
        first, _, rest = name.partition(" ")
        while first.lower() in STOP:
            name, (first, _, rest) = rest, rest.partition(" ")
        alone_at_start = not rest and _starts_sentence(text, match.start())
        if name and not alone_at_start and name.lower() not in _CURRENCIES:
            found[name] = None
    return tuple(found)


def _starts_sentence(text, start):
    before = text[:start].rstrip()
    return not before or before[-1] in ".!?;:"


@lru_cache(maxsize=5_000)
def sentences(text):
    """Split a text into sentences with their places."""
    spans = []
    for start, end in nupunkt.sent_spans(text) if text.strip() else ():
        for line in re.finditer(r"[^\n]+", text[start:end]):
            piece = line.group()
            left = start + line.start() + len(piece) - len(piece.lstrip())
            right = start + line.end() - (len(piece) - len(piece.rstrip()))
            if right > left:
                spans.append((left, right))
    return tuple(spans)
