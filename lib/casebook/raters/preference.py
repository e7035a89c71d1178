"""Preference between two systems: counts and tests of votes, and the win rate with its intervals.

A vote is 1 (the first system is preferred), 0 (tie), -1 or NaN; votes form a matrix of items x
raters. Votes on one item depend on each other, and so do votes of one rater.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special, stats

from casebook.stats.intervals import (
    FEWEST,
    Interval,
    at_least,
    bootstrap_mean,
    bootstrap_statistic,
    bounded,
    crossed_mean,
    newcombe,
    too_few,
    wilson,
)
from casebook.stats.tests import (
    PairedTest,
    exact_sign_test,
    holm,
    paired_t,
    positive,
    sign_flips,
    wilcoxon_signed_rank,
)

TIES = ("drop", "half")
WIN_RATE_UNITS = ("vote", "item", "rater", "item and rater")
THESE_RATERS = "these raters, new items"
NEW_RATERS = "new raters and items"
EQUIVALENCE_RANGE = (0.45, 0.55)
"""Win rates that count as no difference."""

MOST_STEPS = 5e8  # of counting all sign patterns; beyond it some are drawn
EXACT = "all sign patterns"
LEAST_EXPECTED = 5  # expected count below which the chi-square approximation is doubtful


def count_votes(votes):
    """Count wins, ties, losses and missing votes."""
    V = np.asarray(votes, dtype=float)
    counts = {
        name: int(np.sum(value == V)) for name, value in (("wins", 1), ("ties", 0), ("losses", -1))
    }
    return counts | {"missing": int(np.isnan(V).sum())}


def item_means(votes):
    """Mean net vote of every item that has a vote."""
    V = np.asarray(votes, dtype=float)
    return np.nanmean(V[~np.isnan(V).all(axis=1)], axis=1)


def win_tie_loss_table(votes):
    """Count and test the votes of every rater, with Holm's correction, and of all together."""
    V = np.asarray(votes, dtype=float)
    names = list(votes.columns) if isinstance(votes, pd.DataFrame) else range(V.shape[1])
    rows = []
    for name, column in [*zip(names, V.T, strict=True), ("pooled", V)]:
        counts = count_votes(column)
        n = counts["wins"] + counts["losses"]
        share = wilson(counts["wins"], n)
        test = exact_sign_test(counts["wins"], counts["losses"])
        rows.append(
            {
                "rater": name,
                **{key: counts[key] for key in ("wins", "losses", "ties", "missing")},
                "n": n,
                "win_rate": share.estimate,
                "low": share.low,
                "high": share.high,
                "p_sign": test.pvalue,
                "log_p": test.log_pvalue,
                "reason": test.reason,
            }
        )
    adjusted = [*holm([row["p_sign"] for row in rows[:-1]]), None]
    return pd.DataFrame(rows).assign(p_holm=pd.Series(adjusted, dtype=object))


# --- the item as unit ------------------------------------------------------------------


@dataclass(frozen=True)
class Flips:
    """Mean of items with its sign-flip test, the inverted interval, and the p-value's error."""

    interval: Interval
    pvalue: float | None
    error: float | None


def item_flips(table, *, level=0.95, n_resamples=100_000, seed=0):
    """Test and bound the mean of the items' means by turning signs of items."""
    X = np.asarray(table, dtype=float)
    X = X[np.isfinite(X).any(axis=1)]
    known = np.isfinite(X).sum(axis=1)
    n = len(X)
    sums = np.nansum(X, axis=1)
    if not n:
        return Flips(Interval(None, None, None, level, 0, EXACT, "no_units"), None, None)
    # Means of items are whole numbers over a common denominator: all patterns can be counted by
    # their sums.
    common = math.lcm(*(int(k) for k in known))
    values = sums * (common / known)
    mean = float(values.sum() / (n * common))
    method = EXACT
    if not values.any():
        return Flips(Interval(mean, None, None, level, n, method, "no_variation"), 1.0, 0.0)
    if n * n * np.abs(values).sum() <= MOST_STEPS and not np.any(values % 1):
        pvalue, low, high = _counted_flips(values.astype(int), 1 - level)
        low = low / common
        high = high / common
        error = 0.0
    else:
        method = f"{n_resamples:,} random sign patterns"
        means = (sums / known)[:, None]
        found = sign_flips(means, np.ones(n), level=level, n_resamples=n_resamples, seed=seed)
        low, high, pvalue = (float(x[0]) for x in (found.low, found.high, found.p))
        error = math.sqrt(pvalue * (1 - pvalue) / n_resamples)
    reason = too_few(n, None)
    if reason or not math.isfinite(low + high):
        low = high = None
        reason = reason or "too_few_units_for_the_level"
    elif low == high:
        low = high = None
        reason = "no_variation"
    return Flips(Interval(mean, low, high, level, n, method, reason), pvalue, error)


