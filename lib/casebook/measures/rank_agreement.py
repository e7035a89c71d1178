"""Spearman's rank correlation of a few items, with ties, and its exact null.

References
----------
.. [1] Spearman (1904), The proof and measurement of association between two things,
   American Journal of Psychology 15.
.. [2] Kendall and Gibbons (1990), Rank correlation methods, 5th edition, ch. 3 and 4.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
from scipy import optimize, stats

from casebook.errors import InputError

DIGITS = 3  # of the statistic that is tested; without ties 4 items give multiples of .2
MOST_ITEMS = 7  # 5,040 orders
_UNITS = 10**DIGITS


def spearman(first, second):
    """Correlate two rankings: Pearson's correlation of mid-ranks [1]_."""
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError("two rankings must be two lists of one length")
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    a, b = stats.rankdata(first), stats.rankdata(second)
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman_null(first, second):
    """Give the exact distribution of the correlation over all orders of one side."""
    if len(first) > MOST_ITEMS:
        raise InputError(f"an exact null takes at most {MOST_ITEMS} items")
    if spearman(first, second) is None:
        return {}
    ranks = (tuple(stats.rankdata(side).tolist()) for side in (first, second))
    return dict(_enumerated(*ranks))


@lru_cache(maxsize=512)
def _enumerated(first, second):
    orders = np.array(list(itertools.permutations(second)))
    centred = np.array(first) - np.mean(first)
    others = orders - np.mean(second)
    scale = math.sqrt((centred @ centred) * (others[0] @ others[0]))
    values, counts = np.unique(np.rint(_UNITS * (others @ centred) / scale).astype(int), return_counts=True)
    shares = counts / len(orders)
    return tuple(zip(values.tolist(), shares.tolist(), strict=True))


def mean_null(nulls):
    """Convolve the nulls of independent cases into that of their sum."""
    total = np.ones(1)
    for null in nulls:
        total = _add(total, null)
    return total


def mean_spearman_test(pairs):
    """Test the mean correlation over cases exactly."""
    values = [spearman(*pair) for pair in pairs]
    known = [value for value in values if value is not None]
    found = {"mean": None, "p": None, "values": values}
    found |= {"defined": len(known), "undefined": len(values) - len(known)}
    if not known:
        return found
    nulls = [spearman_null(*p) for p, v in zip(pairs, values, strict=True) if v is not None]
    null = mean_null(nulls)
    sums = np.arange(len(null)) - _UNITS * len(known)
    observed = abs(sum(round(_UNITS * value) for value in known))
    p = float(null[np.abs(sums) >= observed].sum())
    return found | {"mean": float(np.mean(known)), "p": min(1.0, p)}


def tilted(n_items, mean):
    """Give a distribution over orders of untied items with a chosen mean correlation."""
    if not -1 < mean < 1:
        raise InputError(f"a mean correlation must lie between -1 and 1, not {mean}")
    null = spearman_null(range(n_items), range(n_items))
    values = np.array(list(null)) / _UNITS
    shares = np.array(list(null.values()))

    def weights(theta):
        raised = shares * np.exp(theta * values - abs(theta))
        return raised / raised.sum()

    theta = optimize.brentq(lambda t: weights(t) @ values - mean, -60, 60)
    return dict(zip(null, weights(theta).tolist(), strict=True))


def cases_needed(true, null=0.0, *, n_items=4, power=0.8, alpha=0.05, most=400):
    """Count the cases with which the mean correlation is shown to exceed a value."""
    base, other = tilted(n_items, null), tilted(n_items, true)
    under, against, reached = np.ones(1), np.ones(1), []
    for count in range(1, most + 11):
        under, against = (_add(total, one) for total, one in ((under, base), (against, other)))
        tail = np.cumsum(under[::-1])
        critical = int(np.searchsorted(tail, alpha * (1 + 1e-9), side="right"))
        # The exact test is discrete: its power is not monotone in the number of cases.
        reached.append(against[::-1][:critical].sum() >= power)
        if len(reached) > 10 and all(reached[-11:]):
            return count - 10
    return None


def _add(total, null):
    """Convolve one more case into the distribution of a sum."""
    wider = np.zeros(len(total) + 2 * _UNITS)
    for value, share in null.items():
        wider[value + _UNITS : value + _UNITS + len(total)] += share * total
    return wider
