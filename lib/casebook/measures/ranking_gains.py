"""Gains of grades, weights of ranks, and the best sum that the two can reach.

Gains take integer grades and weights take ranks from 1, one per document, and both give
floats of the same shape. `ideal` gives a function of the judgements, one sum a query.
"""

import numpy as np


def linear_gain(grade):
    """Gain equal to the grade, none below 0 (trec_eval's)."""
    return np.maximum(grade, 0).astype(np.float64)


def exponential_gain(grade):
    """Gain ``2**grade - 1``, none below 0 (Burges et al. 2005)."""
    return np.exp2(np.maximum(grade, 0)) - 1.0


def binary_gain(level):
    """Gain 1 from a relevance level on."""
    return lambda grade: (grade >= level).astype(np.float64)


def no_discount(rank):
    """Weight every rank equally."""
    return np.ones(len(rank))


def log_discount(rank):
    """Weight ``1 / log2(rank + 1)`` (Jarvelin and Kekalainen 2002)."""
    return 1.0 / np.log2(rank + 1.0)


def persistence(p):
    """Weight ``(1 - p) p**(rank - 1)`` (Moffat and Zobel 2008)."""
    return lambda rank: (1.0 - p) * p ** (rank - 1.0)


def reciprocal(rank):
    """Weight ``1 / rank``."""
    return 1.0 / rank


def ideal(gain, discount, cutoff):
    """Denominator of a normalised gain: that of the judged documents best first."""

    def norm(judged):
        order = judged.by_grade
        rank = np.arange(1.0, len(order) + 1) - judged.bounds[judged.row]
        weights = discount(rank) * (rank <= cutoff)
        return judged.total(gain(judged.grade[order]) * weights)

    return norm