def _counted_flips(values, alpha):
    """P-value of whole numbers and the bounds of their mean, of all sign patterns."""
    least = int(np.minimum(values, 0).sum())
    n = len(values)
    chance = np.zeros((n + 1, int(np.abs(values).sum()) + 1))  # of a subset's size and its sum
    chance[0, -least] = 1.0
    for value in values:
        added = np.roll(chance[:-1], value, axis=1)  # nothing reaches beyond the edge
        chance *= 0.5
        chance[1:] += 0.5 * added
    sums = np.arange(chance.shape[1]) + least
    total = values.sum()
    pvalue = chance.sum(axis=0)[np.abs(total - 2 * sums) >= abs(total)].sum()
    # The means of all subsets of items bound what the test does not reject (Hartigan 1969).
    means = (sums / np.arange(1, n + 1)[:, None]).ravel()
    weights = chance[1:].ravel()
    empty = chance[0].sum()
    bounds = []
    for side in (1, -1):
        order = np.argsort(side * means, kind="stable")
        reached = empty + np.cumsum(weights[order])
        # Equal means stand together: the last of them says how often one is reached.
        first = np.searchsorted(reached, alpha / 2 * (1 + 1e-12), side="right")
        beyond = empty > alpha / 2 or first == len(order)
        bounds.append(-side * np.inf if beyond else means[order[first]])
    return float(min(1.0, pvalue)), float(bounds[0]), float(bounds[1])


def item_tests(votes, *, n_resamples=100_000, seed=0):
    """Test the preference with the item as the unit, in five ways."""
    means = item_means(votes)
    flip = item_flips(votes, n_resamples=n_resamples, seed=seed)
    wins = int((means > 0).sum())
    majority = exact_sign_test(wins, int((means < 0).sum()))
    rows = [
        (
            "sign-flip",
            flip.interval.estimate,
            flip.pvalue,
            flip.interval.n,
            flip.interval.method,
            None,
        ),
        ("majority sign", wins, majority.pvalue, majority.n, "exact", majority.reason),
    ]
    classical = {
        "t": paired_t(means),
        "wilcoxon": wilcoxon_signed_rank(means),
        "wilcoxon-pratt": wilcoxon_signed_rank(means, zero_method="pratt"),
    }
    rows += [
        (name, test.statistic, test.pvalue, test.n, None, test.reason)
        for name, test in classical.items()
    ]
    return pd.DataFrame(rows, columns=["test", "statistic", "pvalue", "n", "method", "reason"])


def preference_lines(votes, *, level=0.95, n_resamples=100_000, seed=0):
    """Win rate, ties as half, for these raters (sign-flip) and for new ones (t)."""
    V = np.asarray(votes, dtype=float)
    flips = item_flips(V, level=level, n_resamples=n_resamples, seed=seed)
    crossed = at_least(crossed_mean(V, level=level, limits=(-1.0, 1.0)), flips)
    raters = int(np.isfinite(V).any(axis=0).sum())
    rows = []
    for scope, test, error in ((THESE_RATERS, flips, flips.error), (NEW_RATERS, crossed, None)):
        net = test.interval
        p = test.pvalue
        rate, low, high = (
            None if x is None else (1 + x) / 2 for x in (net.estimate, net.low, net.high)
        )
        verdict = "undecided"
        if p is not None and p <= 1 - level and (low is not None or net.reason == "no_variation"):
            verdict = "preferred" if net.estimate > 0 else "not preferred"
        rows.append(
            {
                "scope": scope,
                "win_rate": rate,
                "low": low,
                "high": high,
                "p": p,
                "verdict": verdict,
                "items": net.n,
                "raters": raters,
                "method": net.method,
                "mc_error": error,
                "reason": net.reason,
            }
        )
    return pd.DataFrame(rows)


