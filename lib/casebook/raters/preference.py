"""Preference between two systems: counts and tests of votes, and the win rate with its intervals.

A vote is 1 (the first system is preferred), 0 (tie), -1 or NaN; votes form a matrix of items x
raters. Votes on one item depend on each other, and so do votes of one rater.
"""

import numpy as np
import pandas as pd
from scipy import special

from casebook.frames import coefficients, contrasts
from casebook.stats.intervals import FEWEST, wilson
from casebook.stats.tests import exact_sign_test, holm
from casebook.verdicts import (
    BETTER,
    NOT_MEASURED,
    UNDECIDED,
    WORSE,
    margin_of,
    verdict_of,
)

THESE_RATERS = "these raters, new items"
NEW_RATERS = "new raters and items"
MARGIN = margin_of("share")
"""Win rates so far from 1/2 count as no difference."""

VOTES = {"wins": 1, "ties": 0, "losses": -1}
RATE_COLUMNS = [
    *("who", "wins", "ties", "losses", "missing", "value", "low", "high"),
    *("p", "p_holm", "verdict", "n", "groups", "reason"),
]
FEWEST_RATERS = 3


def count_votes(votes):
    """Counts of wins, ties, losses and missing votes."""
    votes = np.asarray(votes, dtype=float)
    counts = {name: int((votes == vote).sum()) for name, vote in VOTES.items()}
    return counts | {"missing": int(np.isnan(votes).sum())}


# --- means over items, and over items and raters, as rows like those of contrasts


def items_mean(table, **options):
    """Mean of the items' means, tested by turning the signs of items; options of `contrasts`."""
    means = pd.DataFrame(table, dtype=float).mean(axis=1).dropna()
    scores = pd.DataFrame({"mean": means, "null": 0.0})
    return contrasts(scores, [("mean", "null")], **options).iloc[0].to_dict()


def crossed_mean(table, *, weights="items", level=0.95):
    """Mean over [items, raters], tested for other items and other raters of the same kind."""
    table = pd.DataFrame(table, dtype=float).dropna(how="all")
    values = table.dropna(axis=1, how="all").to_numpy()
    n, raters = values.shape
    shares = np.isfinite(values).astype(float)
    if weights == "items":
        shares /= shares.sum(axis=1, keepdims=True)
    shares *= values.size / shares.sum()
    values = np.nan_to_num(values)
    mean = (shares * values).mean()
    row = {"difference": mean, "low": np.nan, "high": np.nan, "p": np.nan, "groups": n}
    if raters < FEWEST_RATERS:
        return row | {"reason": "fewer_than_three_raters"}
    if n < FEWEST:
        return row | {"reason": "fewer_than_six_units"}
    spread, df, by_rater = crossed_variance(shares * (values - mean))
    if spread <= 1e-18:
        return row | {"reason": "no_variation"}
    tail = (1 + level) / 2
    crossed = special.stdtrit(df, tail) * np.sqrt(spread)
    of_raters = special.stdtrit(raters - 1, tail) * np.sqrt(by_rater)
    reach = max(crossed, of_raters)
    p = crossed_pvalues(mean, spread, df, by_rater, raters)
    return row | {"low": mean - reach, "high": mean + reach, "p": p, "reason": None}


def at_least(crossed, items):
    """A mean over items and raters, never surer than the one over items alone."""
    low = min(crossed["low"], items["low"])
    high = max(crossed["high"], items["high"])
    p = max(crossed["p"], items["p"])
    if np.isnan([crossed["low"], items["low"]]).any():
        return crossed
    return crossed | {"low": low, "high": high, "p": p}


