"""How far a ranked list has moved, and how far rankings of a few items agree.

Lists of ids, such as the cases found before and after one fact of a query was changed: best first,
each once. A value that does not exist is None. Definitions: Fagin, Kumar and Sivakumar 2003 (top-k
lists), Webber, Moffat and Zobel 2010 (rank-biased overlap), Kendall and Gibbons 1990 (rank
correlation).
"""

import itertools
from collections import Counter
from functools import reduce

import numpy as np
from scipy import signal, stats

from casebook.errors import InputError
from casebook.stats.samples import check_count, check_share

MOST_PERMUTED_ITEMS = 7  # of an exact null: 5,040 orders
CORRELATION_STEPS = 1000  # from 0 to 1; of 4 items without ties it has multiples of .2


def mean_displacement(before, after, k=10):
    """Mean rank displacement of the items of two lists.

    Parameters
    ----------
    before, after : sequence of hashable
        Ranked ids, best first, each once; items below rank k are ignored.
    k : int, default 10
        Length of the lists compared. An item that a list lacks has rank k + 1.

    Returns
    -------
    float or None
        In ranks, 0 to k. For two full lists at most 6.143 at k = 10, and 5.5 if they
        share nothing: the mean is not monotone in the change, `normalised_footrule`
        is. None if both lists are empty.

    Raises
    ------
    InputError
        If a list holds an id twice, naming it.

    Notes
    -----
    The sum is the footrule with location parameter k + 1 of Fagin et al. (2003); the mean divides
    by a number of items that itself depends on the change. Short lists inflate it: with k = 10,
    replacing the last item moves it by 0.18 in lists of 10 and by 6 in lists of 2.

    Examples
    --------
    >>> mean_displacement(["a", "b", "c", "d"], ["a", "b", "c", "e"], 4)
    0.4
    >>> mean_displacement(["a", "b", "c"], ["a", "c", "b"], 3)
    0.6666666666666666
    """
    moves = displacements(before, after, k).values()
    return sum(moves) / len(moves) if moves else None


def normalised_footrule(before, after, k=10):
    """Footrule of two top-k lists as a share of its maximum.

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

    Raises
    ------
    InputError
        As `mean_displacement`.

    Examples
    --------
    >>> normalised_footrule(["a", "b", "c", "d"], ["a", "b", "c", "e"], 4)
    0.1
    """
    total = footrule(before, after, k)
    return None if total is None else total / (k * (k + 1))


def footrule(before, after, k=10):
    """Spearman's footrule of two top-k lists, absent items at rank k + 1."""
    moves = displacements(before, after, k).values()
    return sum(moves) if moves else None


def displacements(before, after, k=10):
    """How far every item of two lists moved."""
    check_count("k", k)
    old = _ranks(before, "before", k)
    new = _ranks(after, "after", k)
    absent = k + 1
    return {
        item: abs(old.get(item, absent) - new.get(item, absent)) for item in old | new
    }


def rbo(before, after, p=0.9):
    """Rank-biased overlap of two ranked lists, extrapolated (Webber et al. 2010, equation 32).

    Parameters
    ----------
    before, after : sequence of hashable
        Ids, best first, each once. Lengths may differ.
    p : float, default 0.9
        Persistence in (0, 1): of 0.9 the first ten ranks weigh 86 %.

    Returns
    -------
    float or None
        In [0, 1]. None if both lists are empty; 0 if one is.

    Raises
    ------
    InputError
        If a list holds an id twice or p lies outside (0, 1).

    Examples
    --------
    >>> rbo(["a", "b", "c", "d"], ["a", "b", "c", "e"], 0.5)
    0.96875
    """
    check_share("p", p)
    before = _distinct(before, "before")
    after = _distinct(after, "after")
    short, long = sorted([len(before), len(after)])
    if not long:
        return None
    entered = np.zeros(long)
    for item in set(before).intersection(after):
        depth = max(before.index(item), after.index(item))
        entered[depth] += 1
    # Common items among the first 1, 2, ... of both lists.
    overlap = np.cumsum(entered)
    # Below its end the shorter list is taken to go on as it was at its end.
    at_end = overlap[short - 1] / short if short else 0.0
    d = np.arange(1.0, long + 1)
    common = overlap + np.clip(d - short, 0, None) * at_end
    seen = (1 - p) / p * np.sum(p**d / d * common)
    unseen = p**long * common[-1] / long
    return float(seen + unseen)


def _ranks(items, side, k):
    """Ranks of the first k items of a list."""
    return {item: rank for rank, item in enumerate(_distinct(items, side)[:k], 1)}


def _distinct(items, side):
    items = list(items)
    for item, count in Counter(items).most_common(1):
        if count > 1:
            raise InputError(
                f"list {side}: {item!r} is there {count} times; ids are distinct"
            )
    return items


# Spearman's correlation of a few items, with ties, and its exact null.


def spearman(x, y):
    """Pearson's correlation of mid-ranks (Kendall and Gibbons 1990); None without variation."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(stats.spearmanr(x, y).statistic)


def spearman_null(x, y):
    """Exact share of each correlation, from -1 to 1 in thousandths, over all orders of one side."""
    if len(x) > MOST_PERMUTED_ITEMS:
        raise InputError(f"an exact null takes at most {MOST_PERMUTED_ITEMS} items")
    orders = stats.zscore(list(itertools.permutations(stats.rankdata(y))), axis=1)
    correlations = orders @ stats.zscore(stats.rankdata(x)) / len(x)
    steps = np.rint(CORRELATION_STEPS * (1 + correlations)).astype(int)
    return np.bincount(steps, minlength=2 * CORRELATION_STEPS + 1) / len(orders)


def mean_spearman_test(pairs):
    """Exact test of the mean correlation over cases."""
    values = [spearman(x, y) for x, y in pairs]
    nulls = []
    observed = 0
    for pair, value in zip(pairs, values, strict=True):
        if value is not None:
            nulls.append(spearman_null(*pair))
            observed += round(CORRELATION_STEPS * value)
    p = None
    if nulls:
        # The sum of independent cases, around its middle.
        null = reduce(signal.fftconvolve, nulls)
        sums = np.arange(len(null)) - len(null) // 2
        as_extreme = null[np.abs(sums) >= abs(observed)]
        p = min(1.0, float(as_extreme.sum()))
    return {"values": values, "undefined": values.count(None), "p": p}
