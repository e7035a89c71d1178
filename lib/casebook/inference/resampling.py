"""Bootstrap means of many systems under shared resamples, and their intervals."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.inference.clusters import cluster_codes
from casebook.inference.intervals import Interval
from casebook.inference.samples import (
    ROUNDING,
    check_choice,
    check_count,
    check_share,
    fixed_point,
    number_or_none,
    score_matrix,
    stream,
)

METHODS = ("percentile", "bca")
BLOCK_ELEMENTS = 2**18
TOO_SMALL = {0: "no_units", 1: "fewer_than_two_units"}


@dataclass(frozen=True)
class MeanResamples:
    """Bootstrap means of several systems under shared resamples.

    Attributes
    ----------
    estimates : numpy.ndarray, shape [systems]
        Means of the sample; NaN without units.
    draws : numpy.ndarray, shape [resamples, systems]
        Means of the resamples; empty with fewer than two units or clusters.
    leave_one_out : numpy.ndarray, shape [clusters, systems]
        Means without one unit (or one cluster); empty as `draws`.
    resolution : numpy.ndarray, shape [systems]
        Values closer than this are equal within rounding.
    n : int
        Number of units.
    """

    estimates: np.ndarray
    draws: np.ndarray
    leave_one_out: np.ndarray
    resolution: np.ndarray
    n: int

    def differences(self, pairs):
        """Paired differences of the means, resample by resample.

        Parameters
        ----------
        pairs : array_like of int, shape [pairs, 2]
            Columns; the second is subtracted from the first.

        Returns
        -------
        MeanResamples
            One column per pair.
        """
        first, second = np.asarray(pairs, dtype=int).reshape(-1, 2).T
        return MeanResamples(
            self.estimates[first] - self.estimates[second],
            self.draws[:, first] - self.draws[:, second],
            self.leave_one_out[:, first] - self.leave_one_out[:, second],
            self.resolution[first] + self.resolution[second],
            self.n,
        )

    def intervals(self, level=0.95, method="percentile"):
        """Confidence interval of every column.

        Parameters
        ----------
        level : float, default 0.95
            Nominal coverage.
        method : {"percentile", "bca"}
            Quantiles of the resampled means, or the same corrected for bias and
            acceleration.

        Returns
        -------
        list of Interval
            In column order. A sample without variation has the percentile interval
            ``[c, c]`` and no BCa interval; both carry the reason ``"no_variation"``.
        """
        check_share("level", level)
        check_choice("method", method, METHODS)
        return [self._interval(k, level, method) for k in range(len(self.estimates))]

    def _interval(self, column, level, method):
        estimate = number_or_none(self.estimates[column])
        low, high, reason = self._bounds(column, level, method)
        return Interval(estimate, low, high, level, self.n, method, reason)

    def _bounds(self, column, level, method):
        draws, estimate = self.draws[:, column], self.estimates[column]
        if not len(draws):
            return None, None, TOO_SMALL.get(self.n, "fewer_than_two_clusters")
        if np.ptp(draws) <= self.resolution[column]:
            constant = None if method == "bca" else float(estimate)
            return constant, constant, "no_variation"
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        if method == "bca":
            gaps = draws - estimate
            gaps[np.abs(gaps) <= self.resolution[column]] = 0.0
            tails = _bca_tails(tails, gaps, self.leave_one_out[:, column])
            if tails is None:
                return None, None, "bias_unbounded"
        low, high = np.quantile(draws, tails)
        return float(low), float(high), None


def _bca_tails(tails, gaps, leave_one_out):
    """Tail probabilities corrected for bias and acceleration.

    Efron, Journal of the American Statistical Association 82, 1987. Draws that equal
    the estimate count half below it. None if all lie on one side of it.
    """
    below = np.mean(gaps < 0) + np.mean(gaps == 0) / 2
    if not 0 < below < 1:
        return None
    bias = special.ndtri(below)
    pull = leave_one_out.mean() - leave_one_out
    acceleration = np.sum(pull**3) / (6 * np.sum(pull**2) ** 1.5)
    z = bias + special.ndtri(tails)
    return special.ndtr(bias + z / (1 - acceleration * z))


def resample_means(values, *, clusters=None, n_boot=10_000, seed=0):
    """Draw bootstrap means; every system sees the same resamples.

    Parameters
    ----------
    values : array_like or pandas.DataFrame, shape [units] or [units, systems]
        Scores.
    clusters : array_like, shape [units], optional
        Cluster of each unit, in the order of `values`. Whole clusters are then drawn,
        and the mean is the ratio of the drawn clusters' total to their size.
    n_boot : int, default 10000
        Number of resamples.
    seed : int, default 0
        Seed.

    Returns
    -------
    MeanResamples
        Same bytes whatever the number of threads.

    Raises
    ------
    InputError
        If a score or a cluster is missing.

    References
    ----------
    Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 6, 13 and 14;
    Davison & Hinkley, Bootstrap Methods and their Application, 1997.
    """
    X, _ = score_matrix(values)
    check_count("n_boot", n_boot)
    n, systems = X.shape
    sizes, codes = _cluster_sizes(clusters, n)
    # Summing from the first row keeps the digits of scores with a common offset.
    origin = X[0] if n else np.full(systems, np.nan)
    totals = np.stack(
        [np.bincount(codes, x, len(sizes)) for x in (X - origin).T], axis=1
    )
    estimates = origin + totals.sum(axis=0) / max(n, 1)
    resolution = ROUNDING * np.abs(X).max(axis=0, initial=0.0)
    if len(sizes) < 2:
        nothing = np.empty((0, systems))
        return MeanResamples(estimates, nothing, nothing, resolution, n)
    draws, unit = _draw_ratios(totals, sizes, n_boot, seed)
    without = origin + (totals.sum(axis=0) - totals) / (n - sizes)[:, None]
    return MeanResamples(estimates, origin + draws, without, resolution + unit, n)


def resample_counts(units, n_boot, seed):
    """Draw bootstrap samples as numbers of times that each unit was drawn.

    Parameters
    ----------
    units : int
        Number of units.
    n_boot : int
        Number of resamples.
    seed : int
        Seed.

    Yields
    ------
    numpy.ndarray of float, shape [resamples, units]
        Whole numbers, rows that sum to `units`; blocks of bounded size.
    """
    rows = max(1, BLOCK_ELEMENTS // units)
    for block, start in enumerate(range(0, n_boot, rows)):
        size = min(rows, n_boot - start)
        rng = np.random.Generator(stream(seed, "bootstrap", block))
        picks = rng.integers(0, units, (size, units), dtype=np.int32)
        picks = picks + units * np.arange(size)[:, None]
        counts = np.bincount(picks.ravel(), minlength=size * units)
        yield counts.reshape(size, units).astype(float)


def _cluster_sizes(clusters, n):
    if clusters is None:
        return np.ones(n), np.arange(n)
    codes = cluster_codes(clusters, n)
    return np.bincount(codes).astype(float), codes


def _draw_ratios(totals, sizes, n_boot, seed):
    """Resampled sums of totals over sums of sizes, and the unit of their rounding."""
    count = len(sizes)
    integers, exponent = fixed_point(totals, count * np.abs(totals).max(axis=0))
    columns = np.column_stack([integers, sizes])
    sums = np.empty((n_boot, columns.shape[1]))
    start = 0
    for counts in resample_counts(count, n_boot, seed):
        sums[start : start + len(counts)] = counts @ columns
        start += len(counts)
    return np.ldexp(sums[:, :-1] / sums[:, -1:], exponent), np.ldexp(1.0, exponent)