def win_rates(votes, lines, *, level=0.95, n_resamples=100_000, seed=0):
    """Win rate, ties as half, of every rater, then that of these and of other raters (`lines`)."""
    tables = []
    counts = []
    names = []
    for rater in votes:
        of_rater = votes[[rater]]
        if of_rater[rater].notna().any():
            rates = preference_lines(of_rater, level=level, n_resamples=n_resamples, seed=seed)
            tables.append(rates.head(1))
            counts.append(count_votes(of_rater))
            names.append(str(rater))
    table = pd.concat([*tables, lines], ignore_index=True).drop(columns="raters")
    counts += [count_votes(votes)] * 2
    table = table.join(pd.DataFrame(counts)).assign(
        who=[*names, "these raters together", "other raters"]
    )
    table = table.rename(columns={"win_rate": "value", "items": "groups"})
    table = table.assign(n=table[["wins", "ties", "losses"]].sum(axis=1))
    columns = [
        "who",
        "wins",
        "ties",
        "losses",
        "missing",
        "value",
        "low",
        "high",
        "p",
        "n",
        "groups",
        "reason",
    ]
    table["reason"] = table["reason"].astype(object).where(table["reason"].notna(), None)
    return table[columns].astype(dict.fromkeys(("value", "low", "high", "p"), float))


# --- the win rate ------------------------------------------------------------------


def win_rate(votes, *, unit="item", ties="drop", level=0.95, n_resamples=10_000, seed=0):
    """Share of votes that the first system wins, with an interval by what would be new."""
    scores = (np.asarray(votes, dtype=float) + 1) / 2
    if ties == "drop":
        scores[scores == 0.5] = np.nan
    scored = ~np.isnan(scores)
    total = float(np.nansum(scores))
    n = int(scored.sum())
    if unit == "vote" or n == 0:
        return wilson(total, n, level)
    clusters = np.nonzero(scored)[1 if unit == "rater" else 0]
    mean = bootstrap_mean(
        scores[scored], clusters=clusters, level=level, n_resamples=n_resamples, seed=seed
    )
    n_clusters = len(np.unique(clusters))
    if n_clusters < FEWEST:
        # An interval by vote speaks of new votes, not of new items or raters.
        mean = replace(mean, low=None, high=None, reason="fewer_than_six_clusters")
    if unit != "item and rater":
        return replace(mean, n=n_clusters, method=f"t and bootstrap over {unit}s")
    crossed = crossed_mean(scores, 0.5, weights="votes", level=level, limits=(0.0, 1.0)).interval
    if None in (mean.low, crossed.low):
        return crossed
    return replace(crossed, low=min(mean.low, crossed.low), high=max(mean.high, crossed.high))


def preference_intervals(votes, *, n_resamples=10_000, seed=0):
    """Give all intervals of the win rate side by side."""
    rows = []
    for ties in TIES:
        for unit in WIN_RATE_UNITS:
            rate = win_rate(votes, unit=unit, ties=ties, n_resamples=n_resamples, seed=seed)
            rows.append(
                {
                    "ties": ties,
                    "unit": unit,
                    "win_rate": rate.estimate,
                    "low": rate.low,
                    "high": rate.high,
                    "n": rate.n,
                    "method": rate.method,
                    "reason": rate.reason,
                }
            )
    return pd.DataFrame(rows)


def equivalence(
    votes, *, equivalence_range=EQUIVALENCE_RANGE, alpha=0.05, n_resamples=10_000, seed=0
):
    """Compare the win rate, ties as half, with a range of no difference: two one-sided tests."""
    low, high = equivalence_range
    rate = win_rate(
        votes, unit="item", ties="half", level=1 - alpha, n_resamples=n_resamples, seed=seed
    )
    scores = (item_means(votes) + 1) / 2
    p = None
    verdict = "undecided"
    reason = rate.reason or "no_variation"
    if len(scores) > 1 and np.ptp(scores) > 0 and rate.low is not None:
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        gap = min(scores.mean() - low, high - scores.mean())
        p = positive(special.stdtr(len(scores) - 1, -gap / error))
        reason = None
        if p <= alpha:
            verdict = "equivalent"
        elif rate.low > high or rate.high < low:
            verdict = "different"
    return {
        **bounded("win_rate", rate),
        "range from": low,
        "range to": high,
        "p_tost": p,
        "verdict": verdict,
        "n": rate.n,
        "reason": reason,
    }


