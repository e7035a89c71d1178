"""Quantities as judgments write them: 5,00,000, 2.5 lakh, two and a half."""

import re

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SPELLED = {word: value for value, word in enumerate(_UNITS.split())}
SPELLED |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "k": 1000,
    "lakh": 100_000,
    "lac": 100_000,
    "million": 10**6,
    "mn": 10**6,
    "m": 10**6,
    "crore": 10**7,
    "cr": 10**7,
    "billion": 10**9,
    "bn": 10**9,
}
_SPELLED_SCALES = ("hundred", "thousand", "lakh", "lac", "million", "crore", "billion")

_WORD = "|".join(sorted(SPELLED, key=len, reverse=True))
_FIGURE = r"\d{1,3}(?:,\d{2,3}){1,5}(?:\.\d+)?|\d{1,15}(?:\.\d{1,6})?"
_SCALE = "|".join(rf"{name}s?" for name in sorted(SCALES, key=len, reverse=True))
_LONG = "|".join(rf"{name}s?" for name in _SPELLED_SCALES)
_SPELLED = (
    rf"(?:a\s(?=(?:{_LONG})\b)|(?:{_WORD}))"
    rf"(?:[\s-]+(?:and\s)?(?:{_WORD}|{_LONG})\b){{0,9}}"
)
_SCALED = rf"(?:{_FIGURE})(?:\s?(?:{_SCALE})\b\.?)?"
QUANTITY = (
    rf"(?:{_SCALED}(?:\s(?:and\s)?(?:{_FIGURE})\s(?:{_LONG})\b){{0,3}}"
    rf"|\b{_SPELLED}\b)(?:\sand\sa\shalf)?"
)
"""Pattern of one quantity, to be compiled without regard to case."""

_TOKEN = re.compile(rf"({_FIGURE})|([a-z]+)")


def quantity(text):
    """Give the value of a quantity."""
    total, current, half = 0.0, 0.0, 0.0
    for figure, word in _TOKEN.findall(text.lower()):
        word = word if word in SCALES or word in SPELLED else word.rstrip("s")
        if figure:
            current += float(figure.replace(",", ""))
        elif word in SPELLED:
            current += SPELLED[word]
        elif word == "half":
            half = 0.5
        elif word in SCALES:
            total, current = _scaled(total, current or 1, SCALES[word])
    value = total + current + half
    return int(value) if value == int(value) else value


def _scaled(total, current, scale):
    """Multiply: hundred stays open (two hundred and ten), larger scales close."""
    return (total, current * scale) if scale == 100 else (total + current * scale, 0.0)
