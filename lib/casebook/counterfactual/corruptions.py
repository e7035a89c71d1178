"""Explanations made wrong on purpose, in one known way each."""

import re

import numpy as np

from casebook.measures.quotations import find_quotes
from casebook.stats.samples import stream

KINDS = ("number changed", "negation turned", "foreign sentence", "quotation stitched")
_NUMBER = re.compile(r"(?<![\w.(\[])\d{1,3}(?:,\d{3})*(?![\w)\]])")
_AUXILIARY = re.compile(
    r"\b(?P<verb>may|must|shall|will|can|is|are|was|were|has|have|does|do)\b"
    r"(?P<negation> not)?"
)


def corrupt(explanations, *, seed=0):
    """Make each explanation wrong in every way that it allows."""
    keys = list(explanations)
    order = np.random.Generator(stream(seed, "corruptions")).permutation(len(keys))
    following = {keys[a]: keys[b] for a, b in zip(order, np.roll(order, -1), strict=True)}
    makers = {
        "number changed": lambda key: _number(explanations[key]),
        "negation turned": lambda key: _negation(explanations[key]),
        "foreign sentence": lambda key: _foreign(explanations[key], explanations[following[key]]),
        "quotation stitched": lambda key: _stitched(explanations[key], explanations[following[key]]),
    }
    found = {}
    for kind in KINDS:
        made = {key: makers[kind](key) for key in keys}
        found[kind] = {key: text for key, text in made.items() if text is not None and text != explanations[key]}
    return found


def _last(pattern, text):
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def _number(text):
    match = _last(_NUMBER, text)
    if match is None:
        return None
    value = 2 * int(match.group().replace(",", "")) + 1
    return f"{text[: match.start()]}{value}{text[match.end() :]}"


def _negation(text):
    match = _last(_AUXILIARY, text)
    if match is None:
        return None
    turned = match["verb"] if match["negation"] else f"{match['verb']} not"
    return text[: match.start()] + turned + text[match.end() :]


def _foreign(text, other):
    """Replace what follows the last sentence break by that of another text."""
    breaks = [m.end() for m in re.finditer(r"(?<=[.:?!]) (?=[A-Z“])", text)]
    theirs = [m.end() for m in re.finditer(r"(?<=[.:?!]) (?=[A-Z“])", other)]
    start = breaks[-1] if breaks else 0
    return text[:start] + other[theirs[-1] if theirs else 0 :]


def _stitched(text, other):
    ours, theirs = find_quotes(text), find_quotes(other)
    if not ours or not theirs:
        return None
    (start, end), (left, right) = ours[-1], theirs[-1]
    here, there = text[start:end].split(), other[left:right].split()
    mixed = [*here[: len(here) // 2], *there[len(there) // 2 :]]
    return f"{text[:start]}{' '.join(mixed)}{text[end:]}"