@dataclass(frozen=True)
class PositionEffect:
    """What the side on which an answer stands does to the preference."""

    left_choice: Interval
    left_test: PairedTest
    win_rate_left: Interval
    win_rate_right: Interval
    difference: Interval
    side_balanced: Interval
    left_share: float


def position_effect(votes, on_the_left):
    """Measure what the side does; `on_the_left` says where the first system stood left."""
    V = np.asarray(votes, dtype=float)
    left = np.asarray(on_the_left)
    cast = ~np.isnan(V)
    left = cast & (left == True)  # noqa: E712 - of objects too, where no vote was cast
    wins = int((np.where(left, V, -V) == 1).sum())
    losses = int((np.where(left, V, -V) == -1).sum())
    sides = [count_votes(V[side]) for side in (left, ~left)]
    pairs = [(counts["wins"], counts["wins"] + counts["losses"]) for counts in sides]
    one, two = (wilson(*pair) for pair in pairs)
    balanced = Interval(None, None, None, one.level, one.n + two.n, "newcombe", "no_units")
    if one.n and two.n:  # the mean of both shares, with the bounds of Newcombe's construction
        mean = (one.estimate + two.estimate) / 2
        below = np.hypot(one.estimate - one.low, two.estimate - two.low) / 2
        above = np.hypot(one.high - one.estimate, two.high - two.estimate) / 2
        balanced = Interval(
            mean, float(mean - below), float(mean + above), one.level, one.n + two.n, "newcombe"
        )
    chosen = wilson(wins, wins + losses)
    test = exact_sign_test(wins, losses)
    difference = newcombe(*pairs[0], *pairs[1])
    return PositionEffect(chosen, test, one, two, difference, balanced, float(left[cast].mean()))


def dependence(votes, *, n_resamples=2_000, seed=0):
    """Measure how votes depend on each other: by item (ICC), and as raters differ."""
    scores = (np.asarray(votes, dtype=float) + 1) / 2
    scores = scores[~np.isnan(scores).all(axis=1)]
    sizes = (~np.isnan(scores)).sum(axis=1)
    n = int(sizes.sum())
    icc = bootstrap_statistic(scores, _icc, n_resamples=n_resamples, seed=seed)
    effect = effective = None
    if icc.estimate is not None:
        effect = 1 + (float(np.sum(sizes**2)) / n - 1) * icc.estimate
        effective = n / effect if effect > 0 else None
    known = {"n": n, "reason": icc.reason}
    rows = [
        {
            "measure": "ICC(1) of votes on one item",
            "value": icc.estimate,
            "low": icc.low,
            "high": icc.high,
            **known,
        },
        {"measure": "design effect", "value": effect, **known},
        {"measure": "effective number of votes", "value": effective, **known},
        _heterogeneity(votes),
    ]
    return pd.DataFrame(rows, columns=["measure", "value", "low", "high", "p", "n", "reason"])


def _icc(scores):
    """ICC(1) of scores in rows of unequal length; NaN if undefined."""
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


def _heterogeneity(votes):
    """Pearson's chi-square test that all raters prefer the first system equally often."""
    V = np.asarray(votes, dtype=float)
    table = np.array([(V == 1).sum(axis=0), (V == -1).sum(axis=0)])
    table = table[:, table.sum(axis=0) > 0]
    df = max(table.shape[1] - 1, 0)
    row = {"measure": f"raters differ, chi-square on {df} df", "n": int(table.sum())}
    if df < 1 or not table.sum(axis=1).all():
        return row | {"reason": "fewer_than_two_raters" if df < 1 else "no_variation"}
    test = stats.chi2_contingency(table, correction=False)
    small = test.expected_freq.min() < LEAST_EXPECTED
    return row | {
        "value": test.statistic,
        "p": test.pvalue,
        "reason": "small_expected_counts" if small else None,
    }
