"""How far a ranked list has moved, and how far rankings of a few items agree.

Lists of ids, such as the cases found before and after one fact of a query was changed: best first,
each once. A value that does not exist is None; `undefined_reason` says why. Definitions: Fagin,
Kumar and Sivakumar 2003 (top-k lists), Webber, Moffat and Zobel 2010 (rank-biased overlap), Kendall
and Gibbons 1990 (rank correlation).
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from casebook.errors import InputError
from casebook.stats.samples import check_choice, check_count, check_share

AFFECTED_ITEMS = ("union", "moved", "before")
ABSENT_RANKS = ("k+1", "len_aware")
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
    n_before: int
    n_after: int


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
    check_choice("affected", affected, AFFECTED_ITEMS)
    changes = rank_changes(before, after, k, absent=absent)
    moves = list(changes.displacement.values())
    if affected == "before":
        moves = moves[: changes.n_before]
    elif affected == "moved":
        moves = [move for move in moves if move]
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


def rank_changes(before, after, k=10, *, absent="k+1"):
    """Say of every item of two lists how far it moved; as `mean_displacement`."""
    check_choice("absent", absent, ABSENT_RANKS)
    ranks_before = _ranks(before, "before", k)
    ranks_after = _ranks(after, "after", k)
    absent_before = k + 1
    absent_after = k + 1
    if absent == "len_aware":
        absent_before = len(ranks_before) + 1
        absent_after = len(ranks_after) + 1
    displacement = {}
    for item in ranks_before | ranks_after:
        rank_before = ranks_before.get(item, absent_before)
        rank_after = ranks_after.get(item, absent_after)
        displacement[item] = abs(rank_before - rank_after)
    return RankChanges(
        displacement=displacement,
        dropped=tuple(item for item in ranks_before if item not in ranks_after),
        new=tuple(item for item in ranks_after if item not in ranks_before),
        stable=tuple(item for item in ranks_before if item in ranks_after),
        n_before=len(ranks_before),
        n_after=len(ranks_after),
    )


def undefined_reason(before, after, k=10, *, affected="union", absent="k+1"):
    """Say why a value is None; the other measures are as ``affected="union"``."""
    check_choice("affected", affected, AFFECTED_ITEMS)
    changes = rank_changes(before, after, k, absent=absent)
    if not changes.displacement:
        return "both_lists_empty"
    if affected == "before" and not changes.n_before:
        return "first_list_empty"
    if affected == "moved" and not any(changes.displacement.values()):
        return "nothing_moved"
    return None


def jaccard(before, after, k=10):
    """Common items over all items of two top-k lists; None if both are empty."""
    changes = rank_changes(before, after, k)
    every = len(changes.displacement)
    return len(changes.stable) / every if every else None


def average_overlap(before, after, k=10):
    """Mean over d = 1 to k of the share of common items among the first d."""
    ranks_before = _ranks(before, "before", k)
    ranks_after = _ranks(after, "after", k)
    if not (ranks_before or ranks_after):
        return None
    overlaps = _overlaps(ranks_before, ranks_after, k)
    return sum(overlap / depth for depth, overlap in enumerate(overlaps, start=1)) / k


def kendall_topk(before, after, k=10, *, penalty=0.5, normalised=False):
    """Kendall's distance of two top-k lists: K^(p) of Fagin, Kumar & Sivakumar 2003."""
    ranks_before = _ranks(before, "before", k)
    ranks_after = _ranks(after, "after", k)
    if not (ranks_before or ranks_after):
        return None
    below = k + 1  # wherever an absent item stands, it is below all that are present
    total = 0.0
    for x, y in itertools.combinations(ranks_before | ranks_after, 2):
        order_before = ranks_before.get(x, below) - ranks_before.get(y, below)
        order_after = ranks_after.get(x, below) - ranks_after.get(y, below)
        orders = order_before * order_after
        if orders < 0:
            total += 1
        elif orders == 0:
            total += penalty
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
        Persistence in (0, 1): the first d ranks weigh `rbo_weight` of p and d.

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
    overlap = np.array(_overlaps(ranks_before, ranks_after, long), float)
    # Below its end the shorter list is taken to go on as it was at its end.
    at_end = overlap[short - 1] / short if short else 0.0
    d = np.arange(1.0, long + 1)
    common = overlap + np.clip(d - short, 0, None) * at_end
    return float((1 - p) / p * np.sum(p**d / d * common) + p**long * common[-1] / long)


def rbo_weight(p, depth):
    """Share of rank-biased overlap that the first `depth` ranks decide."""
    tail = -math.log1p(-p) - sum(p**i / i for i in range(1, depth))  # of p**i / i from `depth` on
    return 1 - p ** (depth - 1) + (1 - p) / p * depth * tail


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


