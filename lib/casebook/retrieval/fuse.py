"""Fusion of several ranked lists per query, and maximal marginal relevance.

Cormack, Clarke and Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and individual
rank learning methods, SIGIR. Carbonell and Goldstein (1998), The use of MMR, diversity-based
reranking, SIGIR.
"""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.retrieval.ranked import (
    ABSENT,
    RankedLists,
    best_first,
    positive_depth,
    rank_entries,
    stack,
    to_run,
)
from casebook.trec import ranked

_DECIMALS = 9  # sums over more or less padding differ in their last bits
# Queries at a time, so that their lists, or their vectors, stay in the cache of the processor.
_FUSION_BLOCK = 256
_MMR_BLOCK = 16


def reciprocal_rank_fusion(lists, k=20, depth=None, weights=None):
    """Fuse ranked lists by the weighted sum of ``1 / (k + rank)``.

    Parameters
    ----------
    lists : sequence of RankedLists, each [Q, K], of lists of ids, or of runs
        Lists of the same queries by several retrievers, best first; or one query's ids, one list
        for each retriever; or runs, ``{query: {id: score}}`` or one query's ``{id: score}``.
    k : float, default 20
        Rank constant, at least 0; 60 in the source.
    depth : int, optional
        Entries of each list that count; all by default.
    weights : array_like, [lists] or [lists, Q], optional
        At least 0, not all 0; ones by default.

    Returns
    -------
    RankedLists, or list of (id, score), or dict
        Every document of any list. Scores lie above 0, up to the sum of the weights over ``k + 1``.
        Ties go to the better best rank, then to the lower position. Of ids, pairs, best first; of
        runs, one run.

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
    >>> from casebook.retrieval.ranked import RankedLists
    >>> fused = reciprocal_rank_fusion([RankedLists([[0, 1]], [[3, 2]]), RankedLists([[1]], [[9]])])
    >>> fused.ids.tolist(), fused.scores.round(4).tolist()
    ([[1, 0]], [[0.0931, 0.0476]])
    >>> [doc_id for doc_id, _ in reciprocal_rank_fusion([["a", "b"], ["b", "c"]], k=60)]
    ['b', 'a', 'c']
    """
    if lists and all(isinstance(entry, Mapping) for entry in lists):
        return _fused_runs(lists, k, depth, weights)
    if lists and all(isinstance(entry, list | tuple) for entry in lists):
        return list(_fused_ids(lists, k, depth, weights).items())
    weights = _checked(lists, weights)
    if not 0 <= k < np.inf:
        raise InputError(f"the rank constant of fusion must be at least 0, got {k}")
    if depth is not None:
        lists = [entry.truncate(depth) for entry in lists]
    values = []
    for entry, weight in zip(lists, weights, strict=True):
        ranks = np.arange(1.0, entry.shape[1] + 1)
        values.append(np.broadcast_to(weight[:, None] / (k + ranks), entry.shape))
    return _sum_by_document(lists, values)


def _fused_runs(runs, k, depth, weights):
    """Runs fused query by query, in which a query may be missing, or the scores of one query."""
    if not any(isinstance(entry, Mapping) for run in runs for entry in run.values()):
        return _fused_runs([{"": scores} for scores in runs], k, depth, weights)[""]
    fused = {}
    for query in dict.fromkeys(itertools.chain.from_iterable(runs)):
        lists = []
        for run in runs:
            scores = run.get(query, {})
            if any(math.isnan(score) for score in scores.values()):
                raise InputError("a score of a run is NaN: it has no rank")
            lists.append([document for document, _ in ranked(scores)])
        fused[query] = _fused_ids(lists, k, depth, weights)
    return fused


