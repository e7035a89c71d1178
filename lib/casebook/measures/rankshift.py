"""How far a ranked list has moved, and how far rankings of a few items agree.

Lists of ids, such as the cases found before and after one fact of a query was changed: best first,
each once. A value that does not exist is None. Definitions: Fagin, Kumar and Sivakumar 2003 (top-k
lists), Webber, Moffat and Zobel 2010 (rank-biased overlap), Kendall and Gibbons 1990 (rank
correlation).
"""

import itertools
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import optimize, special, stats

from casebook.errors import InputError
from casebook.stats.samples import check_count, check_share

MOST_PERMUTED_ITEMS = 7
"""Items of an exact null: 5,040 orders."""

CORRELATION_STEPS = 1000
"""Steps of the tested correlation from 0 to 1; of 4 items without ties it has multiples of .2."""


@dataclass(frozen=True)
class RankChanges:
    """What became of every item of two ranked lists."""

    displacement: dict
    dropped: tuple
    new: tuple
    stable: tuple


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
    moves = rank_changes(before, after, k).displacement.values()
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
    moves = rank_changes(before, after, k).displacement.values()
    return sum(moves) if moves else None


def rank_changes(before, after, k=10):
    """How far every item of two lists moved."""
    ranks_before = _ranks(before, "before", k)
    ranks_after = _ranks(after, "after", k)
    displacement = {}
    for item in ranks_before | ranks_after:
        displacement[item] = abs(ranks_before.get(item, k + 1) - ranks_after.get(item, k + 1))
    return RankChanges(
        displacement=displacement,
        dropped=tuple(item for item in ranks_before if item not in ranks_after),
        new=tuple(item for item in ranks_after if item not in ranks_before),
        stable=tuple(item for item in ranks_before if item in ranks_after),
    )


def jaccard(before, after, k=10):
    """Common items over all items of two top-k lists; None if both are empty."""
    changes = rank_changes(before, after, k)
    every = len(changes.displacement)
    return len(changes.stable) / every if every else None


def kendall_topk(before, after, k=10, *, penalty=0.5, normalised=False):
    """Kendall's distance of two top-k lists: K^(p) of Fagin, Kumar & Sivakumar 2003."""
    ranks_before = _ranks(before, "before", k)
    ranks_after = _ranks(after, "after", k)
    if not (ranks_before or ranks_after):
        return None
    items = ranks_before | ranks_after
    # Wherever an absent item stands, it is below all that are present.
    before = np.array([ranks_before.get(item, k + 1) for item in items])
    after = np.array([ranks_after.get(item, k + 1) for item in items])
    orders = np.subtract.outer(before, before) * np.subtract.outer(after, after)
    tied = np.sum(orders == 0) - len(items)  # no item is a pair with itself
    total = float(np.sum(orders < 0) + penalty * tied) / 2
    if normalised:
        return total / (k**2 + penalty * k * (k - 1))
    return total


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
    ranks_before = _ranks(before, "before")
    ranks_after = _ranks(after, "after")
    short, long = sorted([len(ranks_before), len(ranks_after)])
    if not long:
        return None
    entered = np.zeros(long)
    for item in ranks_before.keys() & ranks_after.keys():
        entered[max(ranks_before[item], ranks_after[item]) - 1] += 1
    overlap = np.cumsum(entered)  # common items among the first 1, 2, ... of both lists
    # Below its end the shorter list is taken to go on as it was at its end.
    at_end = overlap[short - 1] / short if short else 0.0
    d = np.arange(1.0, long + 1)
    common = overlap + np.clip(d - short, 0, None) * at_end
    return float((1 - p) / p * np.sum(p**d / d * common) + p**long * common[-1] / long)


