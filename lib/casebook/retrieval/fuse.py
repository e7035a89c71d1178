"""Fusion of several ranked lists per query, and maximal marginal relevance.

Cormack, Clarke and Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and individual
rank learning methods, SIGIR. Carbonell and Goldstein (1998), The use of MMR, diversity-based
reranking, SIGIR.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.retrieval.ranked import RankedLists, best_first, positive_depth, to_run
from casebook.trec import ranked

_DECIMALS = 9  # sums over more or less padding differ in their last bits


def reciprocal_rank_fusion(lists, k=20, depth=None, weights=None):
    """Fuse ranked lists by the weighted sum of ``1 / (k + rank)``.

    Parameters
    ----------
    lists : sequence of runs, or of RankedLists, each [Q, K]
        Runs of several retrievers, ``{query: {id: score}}``, or lists of the same queries, best
        first.
    k : float, default 20
        Rank constant, at least 0; 60 in the source.
    depth : int, optional
        Entries of each list that count; all by default.
    weights : array_like, [lists] or [lists, Q], optional
        At least 0; ones by default.

    Returns
    -------
    dict or RankedLists
        One run, or lists, with every document of any list. Scores lie above 0, up to the sum of the
        weights over ``k + 1``. Ties go to the better best rank, then to the lower position.

    Raises
    ------
    InputError
        If there is no list, the lists have different queries, or a constant or weight is out of
        range.

    References
    ----------
    Cormack, Clarke and Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and
    individual rank learning methods, SIGIR.

    Examples
    --------
    >>> runs = [{"q": {"a": 2, "b": 1}}, {"q": {"b": 9}}]
    >>> fused = reciprocal_rank_fusion(runs, k=60)
    >>> {document: round(score, 4) for document, score in fused["q"].items()}
    {'b': 0.0325, 'a': 0.0164}
    """
    if lists and isinstance(lists[0], Mapping):
        return _fused_runs(lists, k, depth, weights)
    weights = _checked(lists, weights)
    if not 0 <= k < np.inf:
        raise InputError(f"the rank constant of fusion must be at least 0, got {k}")
    if depth is not None:
        lists = [entry.truncate(depth) for entry in lists]
    values = []
    for entry, weight in zip(lists, weights, strict=True):
        ranks = np.arange(1.0, entry.ids.shape[1] + 1)
        values.append(np.broadcast_to(weight[:, None] / (k + ranks), entry.ids.shape))
    return _sum_by_document(lists, values)


def _fused_runs(runs, k, depth, weights):
    """Runs fused query by query, of which one may be missing in a run."""
    fused = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        rows = [run.get(query, {}) for run in runs]
        if any(math.isnan(score) for row in rows for score in row.values()):
            raise InputError("a score of a run is NaN: it has no rank")
        names = pd.Index(
            dict.fromkeys(name for row in rows for name in row), dtype=object
        )
        lists = []
        for row in rows:
            places = names.get_indexer([name for name, _ in ranked(row)])
            lists.append(RankedLists([places], [-np.arange(len(row))]))
        lists = reciprocal_rank_fusion(lists, k, depth, weights)
        fused |= to_run(lists, [query], names)
    return fused


def weighted_sum(lists, weights=None):
    """Fuse ranked lists by the weighted sum of their scores, each list's scaled to [0, 1]."""
    values = [
        weight[:, None] * min_max(entry.scores, entry.ids >= 0)
        for entry, weight in zip(lists, _checked(lists, weights), strict=True)
    ]
    return _sum_by_document(lists, values)


def standardised_sum(lists, weights=None, pool=50, depth=100):
    """Fuse by the weighted sum of z-scores over all documents among the first `pool` of any list.

    A document that a list lacks gets the list's lowest score, or 0 if that is lower and the list is
    not full.
    """
    lists = [entry.truncate(depth) for entry in lists]
    ids = reciprocal_rank_fusion(lists, depth=pool).ids
    total = np.zeros(ids.shape)
    best_ranks = np.full(ids.shape, np.inf)
    filled = ids >= 0
    for entry, weight in zip(lists, _checked(lists, weights), strict=True):
        listed = np.where(entry.ids >= 0, entry.scores, np.inf)
        lowest = listed.min(axis=1, initial=np.inf)
        is_short = entry.lengths < depth
        lowest[is_short] = np.minimum(lowest[is_short], 0.0)
        scores = entry.scores_of(ids)
        scores = np.where(np.isnan(scores), lowest[:, None], scores)
        total += weight[:, None] * z_scores(scores, filled)
        best_ranks = np.fmin(best_ranks, entry.ranks_of(ids))
    total = np.where(filled, np.round(total, _DECIMALS), -np.inf)
    return best_first(ids, total, best_ranks)


def z_scores(scores, filled):
    """Bring the scores of each row to mean 0 and deviation 1; 0 in the padding."""
    scores = np.ma.masked_array(scores, ~filled)
    centred = scores - scores.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return (centred / np.ma.where(deviation > 0, deviation, 1.0)).filled(0.0)


