"""Words of a text as the fact-checker reads them: stem, kind and place."""

import itertools
import re
import unicodedata
from collections import namedtuple
from functools import cache, lru_cache
from pathlib import Path

import Stemmer

from casebook.readers import read_yaml
from casebook.text import STOP_LIST, fold, sentence_texts, tokens


@cache
def yaml_table(name):
    return read_yaml(Path(__file__).with_name(f"{name}.yml"))


CLAIM_WORDS = yaml_table("words")
#: Words of each closed list, in its order.
LISTS = {
    name: dict.fromkeys(words.split()) for name, words in CLAIM_WORDS["lists"].items()
}
NUMBERS = {word: str(n) for n, word in enumerate(LISTS["numbers"], start=2)}
NUMBERS |= {word: str(10 * n) for n, word in enumerate(LISTS["tens"], start=2)}
WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]+(?:['’][^\W\d_]+)*")
_CAPITALISED = re.compile(
    r"[A-Z][\w'’-]*(?:\s+(?:(?:of|and|the|de)\s+)?[A-Z][\w'’-]*)*"
)
_STEMMER = Stemmer.Stemmer("english")

#: A word of a text: its stem (digits of a number), its kind, and its place among the words.
Word = namedtuple("Word", "text stem kind place")


@lru_cache(maxsize=20_000)
def words(text):
    """Words of a text; the kind of each is function, number, name or word."""
    found = []
    for place, match in enumerate(WORD.finditer(text)):
        word = match.group()
        lower = fold(unaccented(word)).lower().removesuffix("'s")
        before = text[: match.start()].rstrip()
        opens_sentence = not before or before[-1] in ".!?;:"
        before_name = text[match.end() + 1 : match.end() + 2].isupper()
        stem = NUMBERS.get(lower) or _STEMMER.stemWord(lower.replace(",", ""))
        kind = "word"
        is_date = word[0].isupper() and lower.removesuffix("s") in LISTS["dates"]
        if lower[0].isdigit() or lower in NUMBERS or is_date:
            kind = "number"
        elif lower in LISTS["function"]:
            kind = "function"
        elif word[0].isupper() and lower not in LISTS["currencies"]:
            kind = "word" if opens_sentence and not before_name else "name"
        found.append(Word(word, stem, kind, place))
    return tuple(found)


def unaccented(text):
    letters = unicodedata.normalize("NFD", text)
    marks = filter(unicodedata.combining, set(letters))
    return letters.translate(dict.fromkeys(map(ord, marks)))


@lru_cache(maxsize=20_000)
def content(text):
    """Distinct stems of a text that are no function words."""
    plain = [word for word in tokens(unaccented(text)) if word not in STOP_LIST]
    return frozenset(_STEMMER.stemWords(plain))


def of_kind(text, kind):
    return [word for word in words(text) if word.kind == kind]


def proper_names(text):
    """Runs of names, as "Bank of England"."""
    known = {word.text for word in of_kind(text, "name")}
    names = []
    for match in _CAPITALISED.finditer(text):
        run = itertools.dropwhile(lambda word: word not in known, match.group().split())
        names.append(" ".join(run))
    return tuple(dict.fromkeys(filter(None, names)))


@lru_cache(maxsize=20_000)
def first_name(document):
    return next(iter(proper_names(next(iter(sentence_texts(document)), ""))), "")
