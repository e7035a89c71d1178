"""Area under the ROC curve with ties counted half, and its interval."""

import math

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.intervals import Interval, cluster_codes, too_few
from casebook.stats.samples import check_share


def auroc(positive, scores, *, level=0.95, clusters=None):
    """Probability that a positive scores above a negative, ties counting half."""
    check_share("level", level)
    positive, scores = np.asarray(positive, dtype=bool), np.asarray(scores, dtype=float)
    if positive.ndim != 1 or positive.shape != scores.shape:
        raise InputError(f"{positive.shape} classes and {scores.shape} scores: give one of each")
    if not np.isfinite(scores).all():
        raise InputError(f"{(~np.isfinite(scores)).sum()} scores are not finite")
    n, method = len(scores), "delong-logit" if clusters is None else "obuchowski-logit"
    if positive.all() or not positive.any():
        return Interval(None, None, None, level, n, method, "class_without_gold")
    above, below = _placements(positive, scores)
    area = float(above.mean())
    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)
    few = clusters is not None and too_few(len(np.unique(codes)), clusters)
    if few:
        return Interval(area, None, None, level, n, method, few)
    variance = _variance(area, above, below, codes[positive], codes[~positive])
    if not variance or area in (0.0, 1.0):
        reason = "no_variation" if variance is not None else "fewer_than_two_clusters"
        return Interval(area, None, None, level, n, method, reason)
    half = special.ndtri((1 + level) / 2) * math.sqrt(variance) / (area * (1 - area))
    low, high = special.expit(special.logit(area) + np.array([-half, half]))
    return Interval(area, float(low), float(high), level, n, method)


def _placements(positive, scores):
    """Share of the other class that each unit beats (positives) or loses to."""
    x, y = scores[positive], scores[~positive]
    sorted_x, sorted_y = np.sort(x), np.sort(y)
    above = _midranks(sorted_y, x) / len(y)
    below = 1 - _midranks(sorted_x, y) / len(x)
    return above, below


def _midranks(ordered, values):
    left = np.searchsorted(ordered, values, "left")
    return (left + np.searchsorted(ordered, values, "right")) / 2


def _variance(area, above, below, positive_codes, negative_codes):
    """Obuchowski's variance; None if a class lies in fewer than two clusters."""
    m, n = len(above), len(below)
    in_x, in_y = np.unique(positive_codes), np.unique(negative_codes)
    if len(in_x) < 2 or len(in_y) < 2:
        return None
    size = max(positive_codes.max(), negative_codes.max()) + 1
    x = np.bincount(positive_codes, above - area, minlength=size)
    y = np.bincount(negative_codes, below - area, minlength=size)
    clusters = len(np.union1d(in_x, in_y))
    s10 = (x**2).sum() * len(in_x) / ((len(in_x) - 1) * m**2)
    s01 = (y**2).sum() * len(in_y) / ((len(in_y) - 1) * n**2)
    shared = 2 * (x * y).sum() * clusters / ((clusters - 1) * m * n)
    # Shared clusters can cancel all variance; rounding then leaves less than nothing.
    return max(0.0, float(s10 + s01 + shared))
