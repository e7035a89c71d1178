"""Power of a study of preferences: exact for votes as one sample, simulated for whole panels."""

import itertools

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from casebook.errors import InputError
from casebook.frames import shares
from casebook.raters import preference
from casebook.raters.crossed import FEWEST_RATERS, crossed_pvalues, crossed_variance
from casebook.stats.intervals import (
    FEWEST,
)
from casebook.stats.samples import check_count, generator

WIN_RATES = (0.55, 0.60, 0.65, 0.70, 0.75)
MOST_VOTES = 200_000
PRIMARY_TEST = "item sign-flip"
"""The primary test, which speaks for the raters at hand."""

NEW_RATERS = "item and rater t"
NODES, WEIGHTS = special.roots_hermitenorm(40)


def sign_test_power(n, win_rate, *, alpha=0.05):
    """Exact power of the two-sided sign test on n untied votes (a number or an array)."""
    n = np.asarray(n)
    # Up to so many wins, or losses, the test rejects; -1 where it never does.
    critical = stats.binom.ppf(alpha / 2, n, 0.5)
    critical = critical - (stats.binom.cdf(critical, n, 0.5) > alpha / 2)
    return stats.binom.cdf(critical, n, win_rate) + stats.binom.cdf(critical, n, 1 - win_rate)


def sign_test_sample_size(win_rate, *, power=0.8, alpha=0.05):
    """Number of votes from which on the sign test keeps a power."""
    z = special.ndtri(1 - alpha / 2) + special.ndtri(power)
    approximate_n = (z / max(abs(2 * win_rate - 1), 1e-9)) ** 2
    if approximate_n > MOST_VOTES:
        raise InputError(f"a win rate of {win_rate} needs more than {MOST_VOTES} votes")
    n = np.arange(1, int(2 * approximate_n) + 200)
    return int(n[sign_test_power(n, win_rate, alpha=alpha) < power].max(initial=0)) + 1


def power_table(win_rates=WIN_RATES, *, design_effect, alpha=0.05):
    """Votes needed to find a preference, independent and clustered, by true win rate."""
    rows = []
    for rate in win_rates:
        n = sign_test_sample_size(rate, alpha=alpha)
        rows.append(
            {
                "win_rate": rate,
                "votes": n,
                "power": float(sign_test_power(n, rate, alpha=alpha)),
                "clustered_votes": int(np.ceil(n * design_effect)),
            }
        )
    return pd.DataFrame(rows)


def marginal_probability(log_odds, sd):
    """Probability averaged over normal log odds."""
    return float(np.sum(WEIGHTS * special.expit(log_odds + sd * NODES)) / np.sqrt(2 * np.pi))


def log_odds_of(win_rate, sd):
    """Mean log odds at which the probability averages to a win rate."""

    def excess(log_odds):
        return marginal_probability(log_odds, sd) - win_rate

    return optimize.brentq(excess, -40, 40, xtol=1e-13)


def simulate_votes(
    studies, items, raters, *, win_rate=0.5, tie_rate=0.0, item_sd=0.0, rater_sd=0.0, seed=0
):
    """Draw the votes [studies, items, raters] of many panels; leanings are normal log odds."""
    for name, size in (("studies", studies), ("items", items), ("raters", raters)):
        check_count(name, size)
    rng = generator(seed, "simulated votes")
    log_odds = log_odds_of(win_rate, float(np.hypot(item_sd, rater_sd)))
    log_odds = log_odds + item_sd * rng.standard_normal((studies, items, 1))
    log_odds = log_odds + rater_sd * rng.standard_normal((studies, 1, raters))
    shape = (studies, items, raters)
    votes = np.where(rng.random(shape) < special.expit(log_odds), 1, -1)
    return np.where(rng.random(shape) < tie_rate, 0, votes).astype(np.int8)


