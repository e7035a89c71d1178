"""Interval of a mean when two crossed kinds of unit are drawn anew."""

import numpy as np

from casebook.inference.intervals import Interval
from casebook.inference.samples import check_count, check_share, stream

METHOD = "bootstrap of rows and columns"


def two_way_mean(table, *, level=0.95, n_boot=10_000, seed=0):
    """Bootstrap rows and columns, independently, for the mean of the row means.

    Parameters
    ----------
    table : array_like, shape [rows, columns]
        Values of items (rows) and raters (columns), NaN where missing.
    level : float, default 0.95
        Nominal coverage.
    n_boot, seed : int
        Resamples and seed.

    Returns
    -------
    Interval
        Percentile interval, on the conservative side; `n` counts the rows that have a
        value. Undefined with fewer than two rows or columns.

    References
    ----------
    Owen, Annals of Applied Statistics 1:386-411, 2007.
    """
    check_share("level", level)
    check_count("n_boot", n_boot)
    values = np.asarray(table, dtype=float)
    values = values[np.isfinite(values).any(axis=1)]
    n, columns = values.shape
    estimate = float(np.nanmean(values, axis=1).mean()) if n else None
    if min(n, columns) < 2:
        reason = "fewer_than_two_units" if n else "no_units"
        return Interval(estimate, None, None, level, n, METHOD, reason)
    rng = np.random.Generator(stream(seed, "rows and columns"))
    drawn = _drawn_means(values, rng, n_boot)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), level, n, METHOD)


def _drawn_means(values, rng, n_boot):
    """Mean over drawn rows of their means over drawn columns; empty rows are out."""
    rows, columns = values.shape
    W = rng.multinomial(rows, np.full(rows, 1 / rows), n_boot).astype(float)
    U = rng.multinomial(columns, np.full(columns, 1 / columns), n_boot).astype(float)
    sums = U @ np.nan_to_num(values).T
    sizes = U @ np.isfinite(values).T.astype(float)
    means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    W[sizes == 0] = 0.0
    weights = W.sum(axis=1)
    return (W * means).sum(axis=1)[weights > 0] / weights[weights > 0]
