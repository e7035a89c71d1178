"""Preference between two systems: counts and tests of votes, and the win rate with its intervals.

A vote is 1 (the first system is preferred), 0 (tie), -1 or NaN; votes form a matrix of items x
raters. Votes on one item depend on each other, and so do votes of one rater.
"""

import itertools
import math
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import special

from casebook.frames import coefficients
from casebook.stats.intervals import (
    FEWEST,
    Interval,
    bootstrap_mean,
    newcombe,
    too_few,
    wilson,
)
from casebook.stats.tests import exact_sign_test, holm, sign_flips
from casebook.verdicts import NOT_MEASURED, verdict_of

TIES = ("drop", "half")
WIN_RATE_UNITS = ("item", "item and rater")
THESE_RATERS = "these raters, new items"
NEW_RATERS = "new raters and items"
MARGIN = 0.05
"""Win rates so far from 1/2 count as no difference."""

MOST_STEPS = 5e8  # of counting all sign patterns; beyond it some are drawn
VOTES = {"wins": 1, "ties": 0, "losses": -1}
RATE_COLUMNS = ["who", "wins", "ties", "losses", "missing", "value", "low", "high", "p", "p_holm"]
RATE_COLUMNS += ["verdict", "n", "groups", "method", "reason"]
FEWEST_RATERS = 3
METHOD = "t, items and raters crossed"

#: A mean over items, or over items and raters: its interval and the test that it is a null value.
MeanTest = namedtuple("MeanTest", "interval pvalue df", defaults=(None, None))


# Count wins, ties, losses and missing votes.
def count_votes(votes):
    votes = np.asarray(votes, dtype=float)
    counts = {name: int((votes == vote).sum()) for name, vote in VOTES.items()}
    return counts | {"missing": int(np.isnan(votes).sum())}


# --- the item as unit


def item_flips(table, *, level=0.95, n_resamples=100_000, seed=0):
    """Test and bound the mean of the items' means by turning signs of items."""
    scores = pd.DataFrame(table, dtype=float).dropna(how="all").to_numpy()
    n = len(scores)
    if not n:
        return MeanTest(Interval(None, None, None, level, 0, "sign flips", "no_units"))
    n_raters = np.isfinite(scores).sum(axis=1)
    # Means of items are whole numbers over a common denominator: all patterns can be counted by
    # their sums.
    denominator = math.lcm(*n_raters.tolist())
    numerators = np.nansum(scores, axis=1) * (denominator / n_raters)
    if n * n * np.abs(numerators).sum() <= MOST_STEPS and not np.any(numerators % 1):
        method = "all sign patterns"
        pvalue, *bounds = _counted_flips(numerators.astype(int), 1 - level)
        low, high = np.divide(bounds, denominator).tolist()
    else:
        method = f"{n_resamples:,} random sign patterns"
        means = numerators[:, None] / denominator
        flips = sign_flips(means, np.ones(n), level=level, n_resamples=n_resamples, seed=seed)
        pvalue = float(flips.p[0])
        low = float(flips.low[0])
        high = float(flips.high[0])
    reason = too_few(n, None)
    if not math.isfinite(low + high):
        reason = reason or "too_few_units_for_the_level"
    elif low == high:
        reason = reason or "no_variation"
    found = Interval(float(numerators.sum() / (n * denominator)), low, high, level, n, method)
    if reason:
        found = replace(found, low=None, high=None, reason=reason)
    return MeanTest(found, pvalue)


# P-value of whole numbers and the bounds of their mean, of all sign patterns.
def _counted_flips(values, alpha):
    lowest_sum = int(np.minimum(values, 0).sum())
    n = len(values)
    # Probability of a random subset's size (row) and sum (column, from the lowest one).
    probability = np.zeros((n + 1, int(np.abs(values).sum()) + 1))
    probability[0, -lowest_sum] = 1.0
    for value in values:
        with_value = np.roll(probability[:-1], value, axis=1)  # nothing reaches beyond the edge
        probability *= 0.5
        probability[1:] += 0.5 * with_value
    sums = np.arange(probability.shape[1]) + lowest_sum
    total = values.sum()
    is_as_extreme = np.abs(total - 2 * sums) >= abs(total)
    pvalue = min(1.0, float(probability.sum(axis=0)[is_as_extreme].sum()))
    # The means of all subsets of items bound what the test does not reject (Hartigan 1969).
    means = (sums / np.arange(1, n + 1)[:, None]).ravel()
    weights = probability[1:].ravel()
    empty = probability[0].sum()
    if empty > alpha / 2:
        return pvalue, -math.inf, math.inf
    bounds = []
    for signed in (means, -means):
        order = np.argsort(signed, kind="stable")
        cumulative = empty + np.cumsum(weights[order])
        # Equal means stand together: the last of them says how often one is reached.
        position = np.searchsorted(cumulative, alpha / 2 * (1 + 1e-12), side="right")
        bounds.append(signed[order[position]])
    return pvalue, bounds[0], -bounds[1]