def simulated_power(
    *,
    items=(50,),
    raters=(4,),
    win_rates=WIN_RATES,
    tie_rate=0.12,
    item_sd=1.3,
    rater_sd=0.5,
    alpha=0.05,
    studies=1_000,
    seed=0,
):
    """Power of all tests for every combination of items, raters and win rates.

    The spreads of items and raters (log odds) are those fitted to the documented study.
    """
    tables = []
    for n_items, n_raters, rate in itertools.product(items, raters, win_rates):
        panel = {
            "items": n_items,
            "raters": n_raters,
            "win_rate": rate,
            "tie_rate": tie_rate,
            "item_sd": item_sd,
            "rater_sd": rater_sd,
        }
        votes = simulate_votes(studies, **panel, seed=seed)
        rates = rejection_rates(votes, alpha=alpha, seed=seed)
        tables.append(pd.DataFrame(panel, rates.index).join(rates))
    return pd.concat(tables, ignore_index=True)


def rejection_rates(votes, *, alpha=0.05, n_resamples=999, seed=0):
    """Share of studies [studies, items, raters] in which each test finds a preference."""
    studies, items, raters = votes.shape
    means = votes.mean(axis=2)
    p_values = {
        "pooled sign": _sign(votes.reshape(studies, -1)),
        "item majority sign": _sign(means),
        PRIMARY_TEST: _sign_flip(means, n_resamples, seed),
        "item t": _t_test(means),
        "rater t": _t_test(votes.mean(axis=1)),
        NEW_RATERS: None,
    }
    if items >= FEWEST and raters >= FEWEST_RATERS:
        spread = crossed_variance(votes.astype(float))
        p_values[NEW_RATERS] = crossed_pvalues(votes.mean(axis=(1, 2)), *spread, raters)
    counts = {
        test: (0, 0) if p is None else (int((p <= alpha).sum()), studies)
        for test, p in p_values.items()
    }
    table = shares(counts).rename(columns={"system": "test", "value": "rejected"})
    return table.drop(columns=["groups", "control", "reason"])


def interval_coverage(
    *,
    items,
    raters,
    win_rate,
    tie_rate=0.12,
    item_sd=1.3,
    rater_sd=0.5,
    studies=200,
    n_resamples=1_000,
    seed=0,
):
    """Share of simulated studies whose interval of the win rate holds the truth.

    The truth for new items is the win rate of the raters of that study on all items that there
    could be; for new items and raters it is `win_rate`.
    """
    rng = generator(seed, "interval coverage")
    mean = log_odds_of(win_rate, float(np.hypot(item_sd, rater_sd)))
    inside = {"item": [], "item and rater": []}
    for study in range(studies):
        odds = mean + rater_sd * rng.standard_normal(raters)
        chances = special.expit(odds + item_sd * rng.standard_normal((items, 1)))
        votes = np.where(rng.random(chances.shape) < chances, 1.0, -1.0)
        votes[rng.random(chances.shape) < tie_rate] = 0.0
        of_these = np.mean([marginal_probability(lean, item_sd) for lean in odds])
        for unit, truth in (("item", of_these), ("item and rater", win_rate)):
            rate = preference.win_rate(votes, unit=unit, n_resamples=n_resamples, seed=study)
            if rate.low is not None:
                inside[unit].append(rate.low <= truth <= rate.high)
    table = shares({unit: (sum(hits), len(hits)) for unit, hits in inside.items()})
    table = table.rename(columns={"system": "unit", "value": "coverage"})
    return table.drop(columns=["groups", "control", "reason"])


def _sign(values):
    """Exact two-sided sign test of every row; 1 where all are tied."""
    wins = (values > 0).sum(axis=1)
    losses = (values < 0).sum(axis=1)
    return np.minimum(1, 2 * stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5))


def _sign_flip(means, n_resamples, seed):
    """Randomisation test of every row with shared sign vectors."""
    rng = generator(seed, "study signs")
    signs = rng.choice([-1.0, 1.0], (means.shape[1], n_resamples))
    observed = np.abs(means.sum(axis=1, keepdims=True))
    hits = np.sum(np.abs(means @ signs) >= observed - 1e-9 * means.shape[1], axis=1)
    return (hits + 1) / (n_resamples + 1)


def _t_test(values):
    """One-sample t test of every row; 1 for a constant row at 0, else 0; None of single columns."""
    n = values.shape[1]
    mean = values.mean(axis=1)
    if n < 2:
        return None
    error = values.std(axis=1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, np.abs(mean) / error, np.where(mean == 0, 0, np.inf))
    return 2 * special.stdtr(n - 1, -t)
