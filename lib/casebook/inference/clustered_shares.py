"""Interval of a share whose units come in clusters, such as facts in texts."""

import numpy as np

from casebook.errors import InputError
from casebook.inference.intervals import Interval
from casebook.inference.proportions import wilson
from casebook.stats.intervals import too_few


def clustered_wilson(successes, sizes, level=0.95):
    """Wilson's interval at the effective sample size."""
    wins, units = np.asarray(successes, float), np.asarray(sizes, float)
    if wins.shape != units.shape or (wins < 0).any() or (wins > units).any():
        raise InputError("each cluster needs 0 to its size successes")
    wins, units = wins[units > 0], units[units > 0]
    n, clusters = int(units.sum()), len(units)
    if not n:
        return Interval(None, None, None, level, 0, "clustered wilson", "no_units")
    share = float(wins.sum() / n)
    if reason := too_few(clusters, "clusters"):
        return Interval(share, None, None, level, n, "clustered wilson", reason)
    size = _effective_size(wins, units, share)
    found = wilson(share * size, size, level)
    low, high = min(found.low, share), max(found.high, share)
    return Interval(share, low, high, level, n, "clustered wilson")


def _effective_size(wins, units, share):
    n, clusters = units.sum(), len(units)
    if share in (0.0, 1.0):
        return clusters
    residuals = wins - share * units
    variance = clusters / (clusters - 1) * (residuals**2).sum() / n**2
    effect = max(1.0, variance / (share * (1 - share) / n))
    return float(n / effect)