def _overlaps(ranks_before, ranks_after, depth):
    """Numbers of common items among the first d of both lists, d = 1 to `depth`."""
    entered = [0] * depth
    for item in ranks_before.keys() & ranks_after.keys():
        entered[max(ranks_before[item], ranks_after[item]) - 1] += 1
    return list(itertools.accumulate(entered))


# Spearman's correlation of a few items, with ties, and its exact null.


def spearman(x, y):
    """Pearson's correlation of mid-ranks (Kendall and Gibbons 1990); None without variation."""
    from scipy.stats import spearmanr  # slow to import

    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(spearmanr(x, y).statistic)


def spearman_null(x, y):
    """Exact distribution of the correlation, in thousandths, over all orders of one side."""
    from scipy.stats import rankdata

    if len(x) > MOST_PERMUTED_ITEMS:
        raise InputError(f"an exact null takes at most {MOST_PERMUTED_ITEMS} items")
    if spearman(x, y) is None:
        return {}
    return dict(_permuted(tuple(rankdata(x).tolist()), tuple(rankdata(y).tolist())))


@lru_cache(maxsize=512)
def _permuted(x_ranks, y_ranks):
    """Correlations, in thousandths, with all orders of the second ranks, and their shares."""
    orders = np.array(list(itertools.permutations(y_ranks)))
    x_centred = np.array(x_ranks) - np.mean(x_ranks)
    y_centred = orders - np.mean(y_ranks)
    scale = math.sqrt((x_centred @ x_centred) * (y_centred[0] @ y_centred[0]))
    correlations = np.rint(CORRELATION_STEPS * (y_centred @ x_centred) / scale).astype(int)
    values, counts = np.unique(correlations, return_counts=True)
    shares = counts / len(orders)
    return tuple(zip(values.tolist(), shares.tolist(), strict=True))


def mean_null(nulls):
    """Convolve the nulls of independent cases into that of their sum."""
    return reduce(_add, nulls, np.ones(1))


def mean_spearman_test(pairs):
    """Test the mean correlation over cases exactly."""
    values = []
    defined = []
    nulls = []
    for x, y in pairs:
        value = spearman(x, y)
        values.append(value)
        if value is not None:
            defined.append(value)
            nulls.append(spearman_null(x, y))
    test = {"values": values, "defined": len(defined), "undefined": len(values) - len(defined)}
    if not defined:
        return test | {"mean": None, "p": None}
    null = mean_null(nulls)
    sums = np.arange(len(null)) - CORRELATION_STEPS * len(defined)
    observed = abs(sum(round(CORRELATION_STEPS * value) for value in defined))
    p = float(null[np.abs(sums) >= observed].sum())
    return test | {"mean": float(np.mean(defined)), "p": min(1.0, p)}


def tilted(n_items, mean):
    """Give a distribution over orders of untied items with a chosen mean correlation."""
    from scipy import optimize

    null = spearman_null(range(n_items), range(n_items))
    values = np.array(list(null)) / CORRELATION_STEPS
    shares = np.array(list(null.values()))

    def weights(theta):
        raised = shares * np.exp(theta * values - abs(theta))
        return raised / raised.sum()

    def excess(theta):
        return weights(theta) @ values - mean

    theta = optimize.brentq(excess, -60, 60)
    return dict(zip(null, weights(theta).tolist(), strict=True))


def cases_needed(true, null=0.0, *, n_items=4):
    """Cases with which the mean correlation is shown to exceed a value, at .05 with power .8."""
    of_one_case = tilted(n_items, null)
    of_one_true_case = tilted(n_items, true)
    sum_under_null = np.ones(1)
    sum_under_truth = np.ones(1)
    reached = []
    for count in range(1, 400 + 11):  # at most 400 cases, and the ten that follow, see below
        sum_under_null = _add(sum_under_null, of_one_case)
        sum_under_truth = _add(sum_under_truth, of_one_true_case)
        tail = np.cumsum(sum_under_null[::-1])
        critical = int(np.searchsorted(tail, 0.05 * (1 + 1e-9), side="right"))
        # The exact test is discrete: its power is not monotone in the number of cases.
        reached.append(sum_under_truth[::-1][:critical].sum() >= 0.8)
        if len(reached) > 10 and all(reached[-11:]):
            return count - 10
    return None


def _add(total, null):
    """Convolve one more case into the distribution of a sum."""
    wider = np.zeros(len(total) + 2 * CORRELATION_STEPS)
    for value, share in null.items():
        wider[value + CORRELATION_STEPS : value + CORRELATION_STEPS + len(total)] += share * total
    return wider
