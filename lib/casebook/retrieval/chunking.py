"""Overlapping chunks of documents, short enough for an encoder to read whole."""

import bisect
import re
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, eq=False)
class Chunks:
    """Chunks of a collection, in the order of their documents."""

    texts: list
    owner: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def __len__(self):
        return len(self.texts)


def chunk_documents(texts, *, max_words=130, overlap=40, token_counter=None, max_tokens=None, sentence_ends=None):
    """Cut documents into windows of words that overlap."""
    if max_words < 1 or not 0 <= overlap < max_words:
        raise InputError(f"chunks need max_words >= 1 and 0 <= overlap < max_words, got {max_words} and {overlap}")
    if (token_counter is None) != (max_tokens is None):
        raise InputError("a limit in tokens needs both token_counter and max_tokens")
    spans = [
        (owner, start, end)
        for owner, text in enumerate(texts)
        for start, end in _windows(
            text,
            max_words,
            overlap,
            _within_limit(text, token_counter, max_tokens),
            [] if sentence_ends is None else sorted(sentence_ends(text)),
        )
    ]
    owner, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    return Chunks([texts[o][s:e] for o, s, e in spans], owner, start, end)


def _within_limit(text, token_counter, max_tokens):
    """Give the test whether a span of a text fits the encoder."""
    if token_counter is None:
        return lambda start, end: True
    return lambda start, end: token_counter(text[start:end]) <= max_tokens


def _windows(text, max_words, overlap, fits, ends):
    """Yield the spans of one document's chunks."""
    units = [match.span() for match in _WORD.finditer(text)]
    if not units:
        yield 0, len(text)
        return
    first = done = 0
    while True:
        last = _last_unit(units, first, min(first + max_words, len(units)), fits)
        if last <= done:  # Nothing new beside the shared words: share fewer.
            first += 1
            continue
        if last < len(units):
            middle = max(first + (last - first) // 2, done)
            last = _sentence_break(units, middle, last, ends)
        yield units[first][0], units[last - 1][1]
        if last >= len(units):
            return
        shared = overlap * (last - first) // max_words
        first, done = max(first + 1, last - shared), last


def _last_unit(units, first, last, fits):
    """Shorten a window until it fits, by bisection over its length in units."""
    if fits(units[first][0], units[last - 1][1]):
        return last
    while not fits(*units[first]):
        _halve(units, first)
        last = first + 1

    def too_long(end):
        return not fits(units[first][0], units[end][1])

    ends = range(first + 1, last)
    return first + 1 + bisect.bisect_left(ends, True, key=too_long)


def _halve(units, index):
    """Cut an overlong word into two units, in place."""
    start, end = units[index]
    if end - start < 2:
        raise InputError("one character exceeds the limit in tokens: raise max_tokens")
    middle = (start + end) // 2
    units[index : index + 1] = [(start, middle), (middle, end)]


def _sentence_break(units, middle, last, ends):
    """Move the end of a window back to a sentence end after the middle."""
    for stop in range(last, middle, -1):
        position = bisect.bisect_right(ends, units[stop - 1][0])
        if position < len(ends) and ends[position] <= units[stop - 1][1]:
            return stop
    return last
