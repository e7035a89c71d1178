"""Fusion of several ranked lists per query: by reciprocal rank or weighted score.

References
----------
.. [1] Cormack, Clarke and Buettcher (2009), Reciprocal rank fusion outperforms
   Condorcet and individual rank learning methods, SIGIR.
"""

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.rankings import ABSENT, RankedLists, stack
from casebook.stats.samples import check_choice

# Queries fused together, so that the working arrays stay in the processor's cache.
_BLOCK = 128
_DECIMALS = 9
NORMALISATIONS = ("min-max", "z", "sum", "none")


def reciprocal_rank_fusion(lists, k=20, depth=None, weights=None):
    """Fuse ranked lists by the sum of reciprocal ranks."""
    lists, weights = _checked(lists, weights)
    if not 0 <= k < np.inf:
        raise InputError(f"the rank constant of fusion must be at least 0, got {k}")
    if depth is not None:
        lists = [entry.truncate(depth) for entry in lists]
    gains = [
        weight[:, None] / (k + np.arange(1.0, entry.shape[1] + 1)) for entry, weight in zip(lists, weights, strict=True)
    ]
    return _sum_by_id(lists, [np.broadcast_to(g, e.shape) for g, e in zip(gains, lists, strict=True)])


def weighted_sum(lists, weights=None, normalisation="min-max"):
    """Fuse ranked lists by the weighted sum of their normalised scores."""
    lists, weights = _checked(lists, weights)
    check_choice("normalisation", normalisation, NORMALISATIONS)
    parts = [
        weight[:, None] * normalised_scores(entry, normalisation) for entry, weight in zip(lists, weights, strict=True)
    ]
    return _sum_by_id(lists, parts)


def standardised_sum(lists, weights=None, pool=50, depth=100):
    """Fuse ranked lists by the weighted sum of scores in standard deviations."""
    lists, weights = _checked(lists, weights)
    lists = [entry.truncate(depth) for entry in lists]
    ids = reciprocal_rank_fusion(lists, depth=pool).ids
    total, best = np.zeros(ids.shape), np.full(ids.shape, np.inf)
    for entry, weight in zip(lists, weights, strict=True):
        last = np.where(entry.ids >= 0, entry.scores, np.inf).min(1, initial=np.inf)
        short = entry.lengths < depth
        floor = np.where(short, np.minimum(last, 0.0), last)[:, None]
        own = entry.scores_of(ids)
        own = np.where(np.isnan(own), floor, own)
        held = RankedLists(ids, np.where(ids >= 0, own, -np.inf))
        total += weight[:, None] * normalised_scores(held, "z")
        best = np.fmin(best, entry.ranks_of(ids))
    # Sums over more or less padding differ in their last bits.
    total = np.where(ids >= 0, np.round(total, _DECIMALS), -np.inf)
    order = np.lexsort((ids, best, -total), axis=1)
    return RankedLists(np.take_along_axis(ids, order, axis=1), np.take_along_axis(total, order, axis=1))


def normalised_scores(lists, normalisation):
    """Bring the scores of each list to a common scale, over its own entries."""
    filled = lists.ids >= 0
    scores = np.where(filled, lists.scores, 0.0)
    if normalisation == "none" or lists.ids.size == 0:
        return scores
    count = np.maximum(lists.lengths, 1)[:, None]
    if normalisation == "z":
        centred = np.where(filled, scores - scores.sum(1, keepdims=True) / count, 0.0)
        spread = np.sqrt((centred**2).sum(1, keepdims=True) / count)
        return centred / np.where(spread > 0, spread, 1.0)
    scaled = min_max(scores, filled)
    if normalisation == "min-max":
        return scaled
    total = scaled.sum(axis=1, keepdims=True)
    return scaled / np.where(total > 0, total, 1.0)


def min_max(scores, filled):
    """Scale each row to [0, 1] over the entries that count."""
    low = np.where(filled, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    shifted = np.subtract(scores, low, out=np.zeros(scores.shape), where=filled)
    span = shifted.max(axis=1, keepdims=True, initial=0.0)
    flat = np.where(filled, 1.0, 0.0)
    return np.where(span > 0, shifted / np.where(span > 0, span, 1.0), flat)


def _checked(lists, weights):
    """Check that lists and weights fit together."""
    lists = list(lists)
    if not lists:
        raise InputError("fusion needs at least one ranked list")
    if len({entry.shape[0] for entry in lists}) > 1:
        sizes = ", ".join(str(entry.shape[0]) for entry in lists)
        raise InputError(f"fused lists must have the same queries, got {sizes}")
    weights = np.ones(len(lists)) if weights is None else np.asarray(weights, float)
    shapes = (len(lists),), (len(lists), lists[0].shape[0])
    valid = weights.shape in shapes and np.isfinite(weights).all()
    if not valid or (weights < 0).any() or (weights.size and not weights.any()):
        raise InputError(
            f"fusion of {len(lists)} lists needs as many weights, at least 0 and not all 0, got {weights.tolist()}"
        )
    return lists, weights.reshape(len(lists), -1)


def _sum_by_id(lists, parts):
    """Add up the parts of each document of each query and rank the sums."""
    ranks = np.concatenate([np.arange(entry.shape[1]) for entry in lists])
    # Parts of a document are added best rank first, so that the same ranks in other
    # lists give the same sum to the last bit, and a tie stays a tie.
    columns = np.argsort(ranks, kind="stable")
    ids = np.concatenate([entry.ids for entry in lists], axis=1)[:, columns]
    values = np.concatenate(parts, axis=1)[:, columns]
    if ids.size == 0:
        return RankedLists(ids, np.full(ids.shape, -np.inf))
    fused = [
        _fused(ids[at : at + _BLOCK], values[at : at + _BLOCK], ranks[columns]) for at in range(0, len(ids), _BLOCK)
    ]
    return stack(fused, max(part.shape[1] for part in fused))


def _fused(ids, values, ranks):
    """Fuse one block of queries: group by id, add, sort."""
    bits = ids.shape[1].bit_length()
    # Sorting id and column as one integer is a stable sort by id, and a fast one.
    keys = np.sort((ids << bits) | np.arange(ids.shape[1]), axis=1)
    by_id = keys & ((1 << bits) - 1)
    ids = keys >> bits
    first = np.ones(ids.shape, dtype=bool)
    first[:, 1:] = ids[:, 1:] != ids[:, :-1]
    starts = np.flatnonzero(first)
    values = np.take_along_axis(values, by_id, axis=1).ravel()
    totals = np.full(ids.shape, -np.inf)
    totals.ravel()[starts] = np.add.reduceat(values, starts)
    totals[ids < 0] = -np.inf
    order = _order(totals, ranks[by_id], bits)
    totals = np.take_along_axis(totals, order, axis=1)
    ids = np.take_along_axis(ids, order, axis=1)
    return RankedLists(np.where(totals > -np.inf, ids, ABSENT), totals)


def _order(totals, best, bits):
    """Order rows by total descending, then best rank, then column (here: the id)."""
    by_total = np.argsort(-totals, axis=1)
    ordered = np.take_along_axis(totals, by_total, axis=1)
    place = np.zeros(totals.shape, dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=place[:, 1:])
    keys = np.empty_like(place)
    np.put_along_axis(keys, by_total, place, axis=1)
    keys = (((keys << bits) | best) << bits) | np.arange(totals.shape[1])
    keys.sort(axis=1)
    filled = int((ordered > -np.inf).sum(axis=1).max())
    return keys[:, : max(1, filled)] & ((1 << bits) - 1)