# --- items and raters that are both drawn anew


def crossed_mean(table, *, weights="items", level=0.95, limits=(-np.inf, np.inf)):
    """Interval of a mean [items, raters] for other items and other raters of the same kind."""
    values = pd.DataFrame(table, dtype=float).dropna(how="all").dropna(axis=1, how="all")
    values = values.to_numpy()
    n, raters = values.shape
    if not n:
        return MeanTest(Interval(None, None, None, level, n, METHOD, "no_units"))
    shares = np.isfinite(values) / 1.0
    if weights == "items":
        shares /= shares.sum(axis=1, keepdims=True)
    shares *= values.size / shares.sum()
    values = np.nan_to_num(values)
    found = Interval(float((shares * values).mean()), None, None, level, n, METHOD)
    if raters < FEWEST_RATERS:
        return MeanTest(replace(found, reason="fewer_than_three_raters"))
    if n < FEWEST:
        return MeanTest(replace(found, reason="fewer_than_six_units"))
    spread, df, by_rater = crossed_variance(shares * (values - found.estimate))
    if spread <= 1e-18:
        return MeanTest(replace(found, reason="no_variation"))
    reach = special.stdtrit([df, raters - 1], (1 + level) / 2) * np.sqrt([spread, by_rater])
    bounds = np.clip(found.estimate + reach.max() * np.array([-1, 1]), *limits)
    low, high = bounds.tolist()
    pvalue = crossed_pvalues(found.estimate, spread, df, by_rater, raters)
    return MeanTest(replace(found, low=low, high=high), float(pvalue), float(df))


# Hull of the interval over items and raters and the one over items alone.
def at_least(crossed, items):
    wide = crossed.interval
    narrow = items.interval
    if None in (wide.low, narrow.low):
        return crossed
    low = min(wide.low, narrow.low)
    high = max(wide.high, narrow.high)
    pvalue = max(crossed.pvalue, items.pvalue)
    return MeanTest(replace(wide, low=low, high=high), pvalue, crossed.df)


# Variance of the mean of [..., items, raters], its df (Satterthwaite), variance by raters.
def crossed_variance(tables):
    items, raters = tables.shape[-2:]
    cells = tables - tables.mean(axis=(-2, -1), keepdims=True)
    rows = cells.mean(-1, keepdims=True)
    columns = cells.mean(-2, keepdims=True)
    rest = cells - rows - columns
    msi = raters * np.sum(rows**2, axis=(-2, -1)) / (items - 1)
    msr = items * np.sum(columns**2, axis=(-2, -1)) / (raters - 1)
    mse = np.sum(rest**2, axis=(-2, -1)) / ((items - 1) * (raters - 1))
    pooled = np.maximum(msr + msi - mse, 0)
    parts = msi**2 / (items - 1) + msr**2 / (raters - 1)
    parts += mse**2 / ((items - 1) * (raters - 1))
    df = np.divide(pooled**2, parts, out=np.ones_like(parts), where=parts > 0)
    spread = np.maximum(pooled, np.maximum(msr, msi)) / (items * raters)
    return spread, np.maximum(df, 1.0), msr / (items * raters)


# Two-sided p of a mean: the larger of the crossed t and of the t over raters.
def crossed_pvalues(gap, spread, df, by_rater, raters):
    crossed = special.stdtr(df, -np.abs(gap) / np.sqrt(np.maximum(spread, 1e-300)))
    of_raters = special.stdtr(raters - 1, -np.abs(gap) / np.sqrt(np.maximum(by_rater, 1e-300)))
    return 2 * np.maximum(crossed, of_raters)


# --- who is preferred


def preference_lines(votes, *, level=0.95, margin=MARGIN, n_resamples=100_000, seed=0):
    """Win rate, ties as half, for these raters (sign-flip) and for new ones (t)."""
    votes = np.asarray(votes, dtype=float)
    flips = item_flips(votes, level=level, n_resamples=n_resamples, seed=seed)
    crossed = at_least(crossed_mean(votes, level=level, limits=(-1.0, 1.0)), flips)
    rows = []
    for scope, test in {THESE_RATERS: flips, NEW_RATERS: crossed}.items():
        net = test.interval
        found = {"reason": net.reason, "difference": net.estimate, "p_adjusted": test.pvalue}
        verdict = verdict_of(net.low, net.high, 2 * margin, level=level, **found)
        row = {"scope": scope, **_rate(net).row("win_rate"), "p": test.pvalue}
        row["verdict"] = NOT_MEASURED if test.pvalue is None else verdict
        rows.append(row | {"items": net.n, "method": net.method, "reason": net.reason})
    table = pd.DataFrame(rows).drop(columns="n")
    return table.astype({"p": float, "reason": object})


