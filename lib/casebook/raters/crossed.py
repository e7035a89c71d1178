"""Means over items and raters that are both drawn anew."""

from collections import namedtuple
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import special

from casebook.stats.intervals import FEWEST, Interval

FEWEST_RATERS = 3
METHOD = "t, items and raters crossed"

#: A mean over items, or over items and raters: its interval and the test that it is a null value.
MeanTest = namedtuple("MeanTest", "interval pvalue df", defaults=(None, None))


def crossed_mean(table, *, weights="items", level=0.95, limits=(-np.inf, np.inf)):
    """Interval of a mean [items, raters] for other items and other raters of the same kind."""
    values = pd.DataFrame(table, dtype=float).dropna(how="all").dropna(axis=1, how="all")
    values = values.to_numpy()
    n, raters = values.shape
    if not n:
        return MeanTest(Interval(None, None, None, level, n, METHOD, "no_units"))
    shares = np.isfinite(values) / 1.0
    if weights == "items":
        shares /= shares.sum(axis=1, keepdims=True)
    shares *= values.size / shares.sum()
    values = np.nan_to_num(values)
    found = Interval(float((shares * values).mean()), None, None, level, n, METHOD)
    if min(raters - FEWEST_RATERS, n - FEWEST) < 0:
        few = "three_raters" if raters < FEWEST_RATERS else "six_units"
        return MeanTest(replace(found, reason=f"fewer_than_{few}"))
    spread, df, by_rater = crossed_variance(shares * (values - found.estimate))
    if spread <= 1e-18:
        return MeanTest(replace(found, reason="no_variation"))
    reach = special.stdtrit([df, raters - 1], (1 + level) / 2) * np.sqrt([spread, by_rater])
    bounds = np.clip(found.estimate + reach.max() * np.array([-1, 1]), *limits)
    found = replace(found, low=float(bounds[0]), high=float(bounds[1]))
    pvalue = crossed_pvalues(found.estimate, spread, df, by_rater, raters)
    return MeanTest(found, float(pvalue), float(df))


# Hull of the interval over items and raters and the one over items alone.
def at_least(crossed, items):
    wide = crossed.interval
    narrow = items.interval
    if None in (wide.low, narrow.low):
        return crossed
    wide = replace(wide, low=min(wide.low, narrow.low), high=max(wide.high, narrow.high))
    return MeanTest(wide, max(crossed.pvalue, items.pvalue), crossed.df)


# Variance of the mean of [..., items, raters], its df (Satterthwaite), variance by raters.
def crossed_variance(tables):
    items, raters = tables.shape[-2:]
    cells = tables - tables.mean(axis=(-2, -1), keepdims=True)
    rows = cells.mean(-1, keepdims=True)
    columns = cells.mean(-2, keepdims=True)
    squares = [np.sum(part**2, axis=(-2, -1)) for part in (rows, columns, cells - rows - columns)]
    df = (items - 1, raters - 1, (items - 1) * (raters - 1))
    msi = squares[0] * raters / df[0]
    msr = squares[1] * items / df[1]
    mse = squares[2] / df[2]
    pooled = np.maximum(msr + msi - mse, 0)
    parts = msi**2 / df[0] + msr**2 / df[1] + mse**2 / df[2]
    satterthwaite = np.divide(pooled**2, parts, out=np.ones_like(parts), where=parts > 0)
    spread = np.maximum(pooled, np.maximum(msr, msi)) / (items * raters)
    return spread, np.maximum(satterthwaite, 1.0), msr / (items * raters)


# Two-sided p of a mean: the larger of the crossed t and of the t over raters.
def crossed_pvalues(gap, spread, df, by_rater, raters):
    crossed = special.stdtr(df, -np.abs(gap) / np.sqrt(np.maximum(spread, 1e-300)))
    of_raters = special.stdtr(raters - 1, -np.abs(gap) / np.sqrt(np.maximum(by_rater, 1e-300)))
    return 2 * np.maximum(crossed, of_raters)
