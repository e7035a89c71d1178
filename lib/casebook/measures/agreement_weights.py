"""Partial credit for near misses: the eight weight sets of Gwet (2014)."""

import numpy as np

from casebook.errors import InputError
from casebook.stats.samples import check_choice


def _linear(v):
    return 1 - np.abs(v[:, None] - v) / np.ptp(v)


def _quadratic(v):
    return 1 - ((v[:, None] - v) / np.ptp(v)) ** 2


def _radical(v):
    return 1 - np.sqrt(np.abs(v[:, None] - v) / np.ptp(v))


def _ordinal(v):
    """Count the pairs of categories between the two, both included."""
    places = np.arange(len(v))
    span = np.abs(places[:, None] - places) + 1
    pairs = span * (span - 1) / 2
    return 1 - pairs / pairs.max()


def _ratio(v):
    if v.min() < 0:
        raise InputError(f"ratio weights need ratings of at least 0, found {v.min():g}")
    return 1 - relative_distance(v) / ((v[-1] - v[0]) / (v[-1] + v[0])) ** 2


def _circular(v):
    """Chord between points on a circle on which the last meets the first."""
    chord = np.sin(np.pi * (v[:, None] - v) / (np.ptp(v) + 1)) ** 2
    return 1 - chord / chord.max()


def _bipolar(v):
    total = v[:, None] + v
    room = (total - 2 * v[0]) * (2 * v[-1] - total)
    gap = (v[:, None] - v) ** 2
    distance = np.divide(gap, room, out=np.zeros_like(gap), where=gap > 0)
    return 1 - distance / distance.max()


WEIGHTS = {
    "identity": None,
    "linear": _linear,
    "quadratic": _quadratic,
    "ordinal": _ordinal,
    "radical": _radical,
    "ratio": _ratio,
    "circular": _circular,
    "bipolar": _bipolar,
}


def relative_distance(values):
    """Squared difference over squared sum; 0 for a pair of zeros."""
    gap, total = values[:, None] - values, values[:, None] + values
    share = np.divide(gap, total, out=np.zeros_like(gap), where=total != 0)
    return share**2


def weight_matrix(weights, panel):
    """Give the agreement that a pair of ratings is worth."""
    size = len(panel.categories)
    if isinstance(weights, str):
        check_choice("weights", weights, WEIGHTS)
        if weights == "identity" or size < 2:
            return np.eye(size)
        return WEIGHTS[weights](panel.values)
    matrix = np.asarray(weights, dtype=float)
    if matrix.shape != (size, size):
        raise InputError(f"weights of shape {matrix.shape} for {size} categories")
    if not np.array_equal(matrix, matrix.T) or (np.diag(matrix) != 1).any():
        raise InputError("weights must be symmetric, with 1 on the diagonal")
    return matrix
