"""Fusion of several ranked lists per query, and maximal marginal relevance.

Cormack, Clarke and Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and individual rank learning methods,
SIGIR. Carbonell and Goldstein (1998), The use of MMR, diversity-based reranking, SIGIR.
"""

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.ranked import ABSENT, RankedLists, best_first, positive_depth, stack

_DECIMALS = 9  # sums over more or less padding differ in their last bits
_FUSED_TOGETHER, _PICKED_TOGETHER = (
    256,
    16,
)  # queries whose lists or vectors stay in the processor's cache


def reciprocal_rank_fusion(lists, k=20, depth=None, weights=None):
    """Fuse ranked lists by the weighted sum of ``1 / (k + rank)``.

    Parameters
    ----------
    lists : sequence of RankedLists, each [Q, K]
        Lists of the same queries by several retrievers, best first.
    k : float, default 20
        Rank constant, at least 0; 60 in the source.
    depth : int, optional
        Entries of each list that count; all by default.
    weights : array_like, [lists] or [lists, Q], optional
        At least 0, not all 0; ones by default.

    Returns
    -------
    RankedLists
        Every document of any list. Scores lie above 0, up to the sum of the weights over ``k + 1``. Ties go to the
        better best rank, then to the lower position.

    Raises
    ------
    InputError
        If there is no list, the lists have different queries, or a constant or weight is out of range.

    References
    ----------
    Cormack, Clarke and Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods, SIGIR.

    Examples
    --------
    >>> from casebook.retrieval.ranked import RankedLists
    >>> fused = reciprocal_rank_fusion([RankedLists([[0, 1]], [[3, 2]]), RankedLists([[1]], [[9]])])
    >>> fused.ids.tolist(), fused.scores.round(4).tolist()
    ([[1, 0]], [[0.0931, 0.0476]])
    """
    lists, weights = _checked(lists, weights)
    if not 0 <= k < np.inf:
        raise InputError(f"the rank constant of fusion must be at least 0, got {k}")
    if depth is not None:
        lists = [entry.truncate(depth) for entry in lists]
    return _sum_by_id(
        lists,
        [
            np.broadcast_to(weight[:, None] / (k + np.arange(1.0, entry.shape[1] + 1)), entry.shape)
            for entry, weight in zip(lists, weights, strict=True)
        ],
    )


def weighted_sum(lists, weights=None):
    """Fuse ranked lists by the weighted sum of their scores, each list's scaled to [0, 1]."""
    lists, weights = _checked(lists, weights)
    pairs = zip(lists, weights, strict=True)
    return _sum_by_id(
        lists, [weight[:, None] * min_max(entry.scores, entry.ids >= 0) for entry, weight in pairs]
    )


def standardised_sum(lists, weights=None, pool=50, depth=100):
    """Fuse by the weighted sum of z-scores over all documents that any list has among its first `pool`.

    A document that a list lacks gets the list's lowest score, or 0 if that is lower and the list is not full.
    """
    lists, weights = _checked(lists, weights)
    lists = [entry.truncate(depth) for entry in lists]
    ids = reciprocal_rank_fusion(lists, depth=pool).ids
    total, best = np.zeros(ids.shape), np.full(ids.shape, np.inf)
    for entry, weight in zip(lists, weights, strict=True):
        last = np.where(entry.ids >= 0, entry.scores, np.inf).min(1, initial=np.inf)
        floor = np.where(entry.lengths < depth, np.minimum(last, 0.0), last)[:, None]
        own = entry.scores_of(ids)
        own = np.where(np.isnan(own), floor, own)
        total += weight[:, None] * z_scores(RankedLists(ids, np.where(ids >= 0, own, -np.inf)))
        best = np.fmin(best, entry.ranks_of(ids))
    total = np.where(ids >= 0, np.round(total, _DECIMALS), -np.inf)
    return best_first(ids, total, best)


def z_scores(lists):
    """Bring the scores of each list to mean 0 and deviation 1 over its own entries; 0 in the padding."""
    filled, count = lists.ids >= 0, np.maximum(lists.lengths, 1)[:, None]
    scores = np.where(filled, lists.scores, 0.0)
    centred = np.where(filled, scores - scores.sum(1, keepdims=True) / count, 0.0)
    spread = np.sqrt((centred**2).sum(1, keepdims=True) / count)
    return centred / np.where(spread > 0, spread, 1.0)