def min_max(scores, filled):
    """Scale each row to [0, 1] over the entries that count; equal scores become 1."""
    lowest = np.where(filled, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    shifted = np.subtract(scores, lowest, out=np.zeros(np.shape(scores)), where=filled)
    span = shifted.max(axis=1, keepdims=True, initial=0.0)
    return np.divide(shifted, span, out=filled.astype(float), where=span > 0)


def _checked(lists, weights):
    """Weights of lists of the same queries [lists, 1 or Q]."""
    if len({len(entry.ids) for entry in lists}) != 1:
        raise InputError(
            "fusion needs at least one ranked list, and all of the same queries"
        )
    weights = np.asarray(np.ones(len(lists)) if weights is None else weights, float)
    fits = weights.shape in ((len(lists),), (len(lists), len(lists[0].ids)))
    if not fits or not (weights >= 0).all():
        raise InputError(
            f"fusion of {len(lists)} lists needs as many weights, at least 0"
        )
    return weights.reshape(len(lists), -1)


def _sum_by_document(lists, values):
    """Sums of the values of each document of each query, ranked.

    Best first; equal ones by the best rank in any list, then by position.
    """
    ranks = np.concatenate([np.arange(entry.ids.shape[1]) for entry in lists])
    # Values of a document are added best rank first, so that the same ranks in other lists give the
    # same sum to the last bit, and a tie stays a tie.
    order = np.argsort(ranks, kind="stable")
    ids = np.concatenate([entry.ids for entry in lists], axis=1)[:, order]
    values = np.concatenate(values, axis=1)[:, order]
    rows, columns = np.nonzero(ids >= 0)
    # One number for a query and a document.
    n_documents = ids.max(initial=0) + 1
    named = rows * n_documents + ids[rows, columns]
    keys, first, places = np.unique(named, return_index=True, return_inverse=True)
    totals = np.bincount(places, values[rows, columns], len(keys))
    rows, documents = np.divmod(keys, n_documents)
    best_ranks = ranks[order][columns[first]]
    fused = RankedLists.of(rows, documents, totals, len(ids))
    placed = RankedLists.of(rows, documents, best_ranks, len(ids))
    return best_first(fused.ids, fused.scores, placed.scores)


def maximal_marginal_relevance(relevance, vectors, lambda_=0.7, k=10):
    """Pick k candidates per query, one by one, that are relevant and unlike those picked before.

    Parameters
    ----------
    relevance : array_like, shape [Q, C]
        Relevance of each candidate; -inf for padding.
    vectors : array_like, shape [Q, C, D]
        Vectors whose cosine is the redundancy.
    lambda_ : float in [0, 1], default 0.7
        Weight of relevance against redundancy.
    k : int, default 10
        Candidates to pick.

    Returns
    -------
    order : ndarray of int, shape [Q, k]
        Columns in the order of picking, -1 where none is left; ties go to the earlier candidate.
    values : ndarray of float, shape [Q, k]
        ``lambda_ * relevance - (1 - lambda_) * redundancy`` when picked, -inf where none is left.
        Values of different picks are not comparable; the first one has ``lambda_`` times its
        relevance.

    Raises
    ------
    InputError
        If a number is NaN, or `lambda_` or `k` is out of range.

    References
    ----------
    Carbonell and Goldstein (1998), The use of MMR, diversity-based reranking for reordering
    documents and producing summaries, SIGIR.

    Examples
    --------
    >>> copies = [[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]
    >>> maximal_marginal_relevance([[1.0, 0.9, 0.5]], copies, k=2)[0].tolist()
    [[0, 2]]
    """
    relevance = np.asarray(relevance, float)
    vectors = np.asarray(vectors)
    k = positive_depth(k)
    if not 0 <= lambda_ <= 1:
        raise InputError(
            f"lambda of marginal relevance must be in [0, 1], got {lambda_}"
        )
    if np.isnan(relevance).any() or np.isnan(vectors).any():
        raise InputError(
            "marginal relevance has no value of NaN: check relevance and vectors"
        )
    picked = RankedLists.empty(len(relevance), k)
    for row in np.flatnonzero((relevance > -np.inf).any(axis=1)):
        of_query = relevance[row]
        columns = np.flatnonzero(of_query > -np.inf)
        picks, values = _picks(of_query[columns], vectors[row, columns], lambda_, k)
        picked.ids[row, : len(picks)] = columns[picks]
        picked.scores[row, : len(picks)] = values
    return picked.ids, picked.scores


def _picks(relevance, vectors, lambda_, k):
    """Candidates of one query in the order of picking, and their values."""
    norms = np.linalg.norm(vectors, axis=1)
    norms[norms == 0] = np.inf
    redundancy = np.full(len(relevance), -np.inf)
    gain = lambda_ * relevance
    pick = relevance.argmax()  # the most relevant one comes first, whatever lambda is
    picks = []
    values = []
    while len(picks) < min(k, len(relevance)):
        picks.append(pick)
        values.append(gain[pick])
        cosines = vectors @ (vectors[pick] / norms[pick]) / norms
        redundancy = np.maximum(redundancy, cosines)
        gain = lambda_ * relevance - (1 - lambda_) * redundancy
        gain[picks] = -np.inf
        pick = gain.argmax()
    return picks, values
