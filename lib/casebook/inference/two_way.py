"""Mean of items and raters that are both drawn anew: few raters, Student's t."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from casebook.inference.intervals import Interval
from casebook.inference.samples import check_choice, check_share

METHOD = "t, items and raters crossed"
FEWEST_RATERS = 3
WEIGHTS = ("items", "votes")


@dataclass(frozen=True)
class Crossed:
    """Mean over items and raters, its interval and the test of a null value."""

    interval: Interval
    pvalue: float | None
    df: float | None


def crossed_mean(table, null=0.0, *, weights="items", level=0.95, limits=(-np.inf, np.inf)):
    """Interval of a mean for other items and other raters of the same kind."""
    check_share("level", level)
    check_choice("weights", weights, WEIGHTS)
    values = np.asarray(table, dtype=float)
    values = values[np.isfinite(values).any(axis=1)]
    values = values[:, np.isfinite(values).any(axis=0)]
    (n, raters), known = values.shape, np.isfinite(values)
    if not n:
        return Crossed(Interval(None, None, None, level, 0, METHOD, "no_units"), None, None)
    shares = known / (known.sum(axis=1, keepdims=True) if weights == "items" else 1.0)
    shares = shares * values.size / shares.sum()
    means = np.nanmean(values, axis=1) if weights == "items" else values[known]
    mean = float(means.mean())
    reason = "fewer_than_six_units" if n < 6 else None
    reason = "fewer_than_three_raters" if raters < FEWEST_RATERS else reason
    if reason:
        return Crossed(Interval(mean, None, None, level, n, METHOD, reason), None, None)
    gaps = shares * (np.nan_to_num(values) - mean)
    spread, df, by_rater = (float(x) for x in crossed_variance(gaps))
    if spread <= 1e-18:
        same = Interval(mean, mean, mean, level, n, METHOD, "no_variation")
        return Crossed(same, None, None)
    errors, dfs = np.sqrt([spread, by_rater]), np.array([df, raters - 1])
    reach = float((special.stdtrit(dfs, (1 + level) / 2) * errors).max())
    low, high = (float(np.clip(x, *limits)) for x in (mean - reach, mean + reach))
    pvalue = float(crossed_pvalues(mean - null, spread, df, by_rater, raters))
    return Crossed(Interval(mean, low, high, level, n, METHOD), pvalue, df)


def at_least(crossed, items):
    """Never surer of new raters than of these: the hull with the interval of items."""
    wide, narrow = crossed.interval, items.interval
    if wide.low is None or narrow.low is None or crossed.pvalue is None:
        return crossed
    low, high = min(wide.low, narrow.low), max(wide.high, narrow.high)
    pvalue = max(crossed.pvalue, items.pvalue)
    return Crossed(replace(wide, low=low, high=high), pvalue, crossed.df)


def crossed_variance(tables):
    """Variance of the mean of [..., items, raters], its df, the variance by raters."""
    items, raters = tables.shape[-2:]
    size = items * raters
    mean = tables.mean(axis=(-2, -1), keepdims=True)
    rows, columns = tables.mean(-1, keepdims=True), tables.mean(-2, keepdims=True)
    msi = raters * np.sum((rows - mean) ** 2, axis=(-2, -1)) / (items - 1)
    msr = items * np.sum((columns - mean) ** 2, axis=(-2, -1)) / (raters - 1)
    left = (items - 1) * (raters - 1)
    mse = np.sum((tables - rows - columns + mean) ** 2, axis=(-2, -1)) / left
    pooled = np.maximum(msr + msi - mse, 0) / size
    parts = (msr**2 / (raters - 1) + msi**2 / (items - 1) + mse**2 / left) / size**2
    df = np.divide(pooled**2, parts, out=np.ones_like(parts), where=parts > 0)
    spread = np.maximum(pooled, np.maximum(msr, msi) / size)
    return spread, np.maximum(df, 1.0), msr / size


def crossed_pvalues(gap, spread, df, by_rater, raters):
    """Two-sided p of a mean: the larger of the crossed t and of the t over raters."""
    found = [
        2 * special.stdtr(d, -np.abs(gap) / np.sqrt(np.maximum(v, 1e-300)))
        for v, d in ((spread, df), (by_rater, raters - 1))
    ]
    return np.maximum(*found)
