"""Power of a study of preferences, by simulated panels."""

import itertools

import numpy as np
import pandas as pd
from scipy import optimize, special

from casebook.frames import shares
from casebook.raters.preference import FEWEST_RATERS, crossed_pvalues, crossed_variance
from casebook.stats.intervals import FEWEST
from casebook.stats.samples import generator

PRIMARY_TEST = "item sign-flip"
"""The primary test, which speaks for the raters at hand."""

NEW_RATERS = "item and rater t"
NODES, WEIGHTS = special.roots_hermitenorm(40)


def marginal_probability(log_odds, sd, win_rate=0.0):
    """Probability averaged over normal log odds, less a win rate."""
    probabilities = special.expit(log_odds + sd * NODES)
    return float(WEIGHTS @ probabilities / WEIGHTS.sum()) - win_rate


def log_odds_of(win_rate, sd):
    """Mean log odds at which the probability averages to a win rate."""
    return optimize.brentq(marginal_probability, -40, 40, (sd, win_rate), xtol=1e-13)


def simulate_votes(
    studies,
    items,
    raters,
    *,
    win_rate=0.5,
    tie_rate=0.0,
    item_sd=0.0,
    rater_sd=0.0,
    seed=0,
):
    """Votes [studies, items, raters] of many panels; leanings are normal log odds."""
    shape = (studies, items, raters)
    rng = generator(seed, "simulated votes")
    log_odds = log_odds_of(win_rate, float(np.hypot(item_sd, rater_sd)))
    log_odds = log_odds + item_sd * rng.standard_normal((studies, items, 1))
    log_odds = log_odds + rater_sd * rng.standard_normal((studies, 1, raters))
    votes = np.where(rng.random(shape) < special.expit(log_odds), 1, -1)
    return np.where(rng.random(shape) < tie_rate, 0, votes).astype(np.int8)


def simulated_power(
    *,
    items,
    raters,
    win_rates,
    tie_rate=0.12,
    item_sd=1.3,
    rater_sd=0.5,
    alpha=0.05,
    studies=1_000,
    seed=0,
):
    """Power of the tests for every combination of items, raters and win rates.

    The spreads of items and raters (log odds) are those fitted to the documented study.
    """
    tables = []
    for n_items, n_raters, rate in itertools.product(items, raters, win_rates):
        panel = {"items": n_items, "raters": n_raters, "win_rate": rate}
        panel |= {"tie_rate": tie_rate, "item_sd": item_sd, "rater_sd": rater_sd}
        votes = simulate_votes(studies, **panel, seed=seed)
        rates = rejection_rates(votes, alpha=alpha, seed=seed)
        tables.append(rates.assign(**panel))
    return pd.concat(tables, ignore_index=True)


def rejection_rates(votes, *, alpha=0.05, n_resamples=999, seed=0):
    """Share of studies [studies, items, raters] in which each test finds a preference."""
    _, items, raters = votes.shape
    # Randomisation test of the items' means with shared sign vectors.
    means = votes.mean(axis=2)
    signs = generator(seed, "study signs").choice([-1.0, 1.0], (items, n_resamples))
    observed = np.abs(means.sum(axis=1, keepdims=True)) - 1e-9 * items
    hits = np.sum(np.abs(means @ signs) >= observed, axis=1)
    p_values = {PRIMARY_TEST: (hits + 1) / (n_resamples + 1)}
    p_values[NEW_RATERS] = np.empty(0)  # of too few raters or items
    if items >= FEWEST and raters >= FEWEST_RATERS:
        spread = crossed_variance(votes.astype(float))
        p_values[NEW_RATERS] = crossed_pvalues(means.mean(axis=1), *spread, raters)
    counts = {test: (int((p <= alpha).sum()), len(p)) for test, p in p_values.items()}
    table = shares(counts).rename(columns={"system": "test", "value": "rejected"})
    return table[["test", "rejected", "low", "high", "n"]]
