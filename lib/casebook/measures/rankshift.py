"""How far a ranked list has moved: displacement, footrule, Kendall, overlap.

Two lists of at most K items each are compared, such as the cases found before and
after one fact of a query was changed. All functions take lists of ids, best first, each
id once; the ``_batch`` forms take integer arrays of many pairs of lists, in which
negative numbers fill the end of shorter lists. A value that does not exist is None, NaN
in arrays; `undefined_reason` says why.
"""

import numpy as np

from casebook.inference.samples import check_choice, check_count
from casebook.measures.rankshift_changes import (
    ABSENT,
    AFFECTED,
    RankChanges,
    rank_changes,
    undefined_reason,
)
from casebook.measures.rankshift_kendall import kendall_topk, kendall_topk_batch
from casebook.measures.rankshift_lists import (
    as_arrays,
    of_one_pair,
    ratio,
    top_matches,
    where_any,
)
from casebook.measures.rankshift_overlap import (
    average_overlap,
    average_overlap_batch,
    jaccard,
    jaccard_batch,
)
from casebook.measures.rankshift_rbo import rbo, rbo_batch, rbo_weight
from casebook.measures.rankshift_ties import rbo_ties, rbo_ties_batch

__all__ = [
    "RankChanges",
    "as_arrays",
    "average_overlap",
    "average_overlap_batch",
    "footrule",
    "footrule_batch",
    "jaccard",
    "jaccard_batch",
    "kendall_topk",
    "kendall_topk_batch",
    "mean_displacement",
    "mean_displacement_batch",
    "normalised_footrule",
    "normalised_footrule_batch",
    "rank_changes",
    "rbo",
    "rbo_batch",
    "rbo_ties",
    "rbo_ties_batch",
    "rbo_weight",
    "undefined_reason",
]


def mean_displacement(before, after, k=10, *, affected="union", absent="k+1"):
    """Mean rank displacement of the affected items.

    Parameters
    ----------
    before, after : sequence of hashable
        Ranked ids, best first, each once; items below rank k are ignored.
    k : int, default 10
        Length of the lists compared.
    affected : {"union", "moved", "before"}
        Average over the items of either list, unmoved ones included (as documented);
        over those that moved; or over the items of `before` alone.
    absent : {"k+1", "len_aware"}
        Rank of an item that a list lacks: k + 1 (as documented), or one below the end
        of that list. They differ only for lists shorter than k.

    Returns
    -------
    float or None
        In ranks, 0 to k. For two full lists at most 6.143 at k = 10, and 5.5 if they
        share nothing: the mean is not monotone in the change, `normalised_footrule`
        is. See `undefined_reason` for None.

    Raises
    ------
    InputError
        If a list holds an id twice, naming it, or an option is unknown.

    Notes
    -----
    The sum is the footrule with location parameter k + 1 of Fagin, Kumar & Sivakumar,
    SIAM Journal on Discrete Mathematics 17, 2003; the mean divides by a number of items
    that itself depends on the change. Short lists inflate it: replacing the last item
    moves it by 0.18 in lists of 10 and by 6 in lists of 2.
    """
    options = {"affected": affected, "absent": absent}
    return of_one_pair(mean_displacement_batch, before, after, k, **options)


def mean_displacement_batch(before, after, k=10, *, affected="union", absent="k+1"):
    """Mean rank displacement of many pairs of lists.

    Parameters
    ----------
    before, after : array_like of int, shape (Q, A) and (Q, B)
        Ids; negative numbers fill the end of shorter lists.
    k, affected, absent
        As in `mean_displacement`.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where `mean_displacement` gives None.
    """
    check_choice("affected", affected, AFFECTED)
    shifts = _shifts(before, after, k, absent)
    if affected == "before":
        counted = shifts[0] >= 0
        total, count = np.where(counted, shifts[0], 0).sum(axis=1), counted.sum(axis=1)
    else:
        shifts = np.hstack(shifts)
        counted = shifts > 0 if affected == "moved" else shifts >= 0
        total, count = np.where(counted, shifts, 0).sum(axis=1), counted.sum(axis=1)
    return ratio(total, count)


def _shifts(before, after, k, absent):
    """Displacement of the items of `before` and of the newcomers; -1 elsewhere."""
    check_count("k", k)
    check_choice("absent", absent, ABSENT)
    found = top_matches(before, after, k)
    sizes = found.size_before, found.size_after
    place = [
        np.full_like(n, k) + 1 if absent == "k+1" else n + 1
        for n in (sizes[1], sizes[0])
    ]
    rank = np.arange(1, max(int(n.max(initial=0)) for n in sizes) + 1)
    shifts = [
        np.where(rank <= n[:, None], np.abs(to[:, None] - rank), -1)
        for n, to in zip(sizes, place, strict=True)
    ]
    shifts[0][found.pair, found.before - 1] = np.abs(found.before - found.after)
    shifts[1][found.pair, found.after - 1] = -1
    return shifts


def footrule(before, after, k=10):
    """Spearman's footrule of two top-k lists, absent items at rank k + 1.

    Parameters
    ----------
    before, after, k
        As in `mean_displacement`.

    Returns
    -------
    float or None
        Sum of the displacements, 0 to k(k + 1); a metric on lists of k items. None if
        both lists are empty.

    References
    ----------
    Fagin, Kumar & Sivakumar, SIAM Journal on Discrete Mathematics 17, 2003: the
    footrule with location parameter k + 1.
    """
    return of_one_pair(footrule_batch, before, after, k)


def footrule_batch(before, after, k=10):
    """Spearman's footrule of many pairs of top-k lists.

    Parameters
    ----------
    before, after, k
        As in `mean_displacement_batch`.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where both lists are empty.
    """
    check_count("k", k)
    found = top_matches(before, after, k)
    # An item at rank r weighs k + 1 - r in each list; a common one only the difference.
    total = sum(
        n * (k + 1) - n * (n + 1) // 2 for n in (found.size_before, found.size_after)
    )
    saved = 2 * (k + 1 - np.maximum(found.before, found.after))
    total = total - np.bincount(found.pair, saved, minlength=len(total))
    return where_any(found, total)


def normalised_footrule(before, after, k=10):
    """Footrule of two top-k lists as a share of its maximum: the primary measure.

    Parameters
    ----------
    before, after, k
        As in `mean_displacement`.

    Returns
    -------
    float or None
        `footrule` over k(k + 1), in [0, 1]: 0 if nothing moved, 1 if two lists of k
        items share nothing. Lists shorter than k cannot reach 1. None if both are
        empty.
    """
    return of_one_pair(normalised_footrule_batch, before, after, k)


def normalised_footrule_batch(before, after, k=10):
    """Normalised footrule of many pairs of lists.

    Parameters
    ----------
    before, after, k
        As in `mean_displacement_batch`.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where both lists are empty.
    """
    return footrule_batch(before, after, k) / (k * (k + 1))
