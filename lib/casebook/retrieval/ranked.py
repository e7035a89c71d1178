"""Ranked lists of many queries as two arrays, how they are made, and what they may hold.

One tie rule holds everywhere: higher score first, then lower position in the indexed collection, so that a list depends
on its scores alone and never on a sort routine.
"""

import operator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError

ABSENT = -1


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Positions and scores of Q queries [Q, K], best first; rows are padded at the end with -1 and -inf."""

    ids: np.ndarray
    scores: np.ndarray

    def __post_init__(self):
        ids, scores = np.asarray(self.ids, np.int64), np.asarray(self.scores, np.float64)
        filled = ids >= 0
        assert ids.ndim == 2 and ids.shape == scores.shape, "ids and scores must have one shape [queries, depth]"
        assert not (filled[:, 1:] > filled[:, :-1]).any(), "padding must stand at the end of a row"
        assert (filled == (scores > -np.inf)).all(), "id -1 and score -inf stand together; NaN is no score"
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "scores", scores)

    @classmethod
    def empty(cls, rows, depth=1):
        """Lists that hold nothing."""
        return cls(np.full((rows, depth), ABSENT), np.full((rows, depth), -np.inf))

    @property
    def shape(self):
        """Queries and depth, padding included."""
        return self.ids.shape

    @cached_property
    def lengths(self):
        """Entries of each list [Q]."""
        return (self.ids >= 0).sum(axis=1)

    def truncate(self, k):
        """Cut every list after its first k entries."""
        k = positive_depth(k)
        return RankedLists(self.ids[:, :k], self.scores[:, :k])

    def reorder(self, order, scores=None):
        """Pick entries by column, -1 for none; with other scores if they are given."""
        order = np.asarray(order, np.int64)
        if self.shape[1] == 0:
            return self
        ids = np.take_along_axis(self.ids, np.maximum(order, 0), axis=1)
        own = np.take_along_axis(self.scores, np.maximum(order, 0), axis=1) if scores is None else scores
        kept = (order >= 0) & (ids >= 0)
        return RankedLists(np.where(kept, ids, ABSENT), np.where(kept, own, -np.inf))

    def columns_of(self, wanted):
        """Column of each wanted id in the list of its own query; -1 where it is not listed."""
        wanted = np.asarray(wanted, np.int64)
        rows, depth = self.shape
        if wanted.size == 0 or depth == 0:
            return np.full(wanted.shape, ABSENT)
        # Ids of different queries become different numbers, so that one search finds them all.
        offset = (int(max(self.ids.max(), wanted.max())) + 2) * np.arange(rows)[:, None] + 1
        order = np.argsort(self.ids, axis=1)
        keys = (np.take_along_axis(self.ids, order, axis=1) + offset).ravel()
        slot = np.searchsorted(keys, wanted + offset).clip(max=keys.size - 1)
        found = (keys[slot] == wanted + offset) & (wanted >= 0)
        return np.where(found, order.ravel()[slot], ABSENT)

    def ranks_of(self, wanted):
        """Rank of each wanted id, from 1; NaN where it is not listed."""
        columns = self.columns_of(wanted)
        return np.where(columns >= 0, columns + 1.0, np.nan)

    def scores_of(self, wanted):
        """Score of each wanted id; NaN where it is not listed."""
        columns = self.columns_of(wanted)
        if self.shape[1] == 0:
            return np.full(columns.shape, np.nan)
        return np.where(columns >= 0, np.take_along_axis(self.scores, np.maximum(columns, 0), axis=1), np.nan)


def positive_depth(k):
    """Refuse a depth that is not a whole number of at least 1."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise InputError(f"a list depth must be a whole number of at least 1, got {k!r}")
    return int(k)


def from_scores(scores, k):
    """Rank a collection by scores [queries, items] and keep the best k; -inf is not retrieved."""
    scores = np.atleast_2d(np.asarray(scores, np.float64))
    rows, items = scores.shape
    k = min(positive_depth(k), items)
    if np.isnan(scores).any():
        raise InputError("a retrieval score is NaN: check the vectors or the text")
    ids, values = np.full((rows, k), ABSENT), np.full((rows, k), -np.inf)
    if scores.size == 0:
        return RankedLists(ids, values)
    # Everything at or above the k-th score competes, so that ties at the cut are settled by position and not by the
    # order that a partition leaves behind.
    cut = np.partition(scores, items - k, axis=1)[:, [items - k]]
    row, item = np.nonzero((scores >= cut) & (scores > -np.inf))
    value = scores[row, item]
    order = np.lexsort((-value, row))
    place = np.arange(row.size) - np.searchsorted(row, row)
    order, place = order[place < k], place[place < k]
    ids[row[order], place], values[row[order], place] = item[order], value[order]
    return RankedLists(ids, values)


def stack(parts, depth):
    """Join lists of consecutive blocks of queries."""
    starts = np.cumsum([0, *(part.shape[0] for part in parts)])
    return spread(
        [(slice(a, b), part) for a, b, part in zip(starts, starts[1:], parts, strict=False)], starts[-1], depth
    )


