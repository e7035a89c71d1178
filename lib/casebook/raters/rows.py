"""Cells that rows of many tables share: a value with its bounds, counts of ratings."""

import numpy as np

from casebook.stats.intervals import bootstrap_mean, bounded

RATING_SCALE = (1, 2, 3, 4, 5)


def bounded_mean(name, values, *, n_boot, seed):
    """Give a mean over items with its bootstrap interval as cells of a row."""
    if not len(values):
        return dict.fromkeys((name, f"{name} low", f"{name} high"))
    return bounded(name, bootstrap_mean(np.asarray(values), n_boot=n_boot, seed=seed))


def rating_shares(values):
    """Yield, for each rating of the scale, how often it was given."""
    values = np.asarray(values)
    total = int(np.isfinite(values).sum())
    for rating in RATING_SCALE:
        count = int((values == rating).sum())
        share = count / total if total else None
        yield {"rating": rating, "count": count, "share": share}
