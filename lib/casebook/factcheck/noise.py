"""Planted noise: notes of low credibility that contradict documents at a known rate."""

import re

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.words import sentences
from casebook.stats.samples import stream

KIND = "forum"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SPELLED = (
    ("twelve", "nine"),
    ("eleven", "eight"),
    ("three", "five"),
    ("seven", "four"),
    ("six", "ten"),
    ("two", "six"),
)
_NEGATED = re.compile(r"\b(?:not|never) ", re.IGNORECASE)
_NONE = re.compile(r"\b(?:no|neither) ", re.IGNORECASE)
_EXCLUDED = re.compile(r"\bexcluded\b", re.IGNORECASE)
_AUXILIARY = re.compile(r"\b(is|are|was|were|may|must|shall|will|can|does|do)\b(?! not)", re.IGNORECASE)


def contradict(sentence, rng):
    """Turn a sentence into one that contradicts it."""
    factor = float(rng.choice([0.5, 2.0, 3.0]))
    changed = _NUMBER.sub(lambda found: _other(found.group(), factor), sentence)
    if changed != sentence:
        return changed
    for word, other in _SPELLED:
        changed = re.sub(rf"\b{word}\b", other, sentence)
        if changed != sentence:
            return changed
    for pattern, put in ((_NEGATED, ""), (_EXCLUDED, "covered"), (_NONE, "a ")):
        changed = pattern.sub(put, sentence, count=1)
        if changed != sentence:
            return changed
    return _AUXILIARY.sub(lambda found: f"{found.group()} not", sentence, count=1)


def _other(number, factor):
    """Write another number of the same form, never the same."""
    value = float(number.replace(",", ""))
    other = value * factor if value else 7.0
    if float(value).is_integer() and "." not in number:
        other = round(other)
        if other == value:
            other = value + 1
        return f"{other:,.0f}" if "," in number else f"{other:.0f}"
    return f"{other:.2f}"


def plant_noise(documents, rate, seed=0, among=None):
    """Add contradicting notes of low credibility to a collection."""
    if not 0 <= rate <= 1:
        raise InputError(f"the rate of noise must be in [0, 1], got {rate}")
    rng = np.random.Generator(stream(seed, "planted notes"))
    allowed = documents["doc_id"].isin(set(among)) if among is not None else None
    rows = np.flatnonzero(allowed) if allowed is not None else np.arange(len(documents))
    chosen = np.sort(rng.permutation(rows)[: round(rate * len(rows))])
    notes = documents.iloc[chosen].copy()
    notes["text"] = [_note(text, rng) for text in notes["text"]]
    notes["doc_id"] = notes["doc_id"] + "~note"
    notes["kind"] = KIND
    return pd.concat([documents, notes], ignore_index=True)


def _note(text, rng):
    return " ".join(contradict(text[a:b], rng) for a, b in sentences(text))
