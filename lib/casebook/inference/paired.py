"""Classical paired tests, and counts of wins, ties and losses."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.inference.intervals import Interval, clopper_pearson
from casebook.inference.samples import check_choice, check_share, paired_differences
from casebook.inference.sign_tests import exact_sign_test, positive

ZERO_METHODS = ("wilcox", "pratt", "zsplit")


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a two-sided paired test."""

    statistic: float | None
    pvalue: float | None
    n: int
    interval: Interval | None = None
    reason: str | None = None


@dataclass(frozen=True)
class WinTieLoss:
    """Counts of units where the first system scores higher, equal or lower."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class SignTest:
    """Outcome of the exact two-sided sign test."""

    counts: WinTieLoss
    pvalue: float | None
    log_pvalue: float | None
    win_share: Interval


def paired_t(a, b=None, *, level=0.95):
    """Paired t test of no mean difference, with the interval of the difference."""
    check_share("level", level)
    differences, resolution = paired_differences(a, b)
    n, mean = len(differences), float(differences.mean())
    reason = _no_spread(differences, resolution)
    if reason:
        interval = Interval(mean, None, None, level, n, "t", reason)
        return PairedTest(None, None, n, interval, reason)
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    half = special.stdtrit(n - 1, (1 + level) / 2) * error
    interval = Interval(mean, float(mean - half), float(mean + half), level, n, "t")
    pvalue = positive(2 * special.stdtr(n - 1, -abs(mean / error)))
    return PairedTest(mean / error, pvalue, n, interval)


def wilcoxon_signed_rank(a, b=None, *, zero_method="wilcox"):
    """Wilcoxon's signed-rank test of symmetry of the differences about zero."""
    # scipy.stats takes longer to import than all the rest of this package.
    from scipy import stats

    check_choice("zero_method", zero_method, ZERO_METHODS)
    differences, resolution = paired_differences(a, b)
    if not differences.any():
        return PairedTest(None, None, len(differences), reason="all_tied")
    signed = np.sign(differences) * dense_ranks(np.abs(differences), resolution)
    result = stats.wilcoxon(signed, zero_method=zero_method)
    pvalue = positive(result.pvalue)
    return PairedTest(float(result.statistic), pvalue, len(differences))


def win_tie_loss(a, b=None, *, tolerance=0.0):
    """Count the units where the first system wins, ties or loses."""
    if not tolerance >= 0:
        raise InputError(f"tolerance must be at least 0, not {tolerance}")
    differences, resolution = paired_differences(a, b)
    # The rounding of the tolerance itself must not untie a difference of that size.
    bound = tolerance + resolution if tolerance else 0.0
    wins = int(np.count_nonzero(differences > bound))
    losses = int(np.count_nonzero(differences < -bound))
    return WinTieLoss(wins, len(differences) - wins - losses, losses)


def sign_test(a, b=None, *, tolerance=0.0, level=0.95):
    """Exact two-sided sign test on the untied units."""
    check_share("level", level)
    counts = win_tie_loss(a, b, tolerance=tolerance)
    share = clopper_pearson(counts.wins, counts.wins + counts.losses, level=level)
    test = exact_sign_test(counts.wins, counts.losses)
    return SignTest(counts, test.pvalue, test.log_pvalue, share)


def dense_ranks(values, resolution):
    """Rank values from 1 without gaps, blind to rounding."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=-np.inf) > resolution
    ranks = np.empty(len(values), dtype=int)
    ranks[order] = np.cumsum(steps)
    return ranks


def _no_spread(differences, resolution):
    if len(differences) < 2:
        return "fewer_than_two_units"
    return "no_variation" if np.ptp(differences) <= resolution else None
