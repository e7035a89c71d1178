"""AUROC and the difference of two, with intervals over units or clusters of units."""

import math

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.intervals import Interval, cluster_codes, resampled_clusters
from casebook.verdicts import INTERVAL_BY_UNIT, NO_UNIT_DIFFERS


def auroc(positive, scores, *, level=0.95, clusters=None, units=None):
    """Probability that a positive scores above a negative, ties counting half.

    The interval is on the logit scale. Rows of one of the `units`, such as an explanation and its
    copies, are resampled together where there are too few clusters of units.
    """
    positive, [scores] = _checked_scores(positive, scores)
    n = len(positive)
    codes, reason = _resampled_rows(n, clusters, units)
    method = "delong-logit" if codes is None else "obuchowski-logit"

    def without_interval(area, why):
        return Interval(area, None, None, level, n, method, why)

    too_few = clusters is not None and reason not in (None, INTERVAL_BY_UNIT)
    if positive.all() or not positive.any():
        return without_interval(
            None, reason if units is not None and too_few else "class_without_gold"
        )
    above, below = _placements(positive, scores)
    area = float(above.mean())
    if too_few:
        return without_interval(area, reason)
    variance = _variance(positive, area, above, below, codes)
    if variance is None:
        return without_interval(area, "fewer_than_two_clusters")
    if not variance or area in (0.0, 1.0):
        return without_interval(area, "no_variation")
    half = special.ndtri((1 + level) / 2) * math.sqrt(variance) / (area * (1 - area))
    low, high = special.expit(special.logit(area) + np.array([-half, half]))
    reason = reason if reason == INTERVAL_BY_UNIT else None
    return Interval(area, float(low), float(high), level, n, method, reason)


def auroc_difference(positive, scores, against, *, level=0.95, clusters=None, units=None):
    """AUROC of the scores minus that of others on the same rows, with Student's interval."""
    positive, scores = _checked_scores(positive, scores, against)
    n = len(positive)
    codes, reason = _resampled_rows(n, clusters, units)
    method = "delong-t" if codes is None else "obuchowski-t"

    def without_interval(difference, why):
        return Interval(difference, None, None, level, n, method, why)

    too_few = reason not in (None, INTERVAL_BY_UNIT)
    if positive.all() or not positive.any():
        return without_interval(
            None, reason if units is not None and too_few else "class_without_gold"
        )
    placements = [_placements(positive, column) for column in scores]
    above = placements[0][0] - placements[1][0]
    below = placements[0][1] - placements[1][1]
    difference = float(above.mean())
    if units is not None and too_few:
        return without_interval(difference, reason)
    if not above.any() and not below.any():
        return without_interval(0.0, NO_UNIT_DIFFERS)
    if too_few:
        return without_interval(difference, reason)
    variance = _variance(positive, difference, above, below, codes)
    if variance is None:
        return without_interval(difference, "fewer_than_two_clusters")
    groups = n if codes is None else len(np.unique(codes))
    half = special.stdtrit(groups - 1, (1 + level) / 2) * math.sqrt(variance)
    low = max(difference - half, -1.0)
    high = min(difference + half, 1.0)
    return Interval(difference, low, high, level, n, method, reason)


def auroc_contrast(positive, scores, against, *, level=0.95, clusters=None, units=None):
    """Give the contrast of two AUROCs as a row of ``contrasts.json``; what is undefined is NaN."""
    positive = np.asarray(positive, dtype=bool)
    scores = np.asarray(scores, dtype=float)
    against = np.asarray(against, dtype=float)
    area = auroc_difference(positive, scores, against, level=level, clusters=clusters, units=units)
    row = {
        "difference": area.estimate,
        "low": area.low,
        "high": area.high,
        "level": auroc(positive, scores).estimate,
        "baseline": auroc(positive, against).estimate,
    }
    row = {name: math.nan if value is None else value for name, value in row.items()}
    groups = area.n if clusters is None else len(set(clusters))
    return row | {"n": area.n, "groups": groups, "reason": area.reason}


def _checked_scores(positive, *scores):
    scores = np.array(scores, dtype=float)
    if not np.isfinite(scores).all():
        raise InputError(f"{(~np.isfinite(scores)).sum()} scores are not finite")
    return np.asarray(positive, dtype=bool), scores


def _resampled_rows(n, clusters, units):
    """Cluster of each row, by number; None for single rows; and why not the given clusters."""
    if units is None:
        resampled, reason = resampled_clusters(clusters, n)
    else:
        cluster_of = dict(zip(units, clusters, strict=True))
        enough, reason = resampled_clusters(list(cluster_of.values()), len(cluster_of))
        resampled = units if enough is None else clusters
    return None if resampled is None else cluster_codes(resampled, n), reason


def _placements(positive, scores):
    """Share of the other class that each positive beats, and that each negative loses to."""
    x = scores[positive]
    y = scores[~positive]
    return mid_ranks(y, x) / len(y), 1 - mid_ranks(x, y) / len(x)


def mid_ranks(others, values):
    """How many of the others each value exceeds, equal ones counting half."""
    ordered = np.sort(others)
    left = np.searchsorted(ordered, values, "left")
    return (left + np.searchsorted(ordered, values, "right")) / 2


def _variance(positive, area, above, below, codes):
    """Obuchowski's variance; None if a class lies in fewer than two clusters."""
    if codes is None:
        codes = np.arange(len(positive))
    n_of_positives = len(np.unique(codes[positive]))
    n_of_negatives = len(np.unique(codes[~positive]))
    if n_of_positives < 2 or n_of_negatives < 2:
        return None
    n_clusters = len(np.unique(codes))
    size = codes.max() + 1
    x = np.bincount(codes[positive], above - area, minlength=size) / len(above)
    y = np.bincount(codes[~positive], below - area, minlength=size) / len(below)
    variance = x @ x * n_of_positives / (n_of_positives - 1)
    variance += y @ y * n_of_negatives / (n_of_negatives - 1)
    variance += x @ (2 * y) * n_clusters / (n_clusters - 1)
    # Shared clusters can cancel all variance; rounding then leaves less than nothing.
    return max(0.0, float(variance))