# The interval of a net vote in [-1, 1] as one of a win rate.
def _rate(net):
    numbers = (net.estimate, net.low, net.high)
    estimate, low, high = (None if x is None else (1 + x) / 2 for x in numbers)
    return replace(net, estimate=estimate, low=low, high=high)


def win_rates(votes, **options):
    """Win rate, ties as half: of every rater, of these raters on new items, of new raters.

    Options are those of `preference_lines`; p-values of raters have Holm's correction beside them.
    """
    casts = {}
    tables = []
    for rater in votes.columns[votes.notna().any()]:
        casts[str(rater)] = votes[[rater]]
        tables.append(preference_lines(votes[[rater]], **options).head(1))
    adjusted = holm([table["p"].iloc[0] for table in tables])
    tables.append(preference_lines(votes, **options))
    casts |= {THESE_RATERS: votes, NEW_RATERS: votes}
    table = pd.concat(tables, ignore_index=True)
    table = table.rename(columns={"win_rate": "value", "items": "groups"})
    table = table.join(pd.DataFrame(map(count_votes, casts.values())))
    table["who"] = list(casts)
    table["n"] = table["wins"] + table["ties"] + table["losses"]
    table["p_holm"] = pd.Series(adjusted, dtype=float)
    return table[RATE_COLUMNS]


# --- the win rate


def win_rate(votes, *, unit="item", ties="drop", level=0.95, n_resamples=10_000, seed=0):
    """Share of votes that the first system wins, for new items, or for new items and raters."""
    scores = (np.asarray(votes, dtype=float) + 1) / 2
    if ties == "drop":
        scores[scores == 0.5] = np.nan
    scored = np.isfinite(scores)
    items = np.nonzero(scored)[0]
    draws = {"n_resamples": n_resamples, "seed": seed}
    mean = bootstrap_mean(scores[scored], clusters=items, level=level, **draws)
    mean = replace(mean, n=len(np.unique(items)))
    if mean.n < FEWEST:
        # An interval by vote is one of new votes, not of new items.
        mean = replace(mean, low=None, high=None, reason="fewer_than_six_clusters")
    if unit == "item":
        return mean
    crossed = crossed_mean(scores, weights="votes", level=level, limits=(0.0, 1.0))
    return at_least(crossed, MeanTest(mean, 0.0)).interval


def preference_intervals(votes, **draws):
    """Win rates with ties as half and without them, each with both intervals."""
    rates = {}
    for key in itertools.product(TIES, WIN_RATE_UNITS):
        ties, unit = key
        rates[key] = win_rate(votes, unit=unit, ties=ties, **draws)
    table = coefficients(rates).rename(columns={"value": "win_rate"})
    table[["ties", "unit"]] = list(rates)
    return table[["ties", "unit", "win_rate", "low", "high", "n", "reason"]]


def position_effect(votes, on_the_left):
    """What the side does to the preference, a row each; votes where the first system stood left."""
    votes = np.asarray(votes, dtype=float)
    is_left = np.asarray(on_the_left) == True  # noqa: E712 - objects without a vote
    won_left = int((votes[is_left] == 1).sum())
    lost_left = int((votes[is_left] == -1).sum())
    won_right = int((votes[~is_left] == 1).sum())
    lost_right = int((votes[~is_left] == -1).sum())
    n_left = won_left + lost_left
    n_right = won_right + lost_right
    for_left = won_left + lost_right
    intervals = {
        "left answer chosen": wilson(for_left, n_left + n_right),
        "win rate on the left": wilson(won_left, n_left),
        "win rate on the right": wilson(won_right, n_right),
        "left minus right": newcombe(won_left, n_left, won_right, n_right),
        # The mean of both rates: half of one plus the rate at the left minus the losses at right.
        "win rate, sides balanced": _rate(newcombe(won_left, n_left, lost_right, n_right)),
    }
    table = coefficients(intervals).rename(columns={"system": "what"})
    test = exact_sign_test(for_left, n_left + n_right - for_left)
    table["p"] = pd.Series([test.pvalue], dtype=float)
    return table[["what", "value", "low", "high", "p", "n", "reason"]]
