"""Tests of paired comparisons: sign flips, randomisation, counts, power.

`sign_flips` is the test on which all verdicts of `casebook.frames` rest.
"""

import math
from collections import namedtuple
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.stats.intervals import BLOCK_ELEMENTS
from casebook.stats.samples import (
    ROUNDING,
    check_count,
    row_blocks,
    score_matrix,
    stream,
)
from casebook.verdicts import INTERVAL_BY_UNIT, NO_UNIT_DIFFERS

#: Mean differences with p-values and intervals, an array each with an entry per column.
SignFlips = namedtuple("SignFlips", "difference low high p p_adjusted")


def sign_flips(sums, sizes, *, level, n_resamples, seed):
    """Test that mean differences are 0 by turning the signs of whole clusters.

    The columns of `sums` are one family: p_adjusted is single-step max-T of Westfall and Young
    1993 on ``|sum| / sqrt(sum of squares)``. An interval holds the values that the same test does
    not reject when they are subtracted from its column (Hartigan 1969); it is NaN where no value,
    or every value, is rejected, and without a level.
    """
    # Sums and sizes of the clusters whose sign stays, a row per pattern.
    table = np.column_stack([sums, sizes])
    patterns = sign_patterns(len(sizes), n_resamples, seed)
    blocks = np.concatenate([bits @ table for bits in patterns])
    kept, kept_sizes = np.split(blocks, [-1], axis=1)
    total = sums.sum(axis=0)
    rest = total - kept
    slack = 1e-9 * np.abs(sums).sum(axis=0)
    kept[np.abs(kept) <= slack] = 0.0
    rest[np.abs(rest) <= slack] = 0.0
    # A pattern turns one of two halves. Its |sum| reaches that of the data where 0 lies between
    # the halves' means.
    extreme = kept * rest <= 0
    norm = np.sqrt(np.sum(sums**2, axis=0))
    unit = np.where(norm > 0, norm, 1.0)
    others = _largest_of_others(np.abs(rest - kept) / unit)
    observed = (np.abs(total) - slack) / unit
    extreme_in_family = extreme | (others >= observed)
    n_patterns = len(kept) + 1  # and the pattern of the data
    p = (extreme.sum(axis=0) + 1) / n_patterns
    p_adjusted = (extreme_in_family.sum(axis=0) + 1) / n_patterns
    mean = total / sizes.sum()
    low = np.full(len(total), np.nan)
    high = np.full(len(total), np.nan)
    if level is not None:
        # A value is rejected unless more than this many patterns, less that of the data, are as
        # extreme as the data.
        rank = int(np.floor((1 - level) * n_patterns + 1e-9))
        lower, upper = _half_means(kept, rest, kept_sizes, sizes.sum())
        for k in np.flatnonzero(norm > 0):
            down, up = _family_reach(others[:, k], sums[:, k], sizes)
            # Where a pattern is as extreme as the data: between these two values.
            least = np.minimum(lower[:, k], mean[k] - down)
            most = np.maximum(upper[:, k], mean[k] + up)
            low[k] = _kth_smallest(least, rank)
            high[k] = -_kth_smallest(-most, rank)
        # Rounding must not let an interval contradict its test.
        not_rejected = p_adjusted > 1 - level
        low[not_rejected] = np.minimum(low[not_rejected], 0.0)
        high[not_rejected] = np.maximum(high[not_rejected], 0.0)
    return SignFlips(mean, low, high, p, p_adjusted)


