"""Words, numbers and names that the fact-checker reads in a text."""

import re
import unicodedata
from collections import namedtuple
from functools import cache, lru_cache
from pathlib import Path

import Stemmer

from casebook.readers import read_yaml
from casebook.text import STOP_LIST, tokens


@cache
def yaml_table(name):
    """Read one of our YAML tables: words, names, parts, documented."""
    return read_yaml(Path(__file__).with_name(f"{name}.yml"))


def word_set(text):
    return frozenset(text.split())


CLAIM_WORDS = yaml_table("words")
CURRENCIES = word_set(CLAIM_WORDS["currencies"])
NUMBER_WORDS = {word: value for value, word in enumerate(CLAIM_WORDS["ones"].split(), start=2)}
NUMBER_WORDS |= {word: 10 * ten for ten, word in enumerate(CLAIM_WORDS["tens"].split(), start=2)}
_CAPITALISED = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:(?:of|and|the|de)\s+)?[A-Z][\w'’-]*)*")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)[a-z]*")  # 900, 20th, 5m
_STEMMER = Stemmer.Stemmer("english")


#: A number of a text and the word that says of what, ``""`` if there is none.
StatedNumber = namedtuple("StatedNumber", "value unit")


@lru_cache(maxsize=20_000)
def stems(text):
    return tuple(_STEMMER.stemWords(list(tokens(text))))


@lru_cache(maxsize=20_000)
def content(text):
    """Distinct stems of a text that are no function words; letters count, as in "Vitamin C"."""
    text = _unaccented(text)  # Toruń is Torun
    pairs = zip(tokens(text), stems(text), strict=True)
    return frozenset(stem for word, stem in pairs if word not in STOP_LIST)


def _unaccented(text):
    letters = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in letters if not unicodedata.combining(c)))


@lru_cache(maxsize=20_000)
def stated_numbers(text):
    """Numbers of a text with what they count."""
    numbers = []
    words = tokens(text.replace("%", " cent "))
    for position, word in enumerate(words):
        value = NUMBER_WORDS.get(word)
        if number := _NUMBER.fullmatch(word):
            value = float(number[1])
        if value is not None:
            numbers.append(StatedNumber(float(value), _unit_of_number(words, position)))
    return tuple(numbers)


def _unit_of_number(words, position):
    if position and words[position - 1] in CURRENCIES:
        return words[position - 1]
    following = [word for word in words[position + 1 : position + 3] if word != "per"]
    if not following or following[0] in STOP_LIST:
        return ""
    return _STEMMER.stemWord(following[0])


def compared_numbers(claimed, evidence):
    """Shares of a claim's numbers that the evidence has, contradicts (same unit), and lacks."""
    if not claimed:
        return 0.0, 0.0, 0.0
    values = {number.value for number in evidence}
    units = {number.unit for number in evidence}
    matching = 0
    conflicting = 0
    for number in claimed:
        if number.value in values:
            matching += 1
        elif number.unit in units:
            conflicting += 1
    absent = len(claimed) - matching - conflicting
    return matching / len(claimed), conflicting / len(claimed), absent / len(claimed)


def proper_names(text):
    """Runs of capitalised words; a single word that opens a sentence is none."""
    names = {}
    for match in _CAPITALISED.finditer(text):
        name = match.group()
        word, _, rest = name.partition(" ")
        while word.lower() in STOP_LIST:
            name = rest
            word, _, rest = name.partition(" ")
        before = text[: match.start()].rstrip()
        opens_sentence = not before or before[-1] in ".!?;:"
        if name and (rest or not opens_sentence) and name.lower() not in CURRENCIES:
            names[name] = None
    return tuple(names)
