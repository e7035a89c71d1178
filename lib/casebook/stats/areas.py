"""AUROC and the difference of two, with intervals over units or clusters of units."""

import math

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.intervals import Interval, cluster_sums, resampled_clusters
from casebook.stats.samples import ROUNDING
from casebook.verdicts import INTERVAL_BY_UNIT, NO_UNIT_DIFFERS


def auroc(positive, scores, *, level=0.95, clusters=None, units=None):
    """Probability that a positive scores above a negative, ties counting half.

    Parameters
    ----------
    positive : array_like of bool, shape [n]
        Class of every row.
    scores : array_like, shape [n]
        Higher for positives, if the scores are good.
    level : float, default 0.95
        Nominal coverage.
    clusters : array_like, shape [n], optional
        Case, policy or person that a row belongs to.
    units : array_like, shape [n], optional
        What rows of one cluster belong to, such as an explanation and its copies; they stay
        together where there are too few clusters.

    Returns
    -------
    Interval
        Without bounds, and with a reason, where a class is missing, where the scores separate
        the classes without fault, and below six clusters of fewer than six units.

    Raises
    ------
    InputError
        If a score is not finite.

    Notes
    -----
    Student's interval on the logit scale with the variance of Obuchowski, Biometrics
    53:567-578, 1997; of single rows that is DeLong's (Biometrics 44:837-845, 1988). A cluster
    weighs ``w``, its share of the positives and its share of the negatives together; all count
    as ``(sum w)^2 / sum w^2`` equal ones, and Student's t has one degree of freedom less.

    Examples
    --------
    >>> area = auroc([True, True, True, False, False, False], [0.9, 0.8, 0.4, 0.5, 0.3, 0.1])
    >>> f"{area.estimate:.3f} [{area.low:.3f}, {area.high:.3f}]"
    '0.889 [0.118, 0.998]'
    """
    positive, scores = _checked(positive, scores)
    area, half, reason = _student(positive, scores, None, level, clusters, units)
    n = len(positive)
    if half is None or not 0 < area < 1:
        return Interval(area, None, None, level, n, "logit", reason or "no_variation")
    half /= area * (1 - area)
    middle = special.logit(area)
    low = special.expit(middle - half)
    high = special.expit(middle + half)
    return Interval(area, float(low), float(high), level, n, "logit", reason)


def auroc_difference(
    positive, scores, against, *, level=0.95, clusters=None, units=None
):
    """AUROC of the scores minus that of others on the same rows, with Student's interval."""
    positive, scores, against = _checked(positive, scores, against)
    area, half, reason = _student(positive, scores, against, level, clusters, units)
    n = len(positive)
    if half is None:
        return Interval(area, None, None, level, n, "t", reason)
    return Interval(
        area, max(area - half, -1.0), min(area + half, 1.0), level, n, "t", reason
    )


def _checked(positive, *scores):
    scores = np.array(scores, dtype=float)
    if not np.isfinite(scores).all():
        raise InputError(f"{(~np.isfinite(scores)).sum()} scores are not finite")
    return np.asarray(positive, dtype=bool), *scores


def _student(positive, scores, against, level, clusters, units):
    """Area or difference, half the width of its interval (None without one), and the reason."""
    codes, reason = _resampled_rows(len(positive), clusters, units)
    if positive.all() or not positive.any():
        if units is None or not reason:
            reason = "class_without_gold"
        return None, None, reason
    placements = _placements(positive, scores)
    if against is not None:
        placements = placements - _placements(positive, against)
        if not placements.any():
            return 0.0, None, NO_UNIT_DIFFERS
    area = float(placements[positive].mean())
    if reason not in (None, INTERVAL_BY_UNIT):
        return area, None, reason
    # Obuchowski's variance, from what every cluster contributes by each of the classes.
    of_class = np.stack([positive, ~positive], axis=1)
    shares = of_class / of_class.sum(axis=0)
    members, _ = cluster_sums(shares, codes)
    parts, _ = cluster_sums(shares * (placements - area)[:, None], codes)
    groups = len(parts)
    of_groups = np.count_nonzero(members, axis=0)
    if of_groups.min() < 2:
        return area, None, "fewer_than_two_clusters"
    corrections = of_groups / (of_groups - 1)
    covariance = parts[:, 0] @ parts[:, 1] * groups / (groups - 1)
    variance = np.sum(parts**2 * corrections) + 2 * covariance
    # Shared clusters can cancel all variance but for rounding.
    if variance <= ROUNDING**2 + ROUNDING * np.sum(parts**2):
        return area, None, "no_variation"
    weights = members.sum(axis=1)
    effective = weights.sum() ** 2 / np.sum(weights**2)
    quantile = special.stdtrit(effective - 1, (1 + level) / 2)
    return area, float(quantile * math.sqrt(variance)), reason


def _resampled_rows(n, clusters, units):
    """What is resampled: clusters of rows, or units, or rows; and why not the given clusters."""
    if units is None:
        resampled, reason = resampled_clusters(clusters, n)
        return np.arange(n) if resampled is None else resampled, reason
    cluster_of = dict(zip(units, clusters, strict=True))
    resampled, reason = resampled_clusters(list(cluster_of.values()), len(cluster_of))
    return units if resampled is None else clusters, reason


def _placements(positive, scores):
    """Share of the other class that each positive beats, and that each negative loses to."""
    x = scores[positive]
    y = scores[~positive]
    placements = np.empty(len(scores))
    placements[positive] = mid_ranks(y, x) / len(y)
    placements[~positive] = 1 - mid_ranks(x, y) / len(x)
    return placements


def mid_ranks(others, values):
    """How many of the others each value exceeds, equal ones counting half."""
    ordered = np.sort(others)
    left = np.searchsorted(ordered, values, "left")
    return (left + np.searchsorted(ordered, values, "right")) / 2
