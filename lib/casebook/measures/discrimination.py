"""How well a score tells two classes apart, with and without a threshold."""

import math

import numpy as np
from scipy import stats

from casebook.errors import InputError


def auroc(labels, scores):
    """Area under the ROC curve: the probability that a positive outscores a negative.

    Parameters
    ----------
    labels : array-like of bool, shape (n,)
        True for the positive class.
    scores : array-like of float, shape (n,)
        Higher speaks for the positive class.

    Returns
    -------
    float or None
        In [0, 1], ties counting half; None without a positive or without a negative.

    Raises
    ------
    InputError
        If the lengths differ or a score is not a number.

    References
    ----------
    Hanley and McNeil, Radiology 143, 1982; Mann and Whitney, Annals of Mathematical
    Statistics 18, 1947.
    """
    labels, scores = _checked(labels, scores)
    positive, negative = int(labels.sum()), int((~labels).sum())
    if not positive or not negative:
        return None
    rank_sum = stats.rankdata(scores)[labels].sum()
    return float((rank_sum - positive * (positive + 1) / 2) / (positive * negative))


def balanced_accuracy(labels, predicted):
    """Mean of sensitivity and specificity.

    Parameters
    ----------
    labels, predicted : array-like of bool, shape (n,)
        Truth and decision.

    Returns
    -------
    float or None
        In [0, 1], 0.5 for a constant decision; None without a positive or a negative.

    Raises
    ------
    InputError
        If the lengths differ.

    References
    ----------
    Brodersen et al., ICPR 2010.
    """
    tp, fp, fn, tn = _counts(labels, predicted)
    if not tp + fn or not tn + fp:
        return None
    return (tp / (tp + fn) + tn / (tn + fp)) / 2


def matthews(labels, predicted):
    """Matthews' correlation coefficient of two binary variables.

    Parameters
    ----------
    labels, predicted : array-like of bool, shape (n,)
        Truth and decision.

    Returns
    -------
    float or None
        In [-1, 1]; None where truth or decision is constant: it is then undefined,
        not 0.

    Raises
    ------
    InputError
        If the lengths differ.

    References
    ----------
    Matthews, Biochimica et Biophysica Acta 405, 1975.
    """
    tp, fp, fn, tn = _counts(labels, predicted)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(product) if product else None


def best_threshold(labels, scores):
    """Find the threshold with the largest balanced accuracy.

    Parameters
    ----------
    labels : array-like of bool, shape (n,)
        True for the positive class.
    scores : array-like of float, shape (n,)
        A score above the threshold counts as positive.

    Returns
    -------
    float or None
        Middle between two neighbouring scores, the lowest of equals; None without
        both classes or with a single value.
    """
    labels, scores = _checked(labels, scores)
    levels = np.unique(scores)
    if len(levels) < 2 or labels.all() or not labels.any():
        return None
    middles = (levels[1:] + levels[:-1]) / 2
    values = [balanced_accuracy(labels, scores > middle) for middle in middles]
    return float(middles[int(np.argmax(values))])


def _checked(labels, scores):
    labels, scores = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=float)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise InputError(
            f"labels and scores must be two lists of one length, not {labels.shape} "
            f"and {scores.shape}"
        )
    if np.isnan(scores).any():
        raise InputError("a score is NaN: leave undefined scores out, and count them")
    return labels, scores


def _counts(labels, predicted):
    """Count true and false positives, false and true negatives."""
    labels, predicted = np.asarray(labels, dtype=bool), np.asarray(predicted, bool)
    if labels.ndim != 1 or labels.shape != predicted.shape:
        raise InputError("labels and decisions must be two lists of one length")
    pairs = ((True, True), (False, True), (True, False), (False, False))
    return [int(((labels == a) & (predicted == b)).sum()) for a, b in pairs]
