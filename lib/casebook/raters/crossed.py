"""Means over items and raters that are both drawn anew."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from casebook.stats.intervals import FEWEST, Interval

FEWEST_RATERS = 3
METHOD = "t, items and raters crossed"


@dataclass(frozen=True)
class MeanTest:
    """A mean over items, or over items and raters, its interval and the test of a null value."""

    interval: Interval
    pvalue: float | None
    df: float | None = None


def crossed_mean(table, null=0.0, *, weights="items", level=0.95, limits=(-np.inf, np.inf)):
    """Interval of a mean [items, raters] for other items and other raters of the same kind."""
    values = np.asarray(table, dtype=float)
    values = values[np.isfinite(values).any(axis=1)]
    values = values[:, np.isfinite(values).any(axis=0)]
    n, raters = values.shape

    def without_interval(mean, reason):
        return MeanTest(Interval(mean, None, None, level, n, METHOD, reason), None, None)

    if not n:
        return without_interval(None, "no_units")
    shares = np.isfinite(values) / 1.0
    if weights == "items":
        shares = shares / shares.sum(axis=1, keepdims=True)
    shares = shares * values.size / shares.sum()
    values = np.nan_to_num(values)
    mean = float((shares * values).mean())
    if raters < FEWEST_RATERS:
        return without_interval(mean, "fewer_than_three_raters")
    if n < FEWEST:
        return without_interval(mean, "fewer_than_six_units")
    spread, df, by_rater = (float(x) for x in crossed_variance(shares * (values - mean)))
    if spread <= 1e-18:
        return without_interval(mean, "no_variation")
    reach = special.stdtrit([df, raters - 1], (1 + level) / 2) * np.sqrt([spread, by_rater])
    low, high = (float(x) for x in np.clip(mean + reach.max() * np.array([-1, 1]), *limits))
    pvalue = float(crossed_pvalues(mean - null, spread, df, by_rater, raters))
    return MeanTest(Interval(mean, low, high, level, n, METHOD), pvalue, df)


def at_least(crossed, items):
    """Hull of the interval over items and raters and the one over items alone."""
    wide = crossed.interval
    narrow = items.interval
    if wide.low is None or narrow.low is None or crossed.pvalue is None:
        return crossed
    wide = replace(wide, low=min(wide.low, narrow.low), high=max(wide.high, narrow.high))
    return MeanTest(wide, max(crossed.pvalue, items.pvalue), crossed.df)


def crossed_variance(tables):
    """Variance of the mean of [..., items, raters], its df (Satterthwaite), variance by raters."""
    items, raters = tables.shape[-2:]
    size = items * raters
    left = (items - 1) * (raters - 1)
    mean = tables.mean(axis=(-2, -1), keepdims=True)
    rows = tables.mean(-1, keepdims=True)
    columns = tables.mean(-2, keepdims=True)
    msi = raters * np.sum((rows - mean) ** 2, axis=(-2, -1)) / (items - 1)
    msr = items * np.sum((columns - mean) ** 2, axis=(-2, -1)) / (raters - 1)
    mse = np.sum((tables - rows - columns + mean) ** 2, axis=(-2, -1)) / left
    pooled = np.maximum(msr + msi - mse, 0) / size
    parts = (msr**2 / (raters - 1) + msi**2 / (items - 1) + mse**2 / left) / size**2
    df = np.divide(pooled**2, parts, out=np.ones_like(parts), where=parts > 0)
    spread = np.maximum(pooled, np.maximum(msr, msi) / size)
    return spread, np.maximum(df, 1.0), msr / size


def crossed_pvalues(gap, spread, df, by_rater, raters):
    """Two-sided p of a mean: the larger of the crossed t and of the t over raters."""
    distance = -np.abs(gap)
    crossed = 2 * special.stdtr(df, distance / np.sqrt(np.maximum(spread, 1e-300)))
    over_raters = 2 * special.stdtr(raters - 1, distance / np.sqrt(np.maximum(by_rater, 1e-300)))
    return np.maximum(crossed, over_raters)
