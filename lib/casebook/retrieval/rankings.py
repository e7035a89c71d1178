"""Make ranked lists from scores, and turn them into others.

One tie rule holds everywhere: higher score first, then lower position in the indexed
collection, so that a list depends on its scores alone and never on a sort routine.
"""

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.filters import candidate_mask
from casebook.retrieval.lists import ABSENT, RankedLists, positive_depth

__all__ = ["ABSENT", "RankedLists", "collapse", "everything", "from_scores", "positive_depth", "stack", "to_run"]


def from_scores(scores, k, allowed=None):
    """Rank a collection for every query and keep the best k."""
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


def everything(n_documents, allowed, n_queries):
    """List every allowed document in the order of the collection."""
    deepest = max(1, int(allowed.sum(axis=1).max()))
    mask = np.broadcast_to(allowed, (n_queries, n_documents))
    return from_scores(np.zeros(mask.shape), deepest, np.ascontiguousarray(mask))


def stack(parts, depth):
    """Join lists of consecutive blocks of queries."""
    rows = sum(part.shape[0] for part in parts)
    ids, scores = np.full((rows, depth), ABSENT), np.full((rows, depth), -np.inf)
    start = 0
    for part in parts:
        stop, width = start + part.shape[0], part.shape[1]
        ids[start:stop, :width], scores[start:stop, :width] = part.ids, part.scores
        start = stop
    return RankedLists(ids, scores)


def collapse(lists, owner):
    """Turn lists of chunks into lists of documents, each at its best chunk."""
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
    """Write ranked lists as a run: scores by query id and document id."""
    if len(query_ids) != lists.shape[0]:
        raise InputError(f"{lists.shape[0]} ranked lists but {len(query_ids)} query ids")
    names = np.asarray(doc_ids, dtype=object)
    return {
        query: dict(zip(names[ids[:length]].tolist(), scores[:length].tolist(), strict=True))
        for query, ids, scores, length in zip(query_ids, lists.ids, lists.scores, lists.lengths, strict=True)
    }
