"""p-values adjusted for the number of hypotheses tested."""

import numpy as np

from casebook.errors import InputError


def holm(pvalues):
    """Adjust for the family-wise error rate by Holm's step-down procedure."""

    def step_down(p):
        return np.maximum.accumulate(p * np.arange(len(p), 0, -1))

    return _adjust(pvalues, step_down)


def benjamini_hochberg(pvalues):
    """Adjust for the false discovery rate by the Benjamini-Hochberg procedure."""

    def step_up(p):
        # The quotient first: it is at least 1, so rounding never lowers a p-value.
        scaled = p * (len(p) / np.arange(1, len(p) + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust(pvalues, step_up)


def _adjust(pvalues, adjust_sorted):
    p = np.array([np.nan if value is None else value for value in pvalues], dtype=float)
    tested = np.flatnonzero(~np.isnan(p))
    if ((p[tested] < 0) | (p[tested] > 1)).any():
        raise InputError("p-values must lie between 0 and 1")
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = [None] * len(p)
    for index, value in zip(order, adjust_sorted(p[order]), strict=True):
        adjusted[index] = min(1.0, float(value))
    return adjusted
