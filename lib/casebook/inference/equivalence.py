"""Equivalence: whether no system is preferred by a margin that matters."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.inference.preference_rates import win_rate
from casebook.inference.votes import item_means
from casebook.stats.intervals import Interval
from casebook.stats.samples import check_share
from casebook.stats.tests import positive

MARGIN = (0.45, 0.55)
"""Region of practical equivalence of a win rate."""


@dataclass(frozen=True)
class Equivalence:
    """A win rate held against a region of practical equivalence."""

    interval: Interval
    margin: tuple[float, float]
    p_tost: float | None
    verdict: str
    reason: str | None = None


def equivalence(votes, *, margin=MARGIN, alpha=0.05, n_boot=10_000, seed=0):
    """Test whether the win rate lies within a region of practical equivalence."""
    low, high = margin
    check_share("lower margin", low)
    check_share("upper margin", high)
    check_share("alpha", alpha)
    if low >= high:
        raise InputError(f"margin {low} to {high} is empty")
    options = {"n_boot": n_boot, "seed": seed}
    interval = win_rate(votes, unit="item", ties="half", level=1 - alpha, **options)
    p_tost = _two_one_sided((item_means(votes) + 1) / 2, low, high)
    if p_tost is None or interval.low is None:
        reason = interval.reason or "no_variation"
        return Equivalence(interval, (low, high), None, "undecided", reason)
    verdict = "undecided"
    if p_tost <= alpha:
        verdict = "equivalent"
    elif interval.low > high or interval.high < low:
        verdict = "different"
    return Equivalence(interval, (low, high), p_tost, verdict)


def _two_one_sided(scores, low, high):
    """Larger p-value of the two one-sided t tests; None if they are undefined."""
    n = len(scores)
    if n < 2 or np.ptp(scores) == 0:
        return None
    error = scores.std(ddof=1) / np.sqrt(n)
    above_low = (scores.mean() - low) / error
    below_high = (high - scores.mean()) / error
    return positive(special.stdtr(n - 1, -min(above_low, below_high)))
