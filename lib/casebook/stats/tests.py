"""Tests of paired comparisons: sign flips, randomisation, counts, effect sizes, power.

`sign_flips` is the test on which all verdicts of `casebook.frames` rest.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.stats.intervals import BLOCK_ELEMENTS, Interval
from casebook.stats.samples import (
    ROUNDING,
    check_count,
    paired_differences,
    paired_scores,
    score_matrix,
    stream,
    system_pairs,
)
from casebook.verdicts import INTERVAL_BY_UNIT, NO_UNIT_DIFFERS

LEAST_BLOCK_ROWS = 16
MOST_EXACT_UNITS = 24
MOST_EXACT_CLUSTERS = 40
LARGEST_T = 1000.0


@dataclass(frozen=True)
class SignFlips:
    """Mean differences with p-values and intervals, one entry per column."""

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    p_adjusted: np.ndarray


def sign_flips(sums, sizes, *, level, n_resamples, seed):
    """Test that mean differences are 0 by turning the signs of whole clusters.

    The columns of `sums` are one family: p_adjusted is single-step max-T of Westfall and Young
    1993 on ``|sum| / sqrt(sum of squares)``. An interval holds the values that the same test does
    not reject when they are subtracted from its column (Hartigan 1969); it is NaN where no value,
    or every value, is rejected.
    """
    subset, subset_sizes = _drawn_subsets(sums, sizes, n_resamples, seed)
    total = sums.sum(axis=0)
    size = sizes.sum()
    slack = 1e-9 * np.abs(sums).sum(axis=0)
    rest = total - subset
    subset[np.abs(subset) <= slack] = 0.0
    rest[np.abs(rest) <= slack] = 0.0
    norm = np.sqrt(np.sum(sums**2, axis=0))
    unit = np.where(norm > 0, norm, 1.0)
    statistic = np.abs(total) / unit
    # A pattern turns one of two halves. Its |sum| reaches that of the data where 0 lies between
    # the halves' means.
    extreme = subset * rest <= 0
    others = _largest_of_others(np.abs(rest - subset) / unit)
    extreme_in_family = extreme | (others >= statistic - slack / unit)
    n_patterns = len(subset) + 1  # and the pattern of the data
    p = (extreme.sum(axis=0) + 1) / n_patterns
    p_adjusted = (extreme_in_family.sum(axis=0) + 1) / n_patterns
    # A value is rejected unless more than this many patterns, less that of the data, are as
    # extreme as the data.
    rank = int(np.floor((1 - level) * n_patterns + 1e-9))
    low = np.full(len(total), np.nan)
    high = np.full(len(total), np.nan)
    for k in np.flatnonzero(norm > 0):
        halves = _half_means(subset[:, k], rest[:, k], subset_sizes, size)
        down, up = _family_reach(others[:, k], sums[:, k], sizes)
        mean = total[k] / size
        # Where a pattern is as extreme as the data: between these two values.
        low[k] = _kth_smallest(np.minimum(halves[0], mean - down), rank)
        high[k] = -_kth_smallest(-np.maximum(halves[1], mean + up), rank)
    # Rounding must not let an interval contradict its test.
    not_rejected = p_adjusted > 1 - level
    low[not_rejected] = np.minimum(low[not_rejected], 0.0)
    high[not_rejected] = np.maximum(high[not_rejected], 0.0)
    return SignFlips(total / size, low, high, p, p_adjusted)


def _drawn_subsets(sums, sizes, n_resamples, seed):
    """Sums and sizes of the clusters whose sign stays, a row per pattern; all patterns if few.

    Of two complementary patterns one is listed, and the pattern of the data is not.
    """
    groups = len(sizes)
    if groups <= MOST_EXACT_CLUSTERS and 2 ** (groups - 1) <= n_resamples:
        # The last cluster is never in, so that no complement occurs; nor the empty set.
        others = (bits[bits.any(axis=1)] for bits in all_signs(groups - 1))
        patterns = [np.pad(bits, ((0, 0), (0, 1))) * 1.0 for bits in others]
    else:
        patterns = (bits * 1.0 for bits in random_signs(groups, n_resamples, seed))
    table = np.column_stack([sums, sizes])
    subsets = np.concatenate([bits @ table for bits in patterns])
    return subsets[:, :-1], subsets[:, -1]


def _largest_of_others(statistics):
    """Largest statistic of the other columns, by pattern and column; -inf without others."""
    if statistics.shape[1] < 2:
        return np.full_like(statistics, -np.inf)
    ranked = np.sort(statistics, axis=1)
    return np.where(statistics == ranked[:, -1:], ranked[:, -2:-1], ranked[:, -1:])


def _half_means(subset, rest, subset_sizes, size):
    """Lower and higher mean of the two halves of each pattern; unbounded where a half is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.stack([subset / subset_sizes, rest / (size - subset_sizes)])
    parted = (subset_sizes > 0) & (subset_sizes < size)
    return np.where(parted, means.min(axis=0), -np.inf), np.where(parted, means.max(axis=0), np.inf)


