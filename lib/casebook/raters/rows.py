"""Cells that rows of many tables share: a value with its bounds, counts of ratings."""

import numpy as np

from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import bounded

RATING_SCALE = (1, 2, 3, 4, 5)


def bounded_mean(name, values, *, n_boot, seed):
    """Give a mean over items with its bootstrap interval as cells of a row.

    Parameters
    ----------
    name : str
        Column.
    values : array_like of float, shape [items]
        Without missing values.
    n_boot, seed
        Of the bootstrap.

    Returns
    -------
    dict
        As `casebook.inference.intervals.bounded`; None three times without a value.
    """
    if not len(values):
        return dict.fromkeys((name, f"{name} low", f"{name} high"))
    return bounded(name, bootstrap_mean(np.asarray(values), n_boot=n_boot, seed=seed))


def rating_shares(values):
    """Yield, for each rating of the scale, how often it was given.

    Parameters
    ----------
    values : array_like of float
        Ratings, NaN where missing.

    Yields
    ------
    dict
        Columns rating (1 to 5), count and share (of the known ratings, None without
        any).
    """
    values = np.asarray(values)
    total = int(np.isfinite(values).sum())
    for rating in RATING_SCALE:
        count = int((values == rating).sum())
        share = count / total if total else None
        yield {"rating": rating, "count": count, "share": share}
