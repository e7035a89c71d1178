"""Texts as models take them, and token vectors of many texts in one ragged array."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Vectors of n texts, one row per token, the texts one after the other."""

    vectors: np.ndarray  # (tokens, dimensions)
    token_ids: np.ndarray  # (tokens,)
    lengths: np.ndarray  # (n,): tokens of each text

    def __len__(self):
        return len(self.lengths)

    @cached_property
    def offsets(self):
        """Where each text starts, and the end: shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    def take(self, rows):
        """Select texts, repeats allowed."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths, dtype=np.int64)
        shift = np.repeat(self.offsets[rows] - (ends - lengths), lengths)
        index = np.arange(int(lengths.sum())) + shift
        return TokenVectors(self.vectors[index], self.token_ids[index], lengths)

    @classmethod
    def concatenate(cls, parts):
        """Put several blocks of texts one after the other."""
        names = ("vectors", "token_ids", "lengths")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def checked_texts(texts):
    """List of texts; one string, something else than text, or half a character is an error."""
    if isinstance(texts, str):
        raise InputError("expected a list of texts, got one string: put it in a list")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {row} is {type(text).__name__}, expected a string")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"text {row} holds half a surrogate pair") from error
    return texts


def text_key(text):
    """Key of a text in caches: 32 bytes."""
    return hashlib.sha256(text.encode()).digest()


def unit_rows(vectors):
    """Scale rows to length 1; a zero row stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)