def min_max(scores, filled):
    """Scale each row to [0, 1] over the entries that count; equal scores become 1."""
    low = np.where(filled, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    shifted = np.subtract(scores, low, out=np.zeros(np.shape(scores)), where=filled)
    span = shifted.max(axis=1, keepdims=True, initial=0.0)
    return np.where(span > 0, shifted / np.where(span > 0, span, 1.0), np.where(filled, 1.0, 0.0))


def _checked(lists, weights):
    lists = list(lists)
    if len({entry.shape[0] for entry in lists}) != 1:
        raise InputError("fusion needs at least one ranked list, and all of the same queries")
    weights = np.ones(len(lists)) if weights is None else np.asarray(weights, float)
    fits = weights.shape in ((len(lists),), (len(lists), lists[0].shape[0]))
    if (
        not fits
        or not (np.isfinite(weights) & (weights >= 0)).all()
        or (weights.size and not weights.any())
    ):
        raise InputError(
            f"fusion of {len(lists)} lists needs as many weights, at least 0 and not all 0"
        )
    return lists, weights.reshape(len(lists), -1)


def _sum_by_id(lists, parts):
    """Add up the parts of each document of each query and rank the sums: best first, then by best rank, then by id."""
    ranks = np.concatenate([np.arange(entry.shape[1]) for entry in lists])
    # Parts of a document are added best rank first, so that the same ranks in other lists give the same sum to the last
    # bit, and a tie stays a tie.
    columns = np.argsort(ranks, kind="stable")
    ids = np.concatenate([entry.ids for entry in lists], axis=1)[:, columns]
    values = np.concatenate(parts, axis=1)[:, columns]
    blocks = [
        slice(start, start + _FUSED_TOGETHER) for start in range(0, len(ids), _FUSED_TOGETHER)
    ]
    return stack(
        [_ranked_sums(ids[block], values[block], ranks[columns]) for block in blocks or [slice(0)]]
    )


def _ranked_sums(ids, values, ranks):
    rows, places = np.nonzero(ids >= 0)
    if not rows.size:
        return RankedLists.empty(len(ids))
    # One number for query, document and place, whose order is that of all three.
    documents, width = ids.max() + 1, ids.shape[1]
    keys, places = np.divmod(
        np.sort((rows * documents + ids[rows, places]) * width + places), width
    )
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    totals = np.add.reduceat(values[keys // documents, places], starts)
    rows, ids = np.divmod(keys[starts], documents)
    order = np.lexsort(
        (ranks[places[starts]], -totals, rows)
    )  # stable: equal ones stay in the order of their ids
    return RankedLists.of(rows[order], ids[order], totals[order], len(values))


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
        ``lambda_ * relevance - (1 - lambda_) * redundancy`` when picked, -inf where none is left. Values of
        different picks are not comparable; the first one has ``lambda_`` times its relevance.

    Raises
    ------
    InputError
        If shapes do not fit, a number is NaN, or `lambda_` or `k` is out of range.

    References
    ----------
    Carbonell and Goldstein (1998), The use of MMR, diversity-based reranking for reordering documents and producing
    summaries, SIGIR.

    Examples
    --------
    >>> copies = [[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]
    >>> maximal_marginal_relevance([[1.0, 0.9, 0.5]], copies, k=2)[0].tolist()
    [[0, 2]]
    """
    relevance, vectors, k = np.asarray(relevance, float), np.asarray(vectors), positive_depth(k)
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
    valid = relevance > -np.inf
    valid = valid if candidates is None else valid & (candidates >= 0)
    relevance = np.where(
        valid, min_max(relevance, valid) if scale_relevance else relevance, -np.inf
    )
    order, values = np.full((len(relevance), k), ABSENT), np.full((len(relevance), k), -np.inf)
    for start in range(0, len(relevance), _PICKED_TOGETHER):
        block = slice(start, start + _PICKED_TOGETHER)
        chosen = vectors[block] if candidates is None else vectors[np.maximum(candidates[block], 0)]
        order[block], values[block] = _picked(relevance[block], chosen, lambda_, k)
    return order, values


def _picked(relevance, vectors, lambda_, k):
    """Run the greedy selection for one block of queries."""
    queries, pool = relevance.shape
    order, values = np.full((queries, k), ABSENT), np.full((queries, k), -np.inf)
    rows, norms = np.arange(queries), np.sqrt(np.einsum("qcd,qcd->qc", vectors, vectors))
    norms = np.where(norms > 0, norms, np.inf)
    gain = lambda_ * relevance if lambda_ else np.where(relevance > -np.inf, 0.0, -np.inf)
    redundancy = np.full((queries, pool), -np.inf)
    choice, value = relevance, gain  # the first pick is the most relevant one, whatever lambda is
    for step in range(min(k, pool)):
        pick = choice.argmax(axis=1)
        order[:, step] = np.where(gain[rows, pick] > -np.inf, pick, ABSENT)
        values[:, step] = value[rows, pick]
        gain[rows, pick] = -np.inf
        picked = vectors[rows, pick] / norms[rows, pick, None]
        np.maximum(
            redundancy, np.matmul(vectors, picked[:, :, None])[:, :, 0] / norms, out=redundancy
        )
        choice = value = gain - (1 - lambda_) * redundancy
    if np.isnan(redundancy).any():
        raise InputError("a candidate vector holds NaN: check the embeddings")
    return order, values
