"""Bootstrap intervals for means and for any other statistic."""

import numpy as np
import pandas as pd

from casebook.inference.intervals import Interval
from casebook.inference.samples import check_count, check_share, number_or_none, stream
from casebook.stats.intervals import mean_intervals

TOO_SMALL = {0: "no_units", 1: "fewer_than_two_units"}


def bootstrap_mean(values, *, level=0.95, method="hull", clusters=None, n_boot=10_000, seed=0):
    """Interval of a mean, or a list of them for the columns of a table.

    As `casebook.stats.intervals.mean_intervals`.
    """
    found = mean_intervals(values, clusters, level=level, method=method, n_boot=n_boot, seed=seed)
    return found[0] if np.ndim(values) == 1 else found


def bootstrap_statistic(data, statistic, *, level=0.95, n_boot=2_000, seed=0):
    """Percentile interval of any statistic of the rows of a table."""
    check_share("level", level)
    check_count("n_boot", n_boot)
    n = len(data)
    rows = data.iloc if isinstance(data, pd.DataFrame) else np.asarray(data)
    estimate = number_or_none(statistic(data)) if n else None
    if n < 2:
        return Interval(estimate, None, None, level, n, "percentile", TOO_SMALL[n])
    rng = np.random.Generator(stream(seed, "bootstrap statistic"))
    draws = [number_or_none(statistic(rows[rng.integers(0, n, n)])) for _ in range(n_boot)]
    if estimate is None or None in draws:
        reason = "undefined_in_resamples"
        return Interval(estimate, None, None, level, n, "percentile", reason)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), level, n, "percentile")
