"""Bootstrap of a table of counts: every resample is one multinomial draw."""

from dataclasses import dataclass

import numpy as np

from casebook.inference.bootstrap import TOO_SMALL
from casebook.inference.clusters import cluster_codes
from casebook.inference.intervals import Interval
from casebook.inference.samples import check_count, check_share, number_or_none, stream
from casebook.stats.intervals import FEWEST, too_few


@dataclass(frozen=True)
class UnitCounts:
    """What is resampled, with equal units written once."""

    rows: np.ndarray
    copies: np.ndarray

    @property
    def table(self):
        """Counts of all units together, shape [cells]."""
        return self.copies @ self.rows

    @property
    def n_units(self):
        """Number of units that are drawn."""
        return int(self.copies.sum())


def unit_counts(cells, n_cells, clusters=None):
    """Count the cells of a table unit by unit."""
    cells = np.asarray(cells, dtype=np.int64)
    if clusters is None:
        return UnitCounts(np.eye(n_cells, dtype=np.int64), np.bincount(cells, minlength=n_cells))
    codes = cluster_codes(clusters, len(cells))
    size = int(codes.max(initial=-1)) + 1
    counts = np.bincount(codes * n_cells + cells, minlength=size * n_cells)
    rows, copies = np.unique(counts.reshape(size, n_cells), axis=0, return_counts=True)
    return UnitCounts(rows, copies)


def resample_tables(units, *, n_boot=1000, seed=0):
    """Draw bootstrap tables: as many units as there are, with replacement."""
    check_count("n_boot", n_boot)
    if units.n_units < FEWEST:
        return np.empty((0, units.rows.shape[1]), dtype=np.int64)
    rng = np.random.Generator(stream(seed, "counts"))
    shares = units.copies / units.n_units
    return rng.multinomial(units.n_units, shares, size=n_boot) @ units.rows


def percentile_interval(estimate, draws, n, *, level=0.95, reason=None):
    """Percentile interval from the values of a statistic on the resamples."""
    check_share("level", level)
    estimate = number_or_none(estimate)
    if estimate is None:
        why = reason or TOO_SMALL.get(n, "undefined_in_resamples")
        return Interval(None, None, None, level, n, "percentile", why)
    if not len(draws):
        why = too_few(n, None) or "fewer_than_six_clusters"
        return Interval(estimate, None, None, level, n, "percentile", why)
    if np.isnan(draws).any():
        why = "undefined_in_resamples"
        return Interval(estimate, None, None, level, n, "percentile", why)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    why = "no_variation" if np.ptp(draws) == 0 else None
    return Interval(estimate, float(low), float(high), level, n, "percentile", why)