def _fused_ids(lists, k, depth, weights):
    """Scores of the ids of one query's lists, best first."""
    ids = pd.Index(dict.fromkeys(itertools.chain.from_iterable(lists)), dtype=object)
    entries = []
    for number, entry in enumerate(lists, 1):
        if len(set(entry)) < len(entry):
            raise InputError(f"list {number} names a document twice: leave one of them out")
        places = ids.get_indexer(pd.Index(entry, dtype=object))
        entries.append(RankedLists([places], [-np.arange(len(entry))]))
    return to_run(reciprocal_rank_fusion(entries, k, depth, weights), [""], ids)[""]


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
    for entry, weight in zip(lists, _checked(lists, weights), strict=True):
        scores = entry.scores_of(ids)
        lowest = np.where(entry.ids >= 0, entry.scores, np.inf).min(axis=1, initial=np.inf)
        lowest = np.where(entry.lengths < depth, np.minimum(lowest, 0.0), lowest)
        scores = np.where(np.isnan(scores), lowest[:, None], scores)
        total += weight[:, None] * z_scores(RankedLists(ids, np.where(ids >= 0, scores, -np.inf)))
        best_ranks = np.fmin(best_ranks, entry.ranks_of(ids))
    total = np.where(ids >= 0, np.round(total, _DECIMALS), -np.inf)
    return best_first(ids, total, best_ranks)


def z_scores(lists):
    """Bring the scores of each list to mean 0 and deviation 1; 0 in the padding."""
    filled = lists.ids >= 0
    n = np.maximum(lists.lengths, 1)[:, None]
    scores = np.where(filled, lists.scores, 0.0)
    centred = np.where(filled, scores - scores.sum(axis=1, keepdims=True) / n, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=1, keepdims=True) / n)
    return centred / np.where(deviation > 0, deviation, 1.0)