def _ranks(items, side, k=None):
    """Ranks of the first k ids, from 1; refuses a list that repeats or lacks an id."""
    if k is not None:
        check_count("k", k)
    ranks = {}
    for rank, item in enumerate(items, start=1):
        if item is None or item != item:
            raise InputError(f"list {side}: no id at rank {rank}")
        if item in ranks:
            raise InputError(
                f"list {side}: {item!r} stands at ranks {ranks[item]} and {rank}; keep the first"
            )
        ranks[item] = rank
    return ranks if k is None else dict(itertools.islice(ranks.items(), k))


# Spearman's correlation of a few items, with ties, and its exact null.


def spearman(x, y):
    """Pearson's correlation of mid-ranks (Kendall and Gibbons 1990); None without variation."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(stats.spearmanr(x, y).statistic)


def spearman_null(x, y):
    """Exact distribution of the correlation, in thousandths, over all orders of one side."""
    if len(x) > MOST_PERMUTED_ITEMS:
        raise InputError(f"an exact null takes at most {MOST_PERMUTED_ITEMS} items")
    if spearman(x, y) is None:
        return {}
    orders = stats.zscore(list(itertools.permutations(stats.rankdata(y))), axis=1)
    correlations = orders @ stats.zscore(stats.rankdata(x)) / len(x)
    steps = np.rint(CORRELATION_STEPS * correlations).astype(int)
    values, counts = np.unique(steps, return_counts=True)
    return dict(zip(values.tolist(), (counts / len(orders)).tolist(), strict=True))


def mean_null(nulls):
    """Distribution of the sum of independent cases, from the null of each."""
    return reduce(_add, nulls, np.ones(1))


def mean_spearman_test(pairs):
    """Exact test of the mean correlation over cases."""
    values = [spearman(x, y) for x, y in pairs]
    defined = [value for value in values if value is not None]
    test = {"values": values, "defined": len(defined), "undefined": len(values) - len(defined)}
    if not defined:
        return test | {"mean": None, "p": None}
    null = mean_null(filter(None, (spearman_null(x, y) for x, y in pairs)))
    sums = np.arange(len(null)) - CORRELATION_STEPS * len(defined)
    observed = abs(sum(round(CORRELATION_STEPS * value) for value in defined))
    p = float(null[np.abs(sums) >= observed].sum())
    return test | {"mean": float(np.mean(defined)), "p": min(1.0, p)}


def tilted(n_items, mean):
    """A distribution over orders of untied items with a chosen mean correlation."""
    null = spearman_null(range(n_items), range(n_items))
    values = np.array(list(null)) / CORRELATION_STEPS
    shares = np.log(list(null.values()))

    def excess(theta):
        return special.softmax(shares + theta * values) @ values - mean

    weights = special.softmax(shares + optimize.brentq(excess, -60, 60) * values)
    return dict(zip(null, weights.tolist(), strict=True))


def cases_needed(true, null=0.0, *, n_items=4):
    """Cases with which the mean correlation is shown to exceed a value, at .05 with power .8."""
    of_one_case = tilted(n_items, null)
    of_one_true_case = tilted(n_items, true)
    sum_under_null = np.ones(1)
    sum_under_truth = np.ones(1)
    in_a_row = 0  # numbers of cases that reach the power
    for count in range(1, 400 + 11):  # at most 400 cases, and the ten that follow, see below
        sum_under_null = _add(sum_under_null, of_one_case)
        sum_under_truth = _add(sum_under_truth, of_one_true_case)
        tail = np.cumsum(sum_under_null[::-1])
        critical = int(np.searchsorted(tail, 0.05 * (1 + 1e-9), side="right"))
        # The exact test is discrete: its power is not monotone in the number of cases.
        is_reached = sum_under_truth[::-1][:critical].sum() >= 0.8
        in_a_row = in_a_row + 1 if is_reached else 0
        if in_a_row == 11:
            return count - 10
    return None


def _add(total, null):
    """One more case, convolved into the distribution of a sum."""
    wider = np.zeros(len(total) + 2 * CORRELATION_STEPS)
    for value, share in null.items():
        start = value + CORRELATION_STEPS
        wider[start : start + len(total)] += share * total
    return wider
