"""Simulated panels of votes with a known preference."""

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.samples import check_count, check_share, stream

NODES, WEIGHTS = special.roots_hermitenorm(40)
FARTHEST = 40.0


def marginal_probability(log_odds, sd):
    """Probability averaged over normal log odds."""
    values = special.expit(log_odds + sd * NODES)
    return float(np.sum(WEIGHTS * values) / np.sqrt(2 * np.pi))


def log_odds_of(win_rate, sd):
    """Mean log odds at which the probability averages to a win rate."""
    check_share("win_rate", win_rate)
    low, high = -FARTHEST, FARTHEST
    while high - low > 1e-12:
        middle = (low + high) / 2
        if marginal_probability(middle, sd) < win_rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def simulate_votes(studies, items, raters, *, win_rate=0.5, tie_rate=0.0, item_sd=0.0, rater_sd=0.0, seed=0):
    """Draw the votes of many studies."""
    for name, size in (("studies", studies), ("items", items), ("raters", raters)):
        check_count(name, size)
    if min(item_sd, rater_sd) < 0:
        raise InputError("standard deviations must be at least 0")
    if not 0 <= tie_rate < 1:
        raise InputError(f"tie_rate must lie in [0, 1), not {tie_rate}")
    rng = np.random.Generator(stream(seed, "simulated votes"))
    log_odds = log_odds_of(win_rate, float(np.hypot(item_sd, rater_sd)))
    log_odds = log_odds + item_sd * rng.standard_normal((studies, items, 1))
    log_odds = log_odds + rater_sd * rng.standard_normal((studies, 1, raters))
    shape = (studies, items, raters)
    votes = np.where(rng.random(shape) < special.expit(log_odds), 1, -1)
    return np.where(rng.random(shape) < tie_rate, 0, votes).astype(np.int8)