def min_max(scores, filled):
    """Scale each row to [0, 1] over the entries that count; equal scores become 1."""
    lowest = np.where(filled, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    shifted = np.subtract(scores, lowest, out=np.zeros(np.shape(scores)), where=filled)
    span = shifted.max(axis=1, keepdims=True, initial=0.0)
    scaled = shifted / np.where(span > 0, span, 1.0)
    return np.where(span > 0, scaled, np.where(filled, 1.0, 0.0))


def _checked(lists, weights):
    """Weights of lists of the same queries [lists, 1 or Q]."""
    if len({entry.shape[0] for entry in lists}) != 1:
        raise InputError("fusion needs at least one ranked list, and all of the same queries")
    weights = np.asarray(np.ones(len(lists)) if weights is None else weights, float)
    fits = weights.shape in ((len(lists),), (len(lists), lists[0].shape[0]))
    valid = (np.isfinite(weights) & (weights >= 0)).all()
    if not fits or not valid or (weights.size and not weights.any()):
        raise InputError(
            f"fusion of {len(lists)} lists needs as many weights, at least 0 and not all 0"
        )
    return weights.reshape(len(lists), -1)


def _sum_by_document(lists, values):
    """Sums of the values of each document of each query, ranked.

    Best first; equal ones by the best rank in any list, then by position.
    """
    ranks = np.concatenate([np.arange(entry.shape[1]) for entry in lists])
    # Values of a document are added best rank first, so that the same ranks in other lists give the
    # same sum to the last bit, and a tie stays a tie.
    order = np.argsort(ranks, kind="stable")
    ids = np.concatenate([entry.ids for entry in lists], axis=1)[:, order]
    values = np.concatenate(values, axis=1)[:, order]
    blocks = [slice(start, start + _FUSION_BLOCK) for start in range(0, len(ids), _FUSION_BLOCK)]
    return stack([_ranked_sums(ids[block], values[block], ranks[order]) for block in blocks])


def _ranked_sums(ids, values, ranks):
    rows, columns = np.nonzero(ids >= 0)
    # One number for query, document and column, whose order is that of all three.
    n_documents = ids.max(initial=0) + 1
    n_columns = ids.shape[1]
    keys = (rows * n_documents + ids[rows, columns]) * n_columns + columns
    pairs, columns = np.divmod(np.sort(keys), max(n_columns, 1))
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    totals = np.add.reduceat(values[pairs // n_documents, columns], starts) if len(starts) else []
    rows, documents = np.divmod(pairs[starts], n_documents)
    best_ranks = ranks[columns[starts]]
    return rank_entries(rows, documents, np.asarray(totals), len(values), ranks=best_ranks)


def maximal_marginal_relevance(
    relevance, vectors, lambda_=0.7, k=10, candidates=None, scale_relevance=False
):
    """Pick k candidates per query, one by one, that are relevant and unlike those picked before.

    Parameters
    ----------
    relevance : array_like, shape [Q, C]
        Relevance of each candidate; -inf for padding.
    vectors : array_like, shape [Q, C, D], or [N, D] with `candidates`
        Vectors whose cosine is the redundancy.
    lambda_ : float in [0, 1], default 0.7
        Weight of relevance against redundancy.
    k : int, default 10
        Candidates to pick.
    candidates : array_like of int, shape [Q, C], optional
        Rows of `vectors`, -1 for padding.
    scale_relevance : bool, default False
        Scale the relevance of each query to [0, 1] first.

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
        If shapes do not fit, a number is NaN, or `lambda_` or `k` is out of range.

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
        raise InputError(f"lambda of marginal relevance must be in [0, 1], got {lambda_}")
    if candidates is None:
        fits = vectors.ndim == 3 and vectors.shape[:2] == relevance.shape
    else:
        candidates = np.asarray(candidates)
        fits = vectors.ndim == 2 and candidates.shape == relevance.shape
    if not fits or relevance.ndim != 2 or np.isnan(relevance).any():
        raise InputError(
            f"relevance {relevance.shape} and vectors {vectors.shape} do not fit, or it holds NaN"
        )
    available = relevance > -np.inf
    if candidates is not None:
        available &= candidates >= 0
    if scale_relevance:
        relevance = min_max(relevance, available)
    relevance = np.where(available, relevance, -np.inf)
    order = np.full((len(relevance), k), ABSENT)
    values = np.full((len(relevance), k), -np.inf)
    for start in range(0, len(relevance), _MMR_BLOCK):
        block = slice(start, start + _MMR_BLOCK)
        rows = block if candidates is None else np.maximum(candidates[block], 0)
        order[block], values[block] = _picks(relevance[block], vectors[rows], lambda_, k)
    return order, values


def _picks(relevance, vectors, lambda_, k):
    """Pick candidates one by one, for a block of queries: columns and values [Q, k]."""
    n_queries, n_candidates = relevance.shape
    order = np.full((n_queries, k), ABSENT)
    values = np.full((n_queries, k), -np.inf)
    rows = np.arange(n_queries)
    norms = np.sqrt(np.einsum("qcd,qcd->qc", vectors, vectors))
    norms = np.where(norms > 0, norms, np.inf)
    redundancy = np.zeros((n_queries, n_candidates))
    gain = np.multiply(lambda_, relevance, out=relevance.copy(), where=relevance > -np.inf)
    for step in range(min(k, n_candidates)):
        marginal_gain = gain - (1 - lambda_) * redundancy
        # The most relevant one comes first, whatever lambda is.
        pick = (marginal_gain if step else relevance).argmax(axis=1)
        order[:, step] = np.where(gain[rows, pick] > -np.inf, pick, ABSENT)
        values[:, step] = marginal_gain[rows, pick]
        gain[rows, pick] = -np.inf
        direction = vectors[rows, pick] / norms[rows, pick, None]
        cosines = np.matmul(vectors, direction[:, :, None])[:, :, 0] / norms
        redundancy = np.maximum(redundancy, cosines) if step else cosines
    if np.isnan(redundancy).any():
        raise InputError("a candidate vector holds NaN: check the embeddings")
    return order, values
