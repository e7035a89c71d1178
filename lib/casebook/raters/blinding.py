"""Could raters have known? The blinding indices of what they guessed."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.intervals import Interval


@dataclass(frozen=True)
class BlindingIndex:
    """Success of blinding, from what raters guessed."""

    bang: dict
    james: Interval
    n: int


def blinding_index(counts, arms=("S1", "S2")):
    """Bang's and James' index of a table of guesses."""
    table = np.asarray(counts, dtype=float)
    if table.shape != (2, 3) or (table < 0).any():
        raise InputError("guesses must be a table of two arms and three answers")
    bang = {arm: _bang(table[k], k) for k, arm in enumerate(arms)}
    return BlindingIndex(bang, _james(table), int(table.sum()))


def _bang(row, arm, level=0.95):
    n = int(row.sum())
    if n == 0:
        return Interval(None, None, None, level, 0, "normal", "no_units")
    right, wrong = row[arm] / n, row[1 - arm] / n
    index = right - wrong
    error = math.sqrt(max(0.0, right + wrong - index**2) / n)
    return _normal(index, error, -1.0, n, level)


def _james(table, level=0.95):
    n = int(table.sum())
    guessed = table[:, :2].sum()
    if guessed == 0:
        reason = "nobody_guessed"
        return Interval(1.0 if n else None, None, None, level, n, "delta", reason)
    estimate = _james_value(table.ravel())
    # Delta method for a multinomial, with a numerical gradient.
    shares, step = table.ravel() / n, 1e-6
    gradient = np.array(
        [(_james_value(shares + step * unit) - _james_value(shares - step * unit)) / (2 * step) for unit in np.eye(6)]
    )
    variance = (gradient**2 @ shares - (gradient @ shares) ** 2) / n
    return _normal(estimate, math.sqrt(max(0.0, variance)), 0.0, n, level)


def _james_value(cells):
    table = np.asarray(cells).reshape(2, 3)
    shares = table / table.sum()
    unknown = shares[:, 2].sum()
    guessed = shares[:, :2]
    weights = np.array([[0, 0.5], [0.5, 0]])
    known = 1 - unknown
    observed = (weights * guessed).sum() / known
    expected = weights * np.outer(guessed.sum(axis=1), guessed.sum(axis=0))
    chance = expected.sum() / known**2
    kappa = (observed - chance) / chance if chance > 0 else 0.0
    return float((1 + unknown + known * kappa) / 2)


def _normal(estimate, error, least, n, level):
    half = special.ndtri((1 + level) / 2) * error
    low, high = max(least, estimate - half), min(1.0, estimate + half)
    return Interval(float(estimate), float(low), float(high), level, n, "normal")