def crossed_variance(tables):
    """Variance of the mean of [..., items, raters], its df (Satterthwaite), variance by raters."""
    items, raters = tables.shape[-2:]
    size = items * raters
    free = (items - 1) * (raters - 1)
    of_items = raters * tables.mean(axis=-1).var(axis=-1, ddof=1)
    of_raters = items * tables.mean(axis=-2).var(axis=-1, ddof=1)
    total = size * tables.var(axis=(-2, -1))
    rest = total - (items - 1) * of_items - (raters - 1) * of_raters
    error = np.maximum(rest / free, 0)
    pooled = np.maximum(of_raters + of_items - error, 0)
    parts = of_items**2 / (items - 1) + of_raters**2 / (raters - 1) + error**2 / free
    df = np.maximum(pooled**2 / np.maximum(parts, 1e-300), 1)
    spread = np.maximum(pooled, np.maximum(of_raters, of_items))
    return spread / size, df, of_raters / size


def crossed_pvalues(mean, spread, df, by_rater, raters):
    """Two-sided p of a mean: the larger of the crossed t and of the t over raters."""
    distance = -np.abs(mean)
    crossed = special.stdtr(df, distance / np.sqrt(np.maximum(spread, 1e-300)))
    of_raters = special.stdtr(
        raters - 1, distance / np.sqrt(np.maximum(by_rater, 1e-300))
    )
    return 2 * np.maximum(crossed, of_raters)


# --- who is preferred


def preference_lines(votes, *, level=0.95, margin=MARGIN, n_resamples=10_000, seed=0):
    """Win rate, ties as half, for these raters (sign flips) and for new ones (t)."""
    margin = 2 * margin  # of net votes, which lie in [-1, 1]
    draws = {"n_resamples": n_resamples, "seed": seed}
    these = items_mean(votes, level=level, margin=margin, **draws)
    new = at_least(crossed_mean(votes, level=level), these)
    new["verdict"] = verdict_of(
        new["low"],
        new["high"],
        margin,
        reason=new["reason"],
        difference=new["difference"],
        p_adjusted=new["p"],
        level=level,
    )
    if np.isnan(new["p"]):
        new["verdict"] = NOT_MEASURED
    lines = pd.DataFrame([these, new]).rename(columns={"difference": "value"})
    numbers = ["value", "low", "high"]
    lines[numbers] = (1 + lines[numbers].clip(-1, 1)) / 2
    lines["who"] = [THESE_RATERS, NEW_RATERS]
    return lines[["who", *numbers, "p", "verdict", "groups", "reason"]]


def win_rates(votes, **options):
    """Win rate, ties as half: of every rater, of these raters on new items, of new raters.

    Options are those of `preference_lines`. A rater's p is of the exact sign test, with Holm's
    correction beside it; who is preferred is decided only where the corrected one rejects too.
    """
    tables = []
    counts = []
    for rater in votes.columns[votes.notna().any()]:
        lines = preference_lines(votes[[rater]], **options)
        tables.append(lines.head(1).assign(who=str(rater)))
        counts.append(count_votes(votes[rater]))
    tests = [exact_sign_test(row["wins"], row["losses"]) for row in counts]
    tables.append(preference_lines(votes, **options))
    counts += 2 * [count_votes(votes)]
    table = pd.concat(tables, ignore_index=True).join(pd.DataFrame(counts))
    table["n"] = table["wins"] + table["ties"] + table["losses"]
    table["p"] = pd.Series(tests, dtype=float).combine_first(table["p"])
    table["p_holm"] = pd.Series(holm(tests), dtype=float)
    doubted = table["p_holm"] > 1 - options.get("level", 0.95)
    table.loc[doubted & table["verdict"].isin([BETTER, WORSE]), "verdict"] = UNDECIDED
    return table[RATE_COLUMNS]


def position_effect(votes, on_the_left):
    """Share of untied votes for the left answer; votes where the first system stood left."""
    votes = np.asarray(votes, dtype=float)
    is_left = np.asarray(on_the_left) == True  # noqa: E712 - objects without a vote
    n_left = int((votes == np.where(is_left, 1, -1)).sum())
    n = int((np.abs(votes) == 1).sum())
    table = coefficients({"left answer chosen": wilson(n_left, n)}, control=0.5)
    table["p"] = pd.Series([exact_sign_test(n_left, n - n_left)], dtype=float)
    columns = ["what", "value", "low", "high", "p", "n", "reason"]
    return table.rename(columns={"system": "what"})[columns]
