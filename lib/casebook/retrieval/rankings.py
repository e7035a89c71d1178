"""Ranked lists of many queries as two arrays, and what every stage does to them.

One tie rule holds everywhere: higher score first, then lower position in the indexed
collection, so that a list depends on its scores alone and never on a sort routine.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.filters import candidate_mask

ABSENT = -1


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Ranked lists of Q queries, best first, padded at the end to K columns.

    Parameters
    ----------
    ids : array-like of int, shape (Q, K)
        Positions in the indexed collection, distinct within a row; -1 is padding.
    scores : array-like of float, shape (Q, K)
        Scores of the same stage, ``-inf`` where padded. Non-increasing, except where
        a stage defines its order otherwise (marginal relevance at selection time).

    Raises
    ------
    InputError
        If the shapes differ, or padding stands before an entry or carries a score.
    """

    ids: np.ndarray
    scores: np.ndarray

    def __post_init__(self):
        ids = np.asarray(self.ids, dtype=np.int64)
        scores = np.asarray(self.scores, dtype=np.float64)
        if ids.ndim != 2 or ids.shape != scores.shape:
            raise InputError(
                f"ranked lists need ids and scores of one shape [queries, depth], "
                f"got {ids.shape} and {scores.shape}"
            )
        filled = ids >= 0
        if (filled[:, 1:] > filled[:, :-1]).any() or (
            filled != (scores > -np.inf)
        ).any():
            raise InputError(
                "ranked lists must be padded at the end of a row, with id -1 and "
                "score -inf together; NaN is no score"
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
        """Cut every list after its first k entries.

        Parameters
        ----------
        k : int
            Depth to keep, at least 1.

        Returns
        -------
        RankedLists
            Lists of depth min(k, K).
        """
        k = positive_depth(k)
        return RankedLists(self.ids[:, :k], self.scores[:, :k])

    def reorder(self, order, scores=None):
        """Pick entries of each list in a new order.

        Parameters
        ----------
        order : array of int, shape (Q, k)
            Columns of the present list, best first; -1 at the end of a row is padding.
        scores : array of float, shape (Q, k), optional
            Scores of the new order; by default each entry keeps its own.

        Returns
        -------
        RankedLists
            The chosen entries.
        """
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
        """Find where given ids stand in the list of their own query.

        Parameters
        ----------
        wanted : array-like of int, shape (Q, M)
            Ids to look for, one row per query; -1 is never found.

        Returns
        -------
        array of int, shape (Q, M)
            Column of each id, -1 where the list does not hold it.
        """
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
        """Rank of given ids in the list of their own query.

        Parameters
        ----------
        wanted : array-like of int, shape (Q, M)
            Ids to look for, one row per query.

        Returns
        -------
        array of float, shape (Q, M)
            Rank from 1; NaN where the list does not hold the id.
        """
        columns = self.columns_of(wanted)
        return np.where(columns >= 0, columns + 1.0, np.nan)

    def scores_of(self, wanted):
        """Score of given ids in the list of their own query.

        Parameters
        ----------
        wanted : array-like of int, shape (Q, M)
            Ids to look for, one row per query.

        Returns
        -------
        array of float, shape (Q, M)
            Score; NaN where the list does not hold the id.
        """
        columns = self.columns_of(wanted)
        if self.shape[1] == 0:
            return np.full(columns.shape, np.nan)
        scores = np.take_along_axis(self.scores, np.maximum(columns, 0), axis=1)
        return np.where(columns >= 0, scores, np.nan)


def positive_depth(k):
    """Check a list depth.

    Parameters
    ----------
    k : int
        Number of results asked for.

    Returns
    -------
    int
        The same number.

    Raises
    ------
    InputError
        If it is not a whole number of at least 1.
    """
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise InputError(f"a list depth must be a whole number of at least 1, got {k}")
    return int(k)


def from_scores(scores, k, allowed=None):
    """Rank a collection for every query and keep the best k.

    Parameters
    ----------
    scores : array-like of float, shape (Q, N)
        Score of every item; ``-inf`` means not retrieved. NaN is refused.
    k : int
        Depth, at least 1.
    allowed : array of bool (N,) or (Q, N), sequence of Q int arrays, or None
        Items that may be returned; see
        :func:`casebook.retrieval.filters.candidate_mask`.

    Returns
    -------
    RankedLists
        Lists of depth min(k, N); ties go to the lower position.

    Raises
    ------
    InputError
        If a score is NaN or ``k`` is below 1.
    """
    scores = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    rows, items = scores.shape
    k = min(positive_depth(k), items)
    if np.isnan(scores).any():
        raise InputError("a retrieval score is NaN: check the vectors or the text")
    mask = candidate_mask(allowed, rows, items)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    ids, values = np.full((rows, k), ABSENT), np.full((rows, k), -np.inf)
    if scores.size == 0:
        return RankedLists(ids, values)
    # Everything at or above the k-th score competes, so that ties at the cut are
    # settled by position and not by the order that a partition leaves behind.
    cut = np.partition(scores, items - k, axis=1)[:, [items - k]]
    row, item = np.nonzero((scores >= cut) & (scores > -np.inf))
    value = scores[row, item]
    order = np.lexsort((-value, row))
    place = np.arange(row.size) - np.searchsorted(row, row)
    order, place = order[place < k], place[place < k]
    ids[row[order], place], values[row[order], place] = item[order], value[order]
    return RankedLists(ids, values)


def stack(parts, depth):
    """Join lists of consecutive blocks of queries.

    Parameters
    ----------
    parts : sequence of RankedLists
        Blocks in order; may be empty.
    depth : int
        Depth of the result, at least that of every part.

    Returns
    -------
    RankedLists
        All queries.
    """
    rows = sum(part.shape[0] for part in parts)
    ids, scores = np.full((rows, depth), ABSENT), np.full((rows, depth), -np.inf)
    start = 0
    for part in parts:
        stop, width = start + part.shape[0], part.shape[1]
        ids[start:stop, :width], scores[start:stop, :width] = part.ids, part.scores
        start = stop
    return RankedLists(ids, scores)


def collapse(lists, owner):
    """Turn lists of chunks into lists of documents, each at its best chunk.

    Parameters
    ----------
    lists : RankedLists
        Chunk positions, best first.
    owner : array-like of int, shape (number of chunks,)
        Document position of every chunk.

    Returns
    -------
    documents : RankedLists
        Distinct documents in the order of their first chunk, with its score.
    chunks : array of int, shape (Q, K)
        The winning chunk of each document, -1 where padded.
    """
    owner = np.asarray(owner, dtype=np.int64)
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
    columns = columns[:, : max(1, int(keep.sum(axis=1).max()))]
    winners = lists.reorder(columns)
    documents = np.where(winners.ids >= 0, owner[np.maximum(winners.ids, 0)], ABSENT)
    return RankedLists(documents, winners.scores), winners.ids


def to_run(lists, query_ids, doc_ids):
    """Write ranked lists as a run: scores by query id and document id.

    Parameters
    ----------
    lists : RankedLists
        Lists of document positions.
    query_ids : sequence of str, length Q
        Id of each row.
    doc_ids : sequence of str
        Id of each position.

    Returns
    -------
    dict of dict
        ``{query_id: {doc_id: score}}``, every query present, entries best first.

    Raises
    ------
    InputError
        If the number of query ids is not the number of lists.
    """
    if len(query_ids) != lists.shape[0]:
        raise InputError(
            f"{lists.shape[0]} ranked lists but {len(query_ids)} query ids"
        )
    names = np.asarray(doc_ids, dtype=object)
    return {
        query: dict(
            zip(names[ids[:length]].tolist(), scores[:length].tolist(), strict=True)
        )
        for query, ids, scores, length in zip(
            query_ids, lists.ids, lists.scores, lists.lengths, strict=True
        )
    }