def _family_reach(others, sums, sizes):
    """Distance from the mean, down and up, within which no statistic exceeds the others'.

    With a value g below the mean subtracted, the statistic is
    ``g N / sqrt(a + 2 b g + c g^2)``; it is solved for g.
    """
    deviations = sums - sizes * sums.sum() / sizes.sum()
    a = np.sum(deviations**2)
    b = np.sum(sizes * deviations)
    c = np.sum(sizes**2)
    if a <= ROUNDING * np.sum(sums**2):
        # Equal differences: the statistic is the same at every distance.
        reach = np.where(np.square(others) * c * (1 + 1e-9) >= sizes.sum() ** 2, np.inf, 0.0)
        reach[np.isneginf(others)] = 0.0
        return reach, reach
    squares = np.square(np.maximum(others, 0.0))
    discriminant = b**2 * squares**2 + (sizes.sum() ** 2 - squares * c) * squares * a
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


def random_signs(n, n_resamples, seed):
    """Yield blocks of random sign vectors, as bits."""
    rows = max(LEAST_BLOCK_ROWS, BLOCK_ELEMENTS // n)
    for block, start in enumerate(range(0, n_resamples, rows)):
        size = min(rows, n_resamples - start)
        words = stream(seed, "signs", block).random_raw((size, -(-n // 64)))
        yield np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n)


def all_signs(n):
    """Yield blocks of the ``2**n`` sign vectors, as bits."""
    rows = max(LEAST_BLOCK_ROWS, BLOCK_ELEMENTS // max(n, 1))
    for start in range(0, 2**n, rows):
        codes = np.arange(start, min(start + rows, 2**n), dtype="<u8")[:, None]
        yield np.unpackbits(codes.view(np.uint8), axis=1, count=n, bitorder="little")


def bounds_of_difference(differences, low, high, reason):
    """Bounds of a mean difference, None where there is no interval, and the reason."""
    rounding = ROUNDING * np.abs(differences).max()
    if not differences.any():
        reason = NO_UNIT_DIFFERS
    elif np.ptp(differences) <= rounding or high - low <= rounding:  # of units, or of clusters
        reason = "no_variation"
    elif reason in (None, INTERVAL_BY_UNIT):
        if math.isfinite(low + high):
            return float(low), float(high), reason
        reason = "too_few_clusters_for_the_family"
    return None, None, reason


# All pairs of systems at once.


@dataclass(frozen=True)
class RandomisationResult:
    """Outcome of a randomisation test: floats for one pair, arrays for many."""

    statistic: float | np.ndarray
    pvalue: float | np.ndarray
    pvalue_max_t: float | np.ndarray | None
    pairs: tuple | None
    n: int
    n_resamples: int
    exact: bool


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
        Number of random sign vectors. All ``2**units`` are enumerated instead if they are
        no more, and the units no more than 24.
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
    (Phipson & Smyth 2010), or ``c / 2**n`` when enumerated; never 0. Sums that differ
    only by the rounding of the scores count as ties.

    All pairs share the signs. The adjusted p-value is the share of sign vectors whose
    largest ``|sum d| / sqrt(sum d^2)`` over the pairs reaches the observed one
    (Westfall & Young 1993, single step). Signs leave ``sum d^2`` alone and the ratio
    grows with Student's t, so this is max-T on studentised differences. It holds when,
    under the null, a unit's differences may change sign together.

    Examples
    --------
    >>> test = paired_randomization([0.9, 0.6, 0.5, 0.8], [0.5, 0.4, 0.5, 0.2])
    >>> test.pvalue, test.exact
    (0.25, True)
    """
    check_count("n_resamples", n_resamples)
    if b is None and np.ndim(a) == 1:
        b = np.zeros(len(a))
    X, systems = score_matrix(a) if b is None else (paired_scores(a, b), [0, 1])
    n = len(X)
    if not n:
        raise InputError("there are no units to compare")
    if X.shape[1] < 2:
        raise InputError("a comparison needs at least two systems")
    # Differences from one system keep the digits of scores with a common offset.
    relative = X - X[:, :1]
    first, second = system_pairs(systems).T
    differences = relative[:, first] - relative[:, second]
    slack = 1e-11 * np.abs(relative).max(axis=1).sum() + ROUNDING * np.abs(X).max(axis=1).sum()
    threshold = np.abs(differences.sum(axis=0)) - slack
    exact = n <= MOST_EXACT_UNITS and 2**n <= n_resamples
    norms = np.sqrt(np.sum(differences**2, axis=0))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    total = relative.sum(axis=0)
    hits = np.zeros(len(first), dtype=np.int64)
    maxima = []
    for bits in all_signs(n) if exact else random_signs(n, n_resamples, seed):
        signed = 2 * (bits.astype(float) @ relative) - total
        sums = np.abs(signed[:, first] - signed[:, second])
        hits += np.count_nonzero(sums >= threshold, axis=0)
        maxima.append((sums * scale).max(axis=1))
    maxima = np.sort(np.concatenate(maxima))
    hits_max = len(maxima) - np.searchsorted(maxima, threshold * scale, side="left")
    # The data are one of the enumerated sign vectors, but none of the random ones.
    data = int(not exact)
    found = [differences.mean(axis=0)]
    found += [(count + data) / (len(maxima) + data) for count in (hits, hits_max)]
    pairs = tuple((systems[i], systems[j]) for i, j in zip(first, second, strict=True))
    if np.ndim(a) == 1:
        found = [float(values[0]) for values in found]
        pairs = None
    return RandomisationResult(*found, pairs, n, len(maxima), exact)


# Families of hypotheses.


def holm(pvalues):
    """Adjust for the family-wise error rate by Holm's step-down procedure; None is not counted."""
    # Not by statsmodels, whose multipletests collects garbage at every call: 50 ms each.
    p = pd.Series(pvalues, dtype=float)
    ranked = p.dropna().sort_values()
    stepped = (ranked * np.arange(len(ranked), 0, -1)).cummax().clip(upper=1.0)
    return [None if math.isnan(value) else value for value in stepped.reindex(p.index)]


# Effect sizes.


@dataclass(frozen=True)
class EffectSizes:
    """Sizes of a paired effect, first system minus second."""

    dz: Interval
    rank_biserial: float | None


def effect_sizes(a, b=None, *, level=0.95):
    """Cohen's dz, whose interval inverts the noncentral t, and the rank-biserial correlation."""
    from scipy.stats import rankdata  # slow to import

    differences, resolution = paired_differences(a, b)
    biserial = None
    if differences.any():
        untied = differences[differences != 0]
        sizes = np.abs(untied)
        ranks = rankdata(np.round(sizes / sizes.max(), 12))  # blind to rounding
        biserial = float(np.sum(np.sign(untied) * ranks) / np.sum(ranks))
    n = len(differences)
    low = high = dz = None
    if n < 2:
        reason = "fewer_than_two_units"
    elif np.ptp(differences) <= resolution:
        reason = "no_variation"
    else:
        dz = float(differences.mean() / differences.std(ddof=1))
        t = dz * math.sqrt(n)
        reason = "out_of_range"
        if abs(t) <= LARGEST_T:  # scipy's noncentral t is not reliable further out
            tails = np.array([(1 + level) / 2, (1 - level) / 2])
            low, high = (special.nctdtrinc(n - 1, tails, t) / math.sqrt(n)).tolist()
            reason = None
    return EffectSizes(Interval(dz, low, high, level, n, "noncentral-t", reason), biserial)


# Counts: the sign test and McNemar's.


@dataclass(frozen=True)
class SignTest:
    """Outcome of a sign test; the logarithm of its p-value never underflows."""

    statistic: float | None
    pvalue: float | None
    n: int
    log_pvalue: float | None = None
    reason: str | None = None


def exact_sign_test(wins, losses):
    """Exact two-sided test that wins and losses are equally likely."""
    n = int(wins + losses)
    if n == 0:
        return SignTest(None, None, 0, reason="no_units")
    most = max(wins, losses)
    k = np.arange(min(wins, losses) + 1)
    log_terms = -special.betaln(k + 1, n - k + 1) - math.log(n + 1)
    log_tail = float(special.logsumexp(log_terms)) - n * math.log(2)
    pvalue = positive(2 * special.betainc(most, n - most + 1, 0.5))
    return SignTest(float(most), pvalue, n, log_pvalue=min(0.0, math.log(2) + log_tail))


def positive(pvalue):
    """Keep a p-value that underflows, or exceeds 1 by rounding, within (0, 1]."""
    return min(1.0, max(float(pvalue), math.ulp(0.0)))


def mcnemar(a, b):
    """Exact p-value of two systems that were right or wrong on the same independent units.

    None where the two never differ. For units in clusters see `sign_flips`.
    """
    a = np.asarray(a, dtype=bool)
    b = np.asarray(b, dtype=bool)
    return exact_sign_test((a & ~b).sum(), (b & ~a).sum()).pvalue


# What n paired units can show.


def minimal_detectable_effect(sd, n, *, alpha=0.05, power=0.8):
    """Smallest true mean difference that the paired t test finds with this power.

    The test is two-sided. None for one unit.
    """
    from scipy import optimize  # slow to import

    if n < 2:
        return None
    critical = special.stdtrit(n - 1, 1 - alpha / 2)

    def missing(noncentrality):
        # The lower tail mirrors an upper one; scipy gives NaN where it is below 1e-9.
        below = np.nan_to_num(1 - special.nctdtr(n - 1, -noncentrality, critical))
        return power - (1 - special.nctdtr(n - 1, noncentrality, critical) + below)

    high = 1.0
    while missing(high) > 0:
        high *= 2
    return sd / math.sqrt(n) * optimize.brentq(missing, 0.0, high, xtol=1e-13)
