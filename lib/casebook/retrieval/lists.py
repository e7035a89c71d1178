"""Ranked lists of many queries as two arrays."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError

ABSENT = -1


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Ranked lists of Q queries, best first, padded at the end to K columns."""

    ids: np.ndarray
    scores: np.ndarray

    def __post_init__(self):
        ids = np.asarray(self.ids, dtype=np.int64)
        scores = np.asarray(self.scores, dtype=np.float64)
        if ids.ndim != 2 or ids.shape != scores.shape:
            raise InputError(
                f"ranked lists need ids and scores of one shape [queries, depth], got {ids.shape} and {scores.shape}"
            )
        filled = ids >= 0
        if (filled[:, 1:] > filled[:, :-1]).any() or (filled != (scores > -np.inf)).any():
            raise InputError(
                "ranked lists must be padded at the end of a row, with id -1 and score -inf together; NaN is no score"
            )
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "scores", scores)

    @property
    def shape(self):
        """Number of queries and depth, padding included: tuple of int (Q, K)."""
        return self.ids.shape

    @cached_property
    def lengths(self):
        """Number of entries of each list: array of int, shape (Q,)."""
        return (self.ids >= 0).sum(axis=1)

    def truncate(self, k):
        """Cut every list after its first k entries."""
        k = positive_depth(k)
        return RankedLists(self.ids[:, :k], self.scores[:, :k])

    def reorder(self, order, scores=None):
        """Pick entries of each list in a new order."""
        order = np.asarray(order, dtype=np.int64)
        if self.shape[1] == 0:
            return self
        kept = order >= 0
        own = np.take_along_axis(self.scores, np.maximum(order, 0), axis=1)
        ids = np.take_along_axis(self.ids, np.maximum(order, 0), axis=1)
        values = own if scores is None else scores
        kept &= ids >= 0
        return RankedLists(np.where(kept, ids, ABSENT), np.where(kept, values, -np.inf))

    def columns_of(self, wanted):
        """Find where given ids stand in the list of their own query."""
        wanted = np.asarray(wanted, dtype=np.int64)
        rows, depth = self.shape
        if wanted.size == 0 or depth == 0:
            return np.full(wanted.shape, ABSENT)
        span = int(max(self.ids.max(), wanted.max())) + 2
        offset = span * np.arange(rows)[:, None] + 1
        order = np.argsort(self.ids, axis=1)
        keys = (np.take_along_axis(self.ids, order, axis=1) + offset).ravel()
        slot = np.searchsorted(keys, wanted + offset).clip(max=keys.size - 1)
        found = (keys[slot] == wanted + offset) & (wanted >= 0)
        return np.where(found, order.ravel()[slot], ABSENT)

    def ranks_of(self, wanted):
        """Rank of given ids in the list of their own query."""
        columns = self.columns_of(wanted)
        return np.where(columns >= 0, columns + 1.0, np.nan)

    def scores_of(self, wanted):
        """Score of given ids in the list of their own query."""
        columns = self.columns_of(wanted)
        if self.shape[1] == 0:
            return np.full(columns.shape, np.nan)
        scores = np.take_along_axis(self.scores, np.maximum(columns, 0), axis=1)
        return np.where(columns >= 0, scores, np.nan)


def positive_depth(k):
    """Check a list depth."""
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not whole or k < 1:
        raise InputError(f"a list depth must be a whole number of at least 1, got {k!r}")
    return int(k)
