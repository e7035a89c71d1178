"""How far a ranked list has moved: displacement, footrule, Kendall, overlap, RBO.

Two lists of ids are compared, such as the cases found before and after one fact of a
query was changed: best first, each id once. A value that does not exist is None;
`undefined_reason` says why.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.stats.samples import check_choice, check_count, check_share

AFFECTED = ("union", "moved", "before")
ABSENT = ("k+1", "len_aware")
PARTS = ("ext", "min", "max", "res")


@dataclass(frozen=True)
class RankChanges:
    """What became of every item of two ranked lists."""

    displacement: dict
    dropped: tuple
    new: tuple
    stable: tuple
    n_before: int
    n_after: int


def rank_changes(before, after, k=10, *, absent="k+1"):
    """Say of every item of two lists how far it moved; as `mean_displacement`."""
    check_choice("absent", absent, ABSENT)
    lists = _ranks(before, "before", k), _ranks(after, "after", k)
    place = [k + 1 if absent == "k+1" else len(ranks) + 1 for ranks in lists]
    was, now = lists
    return RankChanges(
        {item: abs(was.get(item, place[0]) - now.get(item, place[1])) for item in was | now},
        tuple(x for x in was if x not in now),
        tuple(x for x in now if x not in was),
        tuple(x for x in was if x in now),
        len(was),
        len(now),
    )


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
                f"list {side}: {item!r} stands at ranks {ranks[item]} and {rank}; "
                "keep the first occurrence of each document"
            )
        ranks[item] = rank
    return ranks if k is None else dict(itertools.islice(ranks.items(), k))


def undefined_reason(before, after, k=10, *, affected="union", absent="k+1"):
    """Say why a value is None; the other measures are as ``affected="union"``."""
    check_choice("affected", affected, AFFECTED)
    changes = rank_changes(before, after, k, absent=absent)
    if not changes.displacement:
        return "both_lists_empty"
    if affected == "before" and not changes.n_before:
        return "first_list_empty"
    if affected == "moved" and not any(changes.displacement.values()):
        return "nothing_moved"
    return None


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
    that itself depends on the change. Short lists inflate it: with k = 10, replacing
    the last item moves it by 0.18 in lists of 10 and by 6 in lists of 2.

    Examples
    --------
    >>> mean_displacement(["a", "b", "c", "d"], ["a", "b", "c", "e"], 4)
    0.4
    >>> mean_displacement(["a", "b", "c"], ["a", "c", "b"], 3)
    0.6666666666666666
    """
    check_choice("affected", affected, AFFECTED)
    changes = rank_changes(before, after, k, absent=absent)
    moves = list(changes.displacement.values())
    if affected == "before":
        moves = moves[: changes.n_before]
    elif affected == "moved":
        moves = [move for move in moves if move]
    return sum(moves) / len(moves) if moves else None


def footrule(before, after, k=10):
    """Spearman's footrule of two top-k lists, absent items at rank k + 1."""
    moves = rank_changes(before, after, k).displacement.values()
    return sum(moves) if moves else None


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


def jaccard(before, after, k=10):
    """Common items over all items of two top-k lists; None if both are empty."""
    changes = rank_changes(before, after, k)
    every = len(changes.displacement)
    return len(changes.stable) / every if every else None


def average_overlap(before, after, k=10):
    """Mean over d = 1 to k of the share of common items among the first d."""
    was, now = _ranks(before, "before", k), _ranks(after, "after", k)
    if not (was or now):
        return None
    return sum(x / d for d, x in enumerate(_overlaps(was, now, k), 1)) / k


def kendall_topk(before, after, k=10, *, penalty=0.5, normalised=False):
    """Kendall's distance of two top-k lists: K^(p) of Fagin, Kumar & Sivakumar 2003."""
    if not 0 <= penalty <= 1:
        raise InputError(f"penalty must lie between 0 and 1, not {penalty}")
    was, now = _ranks(before, "before", k), _ranks(after, "after", k)
    if not (was or now):
        return None
    below = k + 1  # wherever an absent item stands, it is below all that are present
    total = 0.0
    for x, y in itertools.combinations(was | now, 2):
        first = was.get(x, below) - was.get(y, below)
        second = now.get(x, below) - now.get(y, below)
        if first and second:
            total += (first > 0) != (second > 0)
        else:
            total += penalty
    return total / (k**2 + penalty * k * (k - 1)) if normalised else total


def rbo(before, after, p=0.9, *, part="ext"):
    """Rank-biased overlap of two ranked lists.

    Parameters
    ----------
    before, after : sequence of hashable
        Ids, best first, each once. Lengths may differ.
    p : float, default 0.9
        Persistence in (0, 1): the first d ranks weigh `rbo_weight` of p and d.
    part : {"ext", "min", "max", "res"}
        Extrapolated value (equation 32), lower bound (11), upper bound, or residual
        (30).

    Returns
    -------
    float or None
        In [0, 1]. None if both lists are empty; 0 if one is (`res` apart).

    Raises
    ------
    InputError
        If a list holds an id twice or an option is unknown.

    References
    ----------
    Webber, Moffat & Zobel, ACM Transactions on Information Systems 28(4):20, 2010.

    Examples
    --------
    >>> rbo(["a", "b", "c", "d"], ["a", "b", "c", "e"], 0.5)
    0.96875
    """
    check_choice("part", part, PARTS)
    check_share("p", p)
    was, now = _ranks(before, "before"), _ranks(after, "after")
    short, long = sorted([len(was), len(now)])
    if not long:
        return None
    overlap = np.array(_overlaps(was, now, long), float)
    d = np.arange(1.0, long + 1)
    weight = p**d / d * (1 - p) / p
    seen, common = weight @ overlap, overlap[-1]
    # Below its end the shorter list is taken to go on as it was at its end.
    at_end = overlap[short - 1] / short if short else 0.0
    new = np.clip(d - short, 0, None)
    guess = weight @ (new * at_end)
    ext = seen + guess + p**long * (common + new[-1] * at_end) / long
    low = seen + (1 - p) / p * common * _tail(p, long)
    # At most, every new item of either list is one that the other holds already, until
    # at depth `full` both hold all; beyond it they agree.
    full = int(long + short - common)
    between = _tail(p, long) - _tail(p, full)
    high = seen + weight @ new + (1 - p) / p * (common - short - long) * between
    high += 2 * (p**long - p**full) + p**full
    return float({"ext": ext, "min": low, "max": high, "res": high - low}[part])


def rbo_weight(p, depth):
    """Share of rank-biased overlap that the first `depth` ranks decide."""
    check_share("p", p)
    check_count("depth", depth)
    return 1 - p ** (depth - 1) + (1 - p) / p * depth * _tail(p, depth - 1)


def _overlaps(was, now, depth):
    """Numbers of common items among the first d of both lists, d = 1 to `depth`."""
    entered = [0] * depth
    for item in was.keys() & now.keys():
        entered[max(was[item], now[item]) - 1] += 1
    return list(itertools.accumulate(entered))


def _tail(p, depth):
    """Sum of ``p**i / i`` over all i above `depth`."""
    return -math.log1p(-p) - sum(p**i / i for i in range(1, depth + 1))
