"""Position effects: what the side of an answer does to the preference."""

from dataclasses import dataclass

import numpy as np

from casebook.inference.votes import check_sides, check_votes, count_votes
from casebook.stats.intervals import Interval, newcombe, wilson
from casebook.stats.tests import ExactPValue, exact_sign_test


@dataclass(frozen=True)
class PositionEffect:
    """What the side on which an answer stands does to the preference."""

    left_choice: Interval
    left_test: ExactPValue
    win_rate_left: Interval
    win_rate_right: Interval
    difference: Interval
    side_balanced: Interval
    left_share: float


def position_effect(votes, on_the_left, *, level=0.95):
    """Measure and test the effect of the side."""
    V, left = check_votes(votes), check_sides(votes, on_the_left)
    chosen = count_votes(np.where(left, V, -V))
    sides = [count_votes(V[left]), count_votes(V[~left])]
    pairs = [(x.wins, x.wins + x.losses) for x in sides]
    rates = [wilson(*pair, level) for pair in pairs]
    difference = newcombe(*pairs[0], *pairs[1], level)
    return PositionEffect(
        wilson(chosen.wins, chosen.wins + chosen.losses, level),
        exact_sign_test(chosen.wins, chosen.losses),
        *rates,
        difference,
        _mean_of_rates(*rates),
        float(left[~np.isnan(V)].mean()),
    )


def _mean_of_rates(left, right):
    """Mean of two independent shares, with the bounds of Newcombe's construction."""
    n = left.n + right.n
    if left.estimate is None or right.estimate is None:
        return Interval(None, None, None, left.level, n, "newcombe", "no_units")
    mean = (left.estimate + right.estimate) / 2
    below = np.hypot(left.estimate - left.low, right.estimate - right.low) / 2
    above = np.hypot(left.high - left.estimate, right.high - right.estimate) / 2
    bounds = float(mean - below), float(mean + above)
    return Interval(mean, *bounds, left.level, n, "newcombe")
