"""Intervals of means, shares and statistics, of units that may belong together in clusters."""

import math
from collections import namedtuple

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.stats.samples import (
    ROUNDING,
    check_count,
    check_share,
    generator,
    number_or_none,
    row_blocks,
    score_matrix,
)
from casebook.verdicts import INTERVAL_BY_UNIT

# Columns of an estimate in every table.
STATISTICS = ("value", "low", "high")

# Units, or clusters of units, below which no interval is given.
FEWEST = 6

# Units, or clusters, from which BCa may widen Student's interval.
ENOUGH = 20

BLOCK_ELEMENTS = 2**18


_Interval = namedtuple(
    "_Interval", "estimate low high level n method reason", defaults=[None]
)


class Interval(_Interval):
    """An estimate with its confidence interval; bounds are None where `reason` says why."""

    def number(self, control=None):
        """Give the estimate as it stands in ``numbers.json``."""
        return {
            "value": self.estimate,
            "ci": [self.low, self.high],
            "n": self.n,
            "control": None if control is None else float(control),
            "reason": self.reason,
        }

    def row(self, name="value"):
        """Columns of an estimate in a table and n, NaN where undefined."""
        numbers = [
            math.nan if x is None else x for x in (self.estimate, self.low, self.high)
        ]
        return dict(zip((name, "low", "high"), numbers, strict=True)) | {"n": self.n}


def bounds_text(low, high, spec="z.3f"):
    """Bounds as text, with further digits where the interval would seem to have no width."""
    if low is None or high is None or math.isnan(low + high):
        return "[no interval]"
    if low == high:  # a range of what is possible; no statistic has such an interval
        return "exactly"
    if f"{low:{spec}}" != f"{high:{spec}}":
        return f"[{low:{spec}}, {high:{spec}}]"
    sign, digits = spec.removesuffix("f").split(".")
    return bounds_text(low, high, f"{sign}.{int(digits) + 1}f")


# Means over units or clusters.


def bootstrap_mean(
    values, *, level=0.95, clusters=None, n_resamples=10_000, seed=0, shares=True
):
    """Interval of a mean over units, or over whole clusters of units.

    Parameters
    ----------
    values : array_like, shape [units] or [units, systems]
        Scores; none may be missing.
    level : float, default 0.95
        Nominal coverage, between 0 and 1.
    clusters : array_like, shape [units], optional
        Case, policy, clause or person that a unit belongs to; whole clusters are drawn.
    n_resamples : int, default 10000
        Bootstrap draws.
    seed : int, default 0
        Seed of the draws.
    shares : bool, default True
        Take the mean of values that are all 0 or 1 for a share. False for values on
        another scale, such as displacements in ranks, that happen to be 0 or 1.

    Returns
    -------
    Interval or list of Interval
        One for a list of values, a list for the columns of a table. The hull of Student's t
        over clusters and, from twenty clusters, the BCa bootstrap: t fails on skewed scores,
        BCa on few. Wilson's interval joins the hull of scores of 0 and 1 without clusters.
        Bounds lie within the range of the values. With fewer than six clusters the interval is
        one over units and says so (reason ``interval_by_unit``); with fewer than six units,
        or where all values are equal and not 0 or 1, there is none.

    Raises
    ------
    InputError
        If a value or a cluster is missing, or an option is unknown.

    References
    ----------
    Efron, Journal of the American Statistical Association 82:171-185, 1987 (BCa); Wilson,
    Journal of the American Statistical Association 22:209-212, 1927. Clusters
    of unequal size count as ``(sum m)^2 / sum m^2`` equal ones (Kish).

    Examples
    --------
    >>> mean = bootstrap_mean([0, 0, 0, 0, 1, 1, 1, 1])
    >>> f"{mean.estimate} [{mean.low:.3f}, {mean.high:.3f}], n = {mean.n}"
    '0.5 [0.053, 0.947], n = 8'
    """
    check_share("level", level)
    check_count("n_resamples", n_resamples)
    X, _ = score_matrix(values)
    n = len(X)
    if not n:
        intervals = [
            Interval(None, None, None, level, 0, "hull", "no_units")
        ] * X.shape[1]
        return intervals[0] if np.ndim(values) == 1 else intervals
    clusters, reason_of_all = resampled_clusters(clusters, n)
    # Summing from the first row keeps the digits of scores with a common offset.
    sums, sizes = cluster_sums(X - X[0], clusters)
    groups = len(sizes)
    means = X[0] + sums.sum(axis=0) / sizes.sum()
    bounds = np.full((2, X.shape[1]), np.nan)
    if groups >= FEWEST:
        bounds = X[0] + _mean_bounds(sums, sizes, level, n_resamples, seed)
        bounds = np.clip(bounds, X.min(axis=0), X.max(axis=0))
    intervals = []
    for x, mean, low, high in zip(X.T, means, *bounds, strict=True):
        reason = reason_of_all
        is_flat = np.ptp(x) <= ROUNDING * np.abs(x).max()
        is_share = shares and groups >= FEWEST and np.isin(x, (0, 1)).all()
        if is_share and (clusters is None or is_flat):
            score = wilson(float(np.clip(mean, 0, 1)) * groups, groups, level)
            low = min(low, score.low)
            high = max(high, score.high)
        elif is_flat:
            low = high = None
            reason = too_few(groups, clusters) or "no_variation"
        low = number_or_none(low)
        high = number_or_none(high)
        intervals.append(Interval(float(mean), low, high, level, n, "hull", reason))
    return intervals[0] if np.ndim(values) == 1 else intervals


