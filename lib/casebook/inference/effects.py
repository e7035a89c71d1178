"""Effect sizes of a paired comparison."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from casebook.inference.intervals import Interval
from casebook.inference.paired import dense_ranks, paired_t, win_tie_loss
from casebook.inference.samples import paired_differences

LARGEST_T = 1000.0


@dataclass(frozen=True)
class EffectSizes:
    """Sizes of a paired effect, first system minus second."""

    mean_difference: Interval
    dz: Interval
    hedges_gz: Interval
    rank_biserial: float | None
    superiority: float
    n: int


def effect_sizes(a, b=None, *, level=0.95):
    """Effect sizes of a paired comparison."""
    differences, resolution = paired_differences(a, b)
    n, counts = len(differences), win_tie_loss(a, b)
    test = paired_t(a, b, level=level)
    dz = _standardised(test, level)
    return EffectSizes(
        mean_difference=test.interval,
        dz=dz,
        hedges_gz=_shrunk(dz),
        rank_biserial=_rank_biserial(differences, resolution),
        superiority=(counts.wins + counts.ties / 2) / n,
        n=n,
    )


def _standardised(test, level):
    """Cohen's dz with the interval that inverts the noncentral t distribution."""
    method, n = "noncentral-t", test.n
    if test.reason:
        return Interval(None, None, None, level, n, method, test.reason)
    dz = test.statistic / math.sqrt(n)
    if abs(test.statistic) > LARGEST_T:
        # scipy's noncentral t is not reliable further out.
        return Interval(dz, None, None, level, n, method, "out_of_range")
    tails = np.array([(1 + level) / 2, (1 - level) / 2])
    low, high = special.nctdtrinc(n - 1, tails, test.statistic) / math.sqrt(n)
    return Interval(dz, float(low), float(high), level, n, method)


def _shrunk(dz):
    """Hedges' correction of a standardised difference and its bounds."""
    if dz.estimate is None:
        return dz
    if dz.n < 3:
        reason = "fewer_than_three_units"
        return replace(dz, estimate=None, low=None, high=None, reason=reason)
    df = dz.n - 1
    log_factor = special.gammaln(df / 2) - special.gammaln((df - 1) / 2)
    factor = math.exp(log_factor) / math.sqrt(df / 2)
    low, high = (x if x is None else factor * x for x in (dz.low, dz.high))
    return replace(dz, estimate=factor * dz.estimate, low=low, high=high)


def _rank_biserial(differences, resolution):
    untied = differences[differences != 0]
    if not len(untied):
        return None
    dense = dense_ranks(np.abs(untied), resolution)
    sizes = np.bincount(dense)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[dense]
    return float(np.sum(np.sign(untied) * ranks) / np.sum(ranks))
