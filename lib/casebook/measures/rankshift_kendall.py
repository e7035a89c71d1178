"""Kendall's distance of top-k lists."""

import numpy as np

from casebook.errors import InputError
from casebook.measures.rankshift_lists import of_one_pair, top_matches, where_any

BLOCK_ELEMENTS = 2**23


def kendall_topk(before, after, k=10, *, penalty=0.5, normalised=False):
    """Kendall's distance of two top-k lists.

    Parameters
    ----------
    before, after, k
        As in `casebook.measures.rankshift.mean_displacement`.
    penalty : float, default 0.5
        For a pair of items of which one list holds both and the other none, in [0, 1]:
        0 is optimistic, 1/2 neutral.
    normalised : bool, default False
        Divide by the distance of two lists of k items that share nothing.

    Returns
    -------
    float or None
        Number of disagreeing pairs of items, 0 to k^2 + penalty k(k - 1); or its share
        in [0, 1]. None if both lists are empty.

    Raises
    ------
    InputError
        If the penalty or `k` is not allowed, or a list repeats or lacks an id.

    References
    ----------
    Fagin, Kumar & Sivakumar, SIAM Journal on Discrete Mathematics 17, 2003: K^(p).
    """
    options = {"penalty": penalty, "normalised": normalised}
    return of_one_pair(kendall_topk_batch, before, after, k, **options)


def kendall_topk_batch(before, after, k=10, *, penalty=0.5, normalised=False):
    """Kendall's distance of many pairs of top-k lists.

    Parameters
    ----------
    before, after, k
        As in `casebook.measures.rankshift.mean_displacement_batch`.
    penalty, normalised
        As in `kendall_topk`.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where both lists are empty.

    Raises
    ------
    InputError
        As `kendall_topk`.
    """
    if not 0 <= penalty <= 1:
        raise InputError(f"penalty must lie between 0 and 1, not {penalty}")
    found = top_matches(before, after, k)
    lost, gained = found.size_before - found.count(), found.size_after - found.count()
    total = _inversions(found) + lost * gained
    total = total + _overtaken(found.before, found) + _overtaken(found.after, found)
    alone = lost * (lost - 1) / 2 + gained * (gained - 1) / 2
    total = total + penalty * alone
    if normalised:
        total = total / (k**2 + penalty * k * (k - 1))
    return where_any(found, total)


def _overtaken(rank, found):
    """Count pairs of an absent item ranked above a common one, list by list.

    The other list holds the common item only, so it has the pair the other way round.
    """
    order = np.lexsort((rank, found.pair))
    count = found.count()
    nth = np.arange(len(rank)) - np.repeat(count.cumsum() - count, count)
    above = rank[order] - 1 - nth  # ranks above, less the common items among them
    return np.bincount(found.pair, above, minlength=len(count))


def _inversions(found):
    """Count pairs of common items that the two lists order differently."""
    count = found.count()
    widest = int(count.max(initial=0))
    order = np.lexsort((found.before, found.pair))
    nth = np.arange(len(order)) - np.repeat(count.cumsum() - count, count)
    after = np.zeros((len(count), widest), dtype=np.int32)
    # Filled up in ascending order after all others: no inversion with the filling.
    after += np.arange(widest, dtype=np.int32) + found.after.max(initial=0) + 1
    after[found.pair, nth] = found.after[order]
    later = np.triu(np.ones((widest, widest), dtype=bool), 1)
    total = np.zeros(len(count), dtype=np.int64)
    rows = max(1, BLOCK_ELEMENTS // max(widest, 1) ** 2)
    for start in range(0, len(count), rows):
        part = after[start : start + rows]
        swapped = part[:, :, None] > part[:, None, :]
        total[start : start + rows] = np.count_nonzero(swapped & later, axis=(1, 2))
    return total