def _mean_bounds(sums, sizes, level, n_resamples, seed):
    """Student's t by the jackknife over clusters, and BCa where there are enough."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    groups = len(sizes)
    total = sums.sum(axis=0)
    size = sizes.sum()
    means = total / size
    without = (total - sums) / (size - sizes)[:, None]
    influence = without.mean(axis=0) - without
    squares = np.sum(influence**2, axis=0)
    error = np.sqrt((groups - 1) / groups * squares)
    effective = size**2 / np.sum(sizes**2)
    quantiles = special.stdtrit(effective - 1, tails)
    low, high = means + quantiles[:, None] * error
    if groups >= ENOUGH:
        blocks = []
        for drawn in resample_counts(groups, n_resamples, seed):
            of_sizes = drawn @ sizes
            blocks.append((drawn @ sums) / of_sizes[:, None])
        draws = np.concatenate(blocks)
        quantiles = special.ndtri(tails)
        for k, mean in enumerate(means):
            bca_low, bca_high = bca_bounds(
                draws[:, k], mean, quantiles, influence[:, k]
            )
            low[k] = min(low[k], bca_low)
            high[k] = max(high[k], bca_high)
    return np.stack([low, high])


def bca_bounds(
    draws, estimate, quantiles, influence, *, tolerance=None, clip_bias=True
):
    """BCa bounds from bootstrap draws, at two quantiles of the normal or of Student's t.

    Undefined draws widen the interval, as if they lay outside on both sides. `influence` is that
    of every unit on the estimate; its skewness gives the acceleration. `tolerance` is the distance
    up to which a draw equals the estimate: sums of scores differ by rounding relative to their
    size, coefficients by that of the matrices behind them, which is absolute. `clip_bias` leaves
    at least one draw on each side, so that draws all on one side are corrected as far as their
    number allows; without it they are not corrected at all.
    """
    undefined = np.isnan(draws)
    gaps = draws[~undefined] - estimate
    if tolerance is None:
        tolerance = ROUNDING * np.abs(gaps).max(initial=0.0)
    n_equal = np.sum(np.abs(gaps) <= tolerance)
    below = np.sum(gaps < -tolerance) + n_equal / 2
    if clip_bias:
        below = np.clip(below, 1, len(gaps) - 1)
    bias = 0.0
    if 0 < below < len(gaps):
        bias = special.ndtri(below / len(gaps))
    acceleration = 0.0
    scale = np.sum(influence**2) ** 1.5
    if scale:
        acceleration = np.sum(influence**3) / (6 * scale)
    z = bias + quantiles
    corrected = bias + z / np.maximum(1 - acceleration * z, 0.1)
    low_share, high_share = special.ndtr(corrected)
    lowest = np.where(undefined, -np.inf, draws)
    highest = np.where(undefined, np.inf, draws)
    with np.errstate(invalid="ignore"):
        low = np.quantile(lowest, low_share)
        high = np.quantile(highest, high_share)
    return float(low), float(high)


# The one resampler.


def cluster_codes(clusters, n):
    """Number of the cluster of each unit, in the order of their first observation."""
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (n,):
        raise InputError(f"clusters must name one cluster for each of {n} units")
    codes, _ = pd.factorize(labels)
    if (codes < 0).any():
        raise InputError(f"{(codes < 0).sum()} of {n} units have no cluster")
    return codes


def cluster_sums(values, clusters=None):
    """Sum the columns within each cluster: sums [clusters, columns], sizes [clusters]."""
    if clusters is None:
        return values, np.ones(len(values))
    by_cluster = pd.DataFrame(values).groupby(cluster_codes(clusters, len(values)))
    return by_cluster.sum().to_numpy(), by_cluster.size().to_numpy(float)


def resample_counts(units, n_resamples, seed):
    """Yield blocks [resamples, units]: how often each unit was drawn."""
    for block, rows in row_blocks(n_resamples, max(1, BLOCK_ELEMENTS // units)):
        rng = generator(seed, "bootstrap", block)
        picks = rng.integers(0, units, (rows, units), dtype=np.int32)
        picks = picks + units * np.arange(rows)[:, None]
        counts = np.bincount(picks.ravel(), minlength=rows * units)
        yield counts.reshape(rows, units).astype(float)


def resampled_clusters(clusters, n):
    """Clusters to resample, None for single units, and the reason where there are too few."""
    if clusters is None:
        return None, too_few(n, None)
    if len(np.unique(cluster_codes(clusters, n))) >= FEWEST:
        return clusters, None
    return None, too_few(n, None) or INTERVAL_BY_UNIT


def too_few(groups, clusters):
    """Reason why so few units or clusters have no interval; None if there are enough."""
    if groups >= FEWEST:
        return None
    kind = "units" if clusters is None else "clusters"
    return f"fewer_than_six_{kind}" if groups else "no_units"


# Percentile intervals of other statistics.


def resampled_counts(cells, n_cells, clusters=None, *, n_resamples=1000, seed=0):
    """Counts of the cells of a table and of its bootstrap resamples, and the number of units.

    The counts have shape [1 + n_resamples, n_cells], the table's own first. Equal units (rows, or
    clusters of rows) are one kind: a resample is one multinomial draw of the kinds.
    """
    cells = np.asarray(cells, dtype=np.int64)
    if clusters is None:
        kinds = np.eye(n_cells, dtype=np.int64)
        copies = np.bincount(cells, minlength=n_cells)
    else:
        codes = cluster_codes(clusters, len(cells))
        counts = pd.crosstab(codes, cells).reindex(columns=range(n_cells), fill_value=0)
        kinds, copies = np.unique(counts.to_numpy(), axis=0, return_counts=True)
    units = int(copies.sum())
    samples = copies[None]
    if units >= FEWEST:
        draws = generator(seed, "counts").multinomial(
            units, copies / units, size=n_resamples
        )
        samples = np.concatenate([samples, draws])
    return samples @ kinds, units


def percentile_interval(estimate, draws, n, *, level=0.95, reason=None):
    """Percentile interval from the values of a statistic on the resamples."""
    estimate = number_or_none(estimate)
    low = high = why = None
    if estimate is None and reason:
        why = reason
    elif not len(draws):
        why = too_few(n, None) or "fewer_than_six_clusters"
    elif estimate is None or np.isnan(draws).any():
        why = "undefined_in_resamples"
    else:
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
        if low == high:
            low = high = None
            why = "no_variation"
    return Interval(estimate, low, high, level, n, "percentile", why)


# Shares.


def wilson(successes, n, level=0.95):
    """Wilson's score interval of a share.

    Parameters
    ----------
    successes : float
        Count in ``[0, n]``; halves are allowed, as when a tie counts half.
    n : int
        Number of independent trials.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    Interval
        Within [0, 1]; undefined without trials.

    Raises
    ------
    InputError
        If the counts do not fit or the level lies outside (0, 1).

    References
    ----------
    Wilson, Journal of the American Statistical Association 22, 1927; Newcombe,
    Statistics in Medicine 17:857-872, 1998, method 3.

    Examples
    --------
    >>> share = wilson(8, 10)
    >>> f"{share.estimate} [{share.low:.3f}, {share.high:.3f}]"
    '0.8 [0.490, 0.943]'
    """
    check_share("level", level)
    if not 0 <= successes <= n:
        raise InputError(f"{successes} successes in {n} trials are impossible")
    if not n:
        return Interval(None, None, None, level, 0, "wilson", "no_units")
    share = successes / n
    z = special.ndtri((1 + level) / 2)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    scale = 1 + z * z / n
    # At the ends the bound is the end itself, but for rounding.
    low = max(0.0, float((centre - half) / scale)) if successes else 0.0
    high = min(1.0, float((centre + half) / scale)) if successes < n else 1.0
    return Interval(share, low, high, level, int(n), "wilson")


def clustered_wilson(successes, sizes, level=0.95):
    """Wilson's interval of a share of units in clusters, at the effective sample size."""
    wins = np.asarray(successes, float)
    sizes = np.asarray(sizes, float)
    n = int(sizes.sum())
    clusters = np.count_nonzero(sizes)
    share = float(wins.sum() / n) if n else None
    reason = too_few(clusters, "clusters")
    if reason:
        return Interval(share, None, None, level, n, "clustered wilson", reason)
    effective = clusters
    if 0 < share < 1:
        variance = (
            clusters / (clusters - 1) * np.sum((wins - share * sizes) ** 2) / n**2
        )
        effective = n / max(1.0, variance / (share * (1 - share) / n))
    score = wilson(share * effective, effective, level)
    low = min(score.low, share)
    return Interval(share, low, max(score.high, share), level, n, "clustered wilson")