def sign_patterns(groups, n_resamples, seed):
    """Blocks of sign vectors as bits: random ones; all but mirror images, and the data, if few."""
    if 2 ** (groups - 1) <= n_resamples:
        codes = np.arange(1, 2 ** (groups - 1))[:, None]
        yield codes >> np.arange(groups) & 1
        return
    for block, rows in row_blocks(n_resamples, max(16, BLOCK_ELEMENTS // groups)):
        words = stream(seed, "signs", block).random_raw((rows, -(-groups // 64)))
        yield np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=groups)


def _largest_of_others(statistics):
    """Largest statistic of the other columns, by pattern and column; -inf without others."""
    if statistics.shape[1] < 2:
        return np.full_like(statistics, -np.inf)
    ranked = np.partition(statistics, -2, axis=1)
    largest = ranked[:, -1:]
    second = ranked[:, -2:-1]
    return np.where(statistics == largest, second, largest)


def _half_means(kept, rest, kept_sizes, size):
    """Lower and higher mean of the two halves of each pattern; unbounded where a half is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.stack([kept / kept_sizes, rest / (size - kept_sizes)])
    parted = (kept_sizes > 0) & (kept_sizes < size)
    lower = np.where(parted, means.min(axis=0), -np.inf)
    upper = np.where(parted, means.max(axis=0), np.inf)
    return lower, upper


def _family_reach(others, sums, sizes):
    """Distance from the mean, down and up, within which no statistic exceeds the others'.

    With a value g below the mean subtracted, the statistic is
    ``g N / sqrt(a + 2 b g + c g^2)``; it is solved for g.
    """
    size = sizes.sum()
    deviations = sums - sizes * sums.sum() / size
    a = np.sum(deviations**2)
    b = np.sum(sizes * deviations)
    c = np.sum(sizes**2)
    squares = np.square(np.maximum(others, 0.0))
    if a <= ROUNDING * np.sum(sums**2):
        # Equal differences: the statistic is the same at every distance.
        reach = np.where(squares * c * (1 + 1e-9) >= size**2, np.inf, 0.0)
        return reach, reach
    curvature = (size**2 - squares * c) * a
    discriminant = b**2 * squares**2 + curvature * squares
    root = np.sqrt(np.maximum(discriminant, 0.0))
    reaches = []
    for slope in (b, -b):
        divisor = root - slope * squares
        reach = np.full(len(others), np.inf)
        met = (discriminant >= 0) & (divisor > 0)
        reach[met] = squares[met] * a / divisor[met]
        reach[squares == 0] = 0.0
        reaches.append(reach)
    return reaches


def _kth_smallest(values, k):
    """The k-th smallest value, from 1; NaN where there is none or it is infinite."""
    if not 0 < k <= len(values):
        return np.nan
    value = np.partition(values, k - 1)[k - 1]
    return value if np.isfinite(value) else np.nan


def bounds_of_difference(differences, low, high, reason):
    """Bounds of a mean difference, None where there is no interval, and the reason."""
    rounding = ROUNDING * np.abs(differences).max()
    if not differences.any():
        reason = NO_UNIT_DIFFERS
    elif np.ptp(differences) <= rounding or high - low <= rounding:
        # Of units, or of clusters.
        reason = "no_variation"
    elif reason in (None, INTERVAL_BY_UNIT):
        if math.isfinite(low + high):
            return float(low), float(high), reason
        reason = "too_few_clusters_for_the_family"
    return None, None, reason


# All pairs of systems at once.


#: Outcome of a randomisation test: floats for one pair, arrays for many.
RandomisationResult = namedtuple(
    "RandomisationResult", "statistic pvalue pvalue_max_t pairs n"
)


def paired_randomization(a, b=None, *, n_resamples=100_000, seed=0):
    """Test mean paired differences by random signs (Fisher's randomisation test).

    Parameters
    ----------
    a : array_like, shape [units], or table, shape [units, systems]
        Scores of the first system, or of all systems on one scale.
    b : array_like, shape [units], optional
        Scores of the second system. Without it a table `a` is tested in all pairs of
        its columns, and a 1-D `a` is taken as the differences themselves.
    n_resamples : int, default 100000
        Number of random sign vectors. All ``2**(units - 1)``, of mirror images one, are
        enumerated instead if they are no more.
    seed : int, default 0
        Seed. The p-values depend on nothing else: not on threads, nor on the machine.

    Returns
    -------
    RandomisationResult
        Floats for two samples, arrays with one entry per pair for a table.

    Raises
    ------
    InputError
        If a score is missing or the samples do not pair.

    Notes
    -----
    ``p = (c + 1) / (B + 1)`` with c of B sign vectors at least as extreme as the data
    (Phipson & Smyth 2010), or their share when enumerated; never 0. Sums that differ
    only by the rounding of the scores count as ties.

    All pairs share the signs. The adjusted p-value is the share of sign vectors whose
    largest ``|sum d| / sqrt(sum d^2)`` over the pairs reaches the observed one
    (Westfall & Young 1993, single step). Signs leave ``sum d^2`` alone and the ratio
    grows with Student's t, so this is max-T on studentised differences. It holds when,
    under the null, a unit's differences may change sign together.

    Examples
    --------
    >>> test = paired_randomization([0.9, 0.6, 0.5, 0.8], [0.5, 0.4, 0.5, 0.2])
    >>> test.pvalue, test.n
    (0.25, 4)
    """
    check_count("n_resamples", n_resamples)
    is_one_pair = b is not None or np.ndim(a) == 1
    if is_one_pair:
        try:
            # Series are paired by label, arrays by position.
            a = pd.DataFrame({"a": a, "b": np.zeros(len(a)) if b is None else b})
        except (TypeError, ValueError) as problem:
            raise InputError(f"the samples do not pair: {problem}") from None
    X, systems = score_matrix(a)
    pairs = tuple(combinations(systems, 2))
    if not (len(X) and pairs):
        raise InputError("a comparison needs units, and at least two systems")
    first, second = np.triu_indices(len(systems), 1)
    # Differences from one system keep the digits of scores with a common offset.
    relative = X - X[:, :1]
    differences = relative[:, first] - relative[:, second]
    sizes = np.ones(len(X))
    flips = sign_flips(
        differences, sizes, level=None, n_resamples=n_resamples, seed=seed
    )
    found = flips.difference, flips.p, flips.p_adjusted
    if is_one_pair:
        found = [float(values[0]) for values in found]
        pairs = None
    return RandomisationResult(*found, pairs, len(X))


# Families of hypotheses.


def holm(pvalues):
    """Adjust for the family-wise error rate by Holm's step-down procedure; None is not counted."""
    # Not by statsmodels, whose multipletests collects garbage at every call: 50 ms each.
    p = pd.Series(pvalues, dtype=float)
    ranked = p.dropna().sort_values()
    stepped = (ranked * np.arange(len(ranked), 0, -1)).cummax().clip(upper=1.0)
    return [None if math.isnan(value) else value for value in stepped.reindex(p.index)]


# Counts: the sign test.


def exact_sign_test(wins, losses):
    """p-value of the exact two-sided test that wins and losses are equally likely, if any."""
    n = int(wins + losses)
    if n == 0:
        return None
    most = max(wins, losses)
    pvalue = 2 * special.betainc(most, n - most + 1, 0.5)
    # One that underflows, or exceeds 1 by rounding, within (0, 1].
    return float(np.clip(pvalue, math.ulp(0.0), 1.0))


# What n paired units can show.


def minimal_detectable_effect(sd, n, *, alpha=0.05, power=0.8):
    """Smallest true mean difference that the paired t test finds with this power.

    The test is two-sided; that it finds a difference in the wrong direction is left out. None for
    one unit.
    """
    if n < 2:
        return None
    critical = special.stdtrit(n - 1, 1 - alpha / 2)
    return float(sd / math.sqrt(n) * special.nctdtrinc(n - 1, 1 - power, critical))
