"""Ranked lists of many queries as two arrays, and filters on the documents that they may hold.

One tie rule holds everywhere: higher score first, then lower position in the indexed collection,
so that a list depends on its scores alone and never on a sort routine.
"""

import operator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from casebook.errors import InputError

ABSENT = -1


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Positions and scores of Q queries [Q, K], best first, padded at the end with -1 and -inf."""

    ids: np.ndarray
    scores: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "ids", np.asarray(self.ids, np.int64))
        object.__setattr__(self, "scores", np.asarray(self.scores, np.float64))

    @classmethod
    def empty(cls, rows, depth=1):
        return cls(np.full((rows, depth), ABSENT), np.full((rows, depth), -np.inf))

    @classmethod
    def of(cls, rows, ids, scores, n_queries):
        """Lists of entries that are sorted by query and within it."""
        columns = np.arange(len(rows)) - np.searchsorted(rows, rows)
        lists = cls.empty(n_queries, columns.max(initial=0) + 1)
        lists.ids[rows, columns] = ids
        lists.scores[rows, columns] = scores
        return lists

    @property
    def lengths(self):
        return (self.ids >= 0).sum(axis=1)

    def truncate(self, k):
        k = positive_depth(k)
        return RankedLists(self.ids[:, :k], self.scores[:, :k])

    def take(self, rows):
        return RankedLists(self.ids[rows], self.scores[rows])

    def padded(self, depth):
        lists = RankedLists.empty(len(self.ids), depth)
        width = self.ids.shape[1]
        lists.ids[:, :width] = self.ids
        lists.scores[:, :width] = self.scores
        return lists

    def columns_of(self, wanted):
        """Column of each wanted id in the list of its own query; -1 where it is not listed."""
        wanted = np.asarray(wanted, np.int64)
        found = np.full(wanted.shape, ABSENT)
        for row, ids in enumerate(self.ids):
            listed = pd.Index(ids[ids >= 0])
            found[row] = listed.get_indexer(wanted[row])
        return found

    def ranks_of(self, wanted):
        columns = self.columns_of(wanted)
        return np.where(columns >= 0, columns + 1.0, np.nan)

    def scores_of(self, wanted):
        columns = self.columns_of(wanted)
        return np.where(columns >= 0, at_columns(self.scores, columns), np.nan)


def at_columns(values, columns):
    """Values at the columns of each row; those of the first column where there is none."""
    return np.take_along_axis(values, np.maximum(columns, 0), axis=1)


def positive_depth(k):
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise InputError(
            f"a list depth must be a whole number of at least 1, got {k!r}"
        )
    return int(k)


def from_scores(scores, k):
    """Rank a collection by scores [queries, items] and keep the best k; -inf is not retrieved."""
    scores = np.atleast_2d(np.asarray(scores, np.float64))
    n_queries, items = scores.shape
    k = min(positive_depth(k), items)
    # Everything at or above the k-th score competes, so that ties at the cut are settled by
    # position and not by the order that a partition leaves behind.
    cut = np.partition(scores, items - k, axis=1)[:, [items - k]]
    rows, ids = np.nonzero((scores >= cut) & (scores > -np.inf))
    found = scores[rows, ids]
    order = np.lexsort((ids, -found, rows))
    lists = RankedLists.of(rows[order], ids[order], found[order], n_queries)
    return lists.truncate(k).padded(k)


def best_first(ids, scores, ranks=None):
    """Sort each list by score, equal ones by rank if there are ranks, then by position."""
    keys = (ids, -scores) if ranks is None else (ids, ranks, -scores)
    order = np.lexsort(keys, axis=1)
    return RankedLists(at_columns(ids, order), at_columns(scores, order))


def stack(parts):
    """Lists of queries one below the other."""
    depth = max((part.ids.shape[1] for part in parts), default=1)
    parts = [part.padded(depth) for part in parts] or [RankedLists.empty(0)]
    ids = np.concatenate([part.ids for part in parts])
    return RankedLists(ids, np.concatenate([part.scores for part in parts]))


def collapse(lists, owner):
    """Turn lists of passages into lists of documents at their best passages, and these passages."""
    owner = np.asarray(owner, np.int64)
    documents = np.where(lists.ids >= 0, owner[lists.ids], ABSENT)
    rows, columns = _first_of_each(documents)
    n_queries = len(documents)
    scores = lists.scores[rows, columns]
    best = RankedLists.of(rows, documents[rows, columns], scores, n_queries)
    passages = RankedLists.of(rows, lists.ids[rows, columns], scores, n_queries)
    return best, passages.ids


def extend(head, *tails):
    """Continue lists below their end by what other lists hold; scores become reciprocal ranks."""
    ids = np.concatenate([lists.ids for lists in (head, *tails)], axis=1)
    rows, columns = _first_of_each(ids)
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows) + 1.0
    return RankedLists.of(rows, ids[rows, columns], 1 / ranks, len(ids))


def _first_of_each(ids):
    """Rows and columns at which a row has an id for the first time."""
    rows, columns = np.nonzero(ids >= 0)
    keys = rows * (ids.max(initial=0) + 1) + ids[rows, columns]
    repeated = pd.Series(keys).duplicated().to_numpy()
    return rows[~repeated], columns[~repeated]


def to_run(lists, query_ids, doc_ids):
    names = np.asarray(doc_ids, dtype=object)
    run = {}
    for query, ids, scores in zip(query_ids, lists.ids, lists.scores, strict=True):
        found = ids >= 0
        run[query] = dict(zip(names[ids[found]], scores[found].tolist(), strict=True))
    return run


_OPERATORS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "lt": operator.lt,
    "gte": operator.ge,
    "lte": operator.le,
    "in": pd.Series.isin,
    "not_in": lambda values, excluded: ~values.isin(excluded),
}


def metadata_mask(documents, where):
    """Mark the documents that satisfy all conditions.

    A condition maps a column to a value, a list of values, or {operator: operand}. Operators are
    eq, ne, gt, gte, lt, lte, in and not_in; the last two take a list. A document without a value
    satisfies no condition on it.
    """
    mask = np.ones(len(documents), dtype=bool)
    for column, condition in (where or {}).items():
        if column not in documents:
            raise InputError(
                f"filter names no column {column!r}; columns: {', '.join(documents)}"
            )
        if not isinstance(condition, dict):
            condition = {"in" if is_list_like(condition) else "eq": condition}
        values = documents[column].dropna()
        for name, operand in condition.items():
            try:
                satisfied = _OPERATORS[name](values, operand)
            except (KeyError, TypeError, ValueError):
                problem = f"cannot compare its values by {name!r} with {operand!r}"
                known = f"operators: {', '.join(_OPERATORS)}"
                raise InputError(f"filter on {column!r}: {problem}; {known}") from None
            mask &= satisfied.reindex(documents.index, fill_value=False).to_numpy()
    return mask