def spread(parts, n_queries, depth=None):
    """Put lists of some rows each, as pairs of rows and lists, into one."""
    depth = max(lists.shape[1] for _, lists in parts) if depth is None else depth
    ids, scores = np.full((n_queries, depth), ABSENT), np.full((n_queries, depth), -np.inf)
    for rows, lists in parts:
        ids[rows, : lists.shape[1]], scores[rows, : lists.shape[1]] = lists.ids, lists.scores
    return RankedLists(ids, scores)


def collapse(lists, owner):
    """Turn lists of passages into lists of documents, each at its best passage; give those passages too."""
    owner = np.asarray(owner, np.int64)
    if lists.ids.size == 0:
        return lists, lists.ids
    document = np.where(lists.ids >= 0, owner[np.maximum(lists.ids, 0)], ABSENT)
    by_document = np.argsort(document, axis=1, kind="stable")
    ordered = np.take_along_axis(document, by_document, axis=1)
    first = np.ones(document.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    keep = np.empty_like(first)
    np.put_along_axis(keep, by_document, first & (ordered >= 0), axis=1)
    columns = np.argsort(~keep, axis=1, kind="stable")
    columns[~np.take_along_axis(keep, columns, axis=1)] = ABSENT
    winners = lists.reorder(columns[:, : max(1, int(keep.sum(axis=1).max()))])
    documents = np.where(winners.ids >= 0, owner[np.maximum(winners.ids, 0)], ABSENT)
    return RankedLists(documents, winners.scores), winners.ids


def extend(head, *tails):
    """Continue lists below their end by what other lists hold; scores become reciprocal ranks."""
    ids = np.concatenate([head.ids, *(tail.ids for tail in tails)], axis=1)
    ids = np.take_along_axis(ids, np.argsort(ids < 0, axis=1, kind="stable"), axis=1)
    places = np.broadcast_to(-np.arange(float(ids.shape[1])), ids.shape)
    joined = RankedLists(ids, np.where(ids >= 0, places, -np.inf))
    distinct, _ = collapse(joined, np.arange(int(ids.max(initial=0)) + 1))
    ranks = np.arange(1.0, distinct.shape[1] + 1)
    return RankedLists(distinct.ids, np.where(distinct.ids >= 0, 1 / ranks, -np.inf))


def to_run(lists, query_ids, doc_ids):
    """Write ranked lists as a run: scores by query id and document id."""
    if len(query_ids) != lists.shape[0]:
        raise InputError(f"{lists.shape[0]} ranked lists but {len(query_ids)} query ids")
    names = np.asarray(doc_ids, dtype=object)
    return {
        query: dict(zip(names[ids[:length]].tolist(), scores[:length].tolist(), strict=True))
        for query, ids, scores, length in zip(query_ids, lists.ids, lists.scores, lists.lengths, strict=True)
    }


_COMPARE = {name: getattr(operator, name) for name in ("gt", "lt", "eq", "ne")} | {
    "gte": operator.ge,
    "lte": operator.le,
}
_OPERATORS = (*_COMPARE, "in", "not_in")


def metadata_mask(documents, where):
    """Which documents satisfy all conditions: column to value, list of values, or {operator: operand}.

    Operators are eq, ne, gt, gte, lt, lte, in and not_in; a document without a value satisfies no condition on it.
    """
    mask = np.ones(len(documents), dtype=bool)
    for column, condition in (where or {}).items():
        if column not in documents.columns:
            known = ", ".join(map(str, documents.columns)) or "none"
            raise InputError(f"filter names no column {column!r}; columns: {known}")
        if isinstance(condition, list | tuple | set | frozenset):
            condition = {"in": condition}
        elif not isinstance(condition, dict):
            condition = {"eq": condition}
        present = documents[column].notna().to_numpy(dtype=bool)
        mask &= present
        for name, operand in condition.items():
            held = np.zeros(len(documents), dtype=bool)
            held[present] = _compared(documents[column][present], column, name, operand)
            mask &= held
    return mask


def _compared(values, column, name, operand):
    """Apply one operator to values none of which is missing."""
    if name not in _OPERATORS:
        raise InputError(f"filter on {column!r} uses no operator {name!r}; operators: {', '.join(_OPERATORS)}")
    if name in ("in", "not_in"):
        if isinstance(operand, str) or not np.iterable(operand):
            raise InputError(f"filter on {column!r}: {name!r} needs a list of values")
        return (values.isin(list(operand)) == (name == "in")).to_numpy(dtype=bool)
    try:
        return _COMPARE[name](values, operand).to_numpy(dtype=bool)
    except TypeError as error:
        raise InputError(f"filter on {column!r}: cannot compare its values with {operand!r}") from error


def as_mask(allowed, n_queries, n_items):
    """Bring a mask [items] or [1 or queries, items] to two dimensions; None stays None."""
    if allowed is None:
        return None
    mask = np.atleast_2d(allowed)
    assert mask.dtype == bool and mask.shape in ((1, n_items), (n_queries, n_items)), "a mask fits queries and items"
    return mask
