"""Preference between two systems: counts and tests of votes, and the win rate with its intervals.

A vote is 1 (the first system is preferred), 0 (tie), -1 or NaN; votes form a matrix of items x
raters. Votes on one item depend on each other, and so do votes of one rater.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.frames import coefficients
from casebook.raters.crossed import MeanTest, at_least, crossed_mean
from casebook.stats.intervals import (
    FEWEST,
    Interval,
    bootstrap_mean,
    bootstrap_statistic,
    newcombe,
    too_few,
    wilson,
)
from casebook.stats.tests import exact_sign_test, holm, sign_flips
from casebook.verdicts import NOT_MEASURED, verdict_of

TIES = ("drop", "half")
WIN_RATE_UNITS = ("vote", "item", "rater", "item and rater")
THESE_RATERS = "these raters, new items"
NEW_RATERS = "new raters and items"
MARGIN = 0.05
"""Win rates so far from 1/2 count as no difference."""

MOST_STEPS = 5e8  # of counting all sign patterns; beyond it some are drawn
VOTES = {"wins": 1, "ties": 0, "losses": -1}


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
        pvalue, low, high = (float(x[0]) for x in (flips.p, flips.low, flips.high))
    reason = too_few(n, None)
    if reason is None and not math.isfinite(low + high):
        reason = "too_few_units_for_the_level"
    elif reason is None and low == high:
        reason = "no_variation"
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
    bounds = []
    for signed in (means, -means):
        order = np.argsort(signed, kind="stable")
        cumulative = empty + np.cumsum(weights[order])
        # Equal means stand together: the last of them says how often one is reached.
        position = np.searchsorted(cumulative, alpha / 2 * (1 + 1e-12), side="right")
        bounds.append(-math.inf if empty > alpha / 2 else signed[order[position]])
    return pvalue, bounds[0], -bounds[1]


def preference_lines(votes, *, level=0.95, margin=MARGIN, n_resamples=100_000, seed=0):
    """Win rate, ties as half, for these raters (sign-flip) and for new ones (t)."""
    votes = np.asarray(votes, dtype=float)
    flips = item_flips(votes, level=level, n_resamples=n_resamples, seed=seed)
    crossed = at_least(crossed_mean(votes, level=level, limits=(-1.0, 1.0)), flips)
    rows = []
    for scope, test in {THESE_RATERS: flips, NEW_RATERS: crossed}.items():
        net = test.interval
        gap = {"reason": net.reason, "difference": net.estimate, "p_adjusted": test.pvalue}
        verdict = verdict_of(net.low, net.high, 2 * margin, level=level, **gap)
        row = {"scope": scope, **_rate(net).row("win_rate"), "p": test.pvalue}
        row |= {"verdict": NOT_MEASURED if test.pvalue is None else verdict, "items": net.n}
        rows.append(row | {"method": net.method, "reason": net.reason})
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
    casts = {str(rater): votes[[rater]] for rater in votes.columns[votes.notna().any()]}
    tables = [preference_lines(cast, **options).head(1) for cast in casts.values()]
    adjusted = holm([table["p"].iloc[0] for table in tables])
    tables.append(preference_lines(votes, **options))
    casts |= dict.fromkeys((THESE_RATERS, NEW_RATERS), votes)
    table = pd.concat(tables, ignore_index=True)
    table = table.rename(columns={"win_rate": "value", "items": "groups"}).assign(who=list(casts))
    table = table.join(pd.DataFrame(map(count_votes, casts.values())))
    table["n"] = table["wins"] + table["ties"] + table["losses"]
    table["p_holm"] = np.array([*adjusted, None, None], dtype=float)
    columns = ["who", "wins", "ties", "losses", "missing", "value", "low", "high", "p", "p_holm"]
    return table[[*columns, "verdict", "n", "groups", "method", "reason"]]


# --- the win rate


def win_rate(votes, *, unit="item", ties="drop", level=0.95, n_resamples=10_000, seed=0):
    """Share of votes that the first system wins, with an interval by what would be new."""
    scores = (np.asarray(votes, dtype=float) + 1) / 2
    if ties == "drop":
        scores[scores == 0.5] = np.nan
    scored = np.isfinite(scores)
    if unit == "vote" or not scored.any():
        return wilson(float(np.nansum(scores)), int(scored.sum()), level)
    clusters = np.nonzero(scored)[1 if unit == "rater" else 0]
    mean = bootstrap_mean(
        scores[scored], clusters=clusters, level=level, n_resamples=n_resamples, seed=seed
    )
    mean = replace(mean, n=len(np.unique(clusters)))
    if mean.n < FEWEST:
        # An interval by vote is one of new votes, not of new items or raters.
        mean = replace(mean, low=None, high=None, reason="fewer_than_six_clusters")
    if unit != "item and rater":
        return mean
    crossed = crossed_mean(scores, weights="votes", level=level, limits=(0.0, 1.0))
    return at_least(crossed, MeanTest(mean, 0.0)).interval


def preference_intervals(votes, *, n_resamples=10_000, seed=0):
    """All intervals of the win rate side by side."""
    options = {"n_resamples": n_resamples, "seed": seed}
    pairs = [(ties, unit) for ties in TIES for unit in WIN_RATE_UNITS]
    rates = {(ties, unit): win_rate(votes, unit=unit, ties=ties, **options) for ties, unit in pairs}
    table = coefficients(rates).rename(columns={"value": "win_rate"})
    table = pd.DataFrame(pairs, columns=["ties", "unit"]).join(table)
    return table[["ties", "unit", "win_rate", "low", "high", "n", "reason"]]


def position_effect(votes, on_the_left):
    """What the side does to the preference, a row each; votes where the first system stood left."""
    votes = np.asarray(votes, dtype=float)
    is_left = np.asarray(on_the_left) == True  # noqa: E712 - objects without a vote
    at_left = count_votes(votes[is_left])
    at_right = count_votes(votes[~is_left])
    n_left = at_left["wins"] + at_left["losses"]
    n_right = at_right["wins"] + at_right["losses"]
    for_left = at_left["wins"] + at_right["losses"]
    # The mean of both rates is half of one plus the rate at the left minus the losses at the right.
    balanced = newcombe(at_left["wins"], n_left, at_right["losses"], n_right)
    intervals = {
        "left answer chosen": wilson(for_left, n_left + n_right),
        "win rate on the left": wilson(at_left["wins"], n_left),
        "win rate on the right": wilson(at_right["wins"], n_right),
        "left minus right": newcombe(at_left["wins"], n_left, at_right["wins"], n_right),
        "win rate, sides balanced": _rate(balanced),
    }
    table = coefficients(intervals).rename(columns={"system": "what"})
    test = exact_sign_test(for_left, n_left + n_right - for_left)
    table["p"] = [test.pvalue, *[np.nan] * (len(table) - 1)]
    return table[["what", "value", "low", "high", "p", "n", "reason"]].astype({"p": float})


# --- dependence


def dependence(votes, *, n_resamples=2_000, seed=0):
    """How votes on one item depend on each other, and how many independent ones they are worth."""
    scores = (pd.DataFrame(votes, dtype=float).dropna(how="all").to_numpy() + 1) / 2
    sizes = np.isfinite(scores).sum(axis=1)
    n = int(sizes.sum())
    icc = bootstrap_statistic(scores, _icc, n_resamples=n_resamples, seed=seed)
    effect = 1 + (np.sum(sizes**2) / max(n, 1) - 1) * icc.row()["value"]
    of_items = {
        "ICC(1) of votes on one item": icc.row(),
        "design effect": {"value": effect},
        "effective number of votes": {"value": n / effect if effect > 0 else None},
    }
    table = pd.DataFrame(of_items.values()).assign(measure=list(of_items), n=n, reason=icc.reason)
    return table[["measure", "value", "low", "high", "n", "reason"]]


# ICC(1) of scores in rows of unequal length; NaN if undefined.
def _icc(scores):
    sizes = (~np.isnan(scores)).sum(axis=1)
    n = sizes.sum()
    groups = len(sizes)
    if groups < 2 or n <= groups:
        return np.nan
    means = np.nanmean(scores, axis=1)
    within = np.nansum((scores - means[:, None]) ** 2) / (n - groups)
    between = np.sum(sizes * (means - np.nanmean(scores)) ** 2) / (groups - 1)
    size = (n - np.sum(sizes**2) / n) / (groups - 1)
    total = between + (size - 1) * within
    return (between - within) / total if total > 0 else np.nan
