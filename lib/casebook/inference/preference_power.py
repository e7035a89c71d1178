"""Power of a preference study: exact for the sign test, simulated for whole panels."""

import itertools

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.inference.preference_study import rejection_rates
from casebook.inference.vote_simulation import simulate_votes
from casebook.stats.samples import check_count, check_share

WIN_RATES = (0.55, 0.60, 0.65, 0.70, 0.75)
MOST_VOTES = 200_000


def sign_test_power(n, win_rate, *, alpha=0.05):
    """Exact power of the two-sided sign test."""
    check_count("n", n)
    check_share("win_rate", win_rate)
    check_share("alpha", alpha)
    return float(_power(np.array([n]), win_rate, alpha)[0])


def _power(n, win_rate, alpha):
    """Power for every size; up to `most` wins the test rejects on the lower side."""
    most = np.floor(special.bdtrik(alpha / 2, n, 0.5))
    # bdtrik inverts a continuous extension: step to the count that fits exactly.
    most = np.where(special.bdtr(most + 1, n, 0.5) <= alpha / 2, most + 1, most)
    most = np.where((most >= 0) & (special.bdtr(most, n, 0.5) > alpha / 2), most - 1, most)
    lower = special.bdtr(most, n, win_rate)
    upper = special.bdtr(most, n, 1 - win_rate)
    return np.where(most >= 0, lower + upper, 0.0)


def sign_test_sample_size(win_rate, *, power=0.8, alpha=0.05):
    """Find the number of votes from which on the sign test keeps a power."""
    for name, value in (("win_rate", win_rate), ("power", power), ("alpha", alpha)):
        check_share(name, value)
    if power <= alpha:
        raise InputError(f"power {power} must exceed alpha {alpha}")
    z = special.ndtri(1 - alpha / 2) + special.ndtri(power)
    guess = (z / max(abs(2 * win_rate - 1), 1e-9)) ** 2
    if guess > MOST_VOTES:
        raise InputError(f"a win rate of {win_rate} needs more than {MOST_VOTES} votes")
    n = np.arange(1, int(2 * guess) + 200)
    return int(n[_power(n, win_rate, alpha) < power].max(initial=0)) + 1


def power_table(win_rates=WIN_RATES, *, power=0.8, alpha=0.05, design_effect=1.0):
    """Votes needed to find a preference, for several true win rates."""
    if not design_effect > 0:
        raise InputError(f"design_effect must be above 0, not {design_effect}")
    rows = []
    for rate in win_rates:
        n = sign_test_sample_size(rate, power=power, alpha=alpha)
        row = {"win_rate": rate, "votes": n}
        row["power"] = sign_test_power(n, rate, alpha=alpha)
        rows.append(row | {"clustered_votes": int(np.ceil(n * design_effect))})
    return pd.DataFrame(rows)


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
    """Power of all tests for every combination of items, raters and win rates."""
    spread = {"tie_rate": tie_rate, "item_sd": item_sd, "rater_sd": rater_sd}
    tables = []
    for n_items, n_raters, rate in itertools.product(items, raters, win_rates):
        votes = simulate_votes(studies, n_items, n_raters, win_rate=rate, **spread, seed=seed)
        design = {"items": n_items, "raters": n_raters, "win_rate": rate, **spread}
        rates = rejection_rates(votes, alpha=alpha, seed=seed)
        tables.append(rates.assign(**design)[[*design, *rates.columns]])
    return pd.concat(tables, ignore_index=True)
