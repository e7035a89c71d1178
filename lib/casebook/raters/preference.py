"""Preference between two systems: counts and tests of votes, and the win rate with its intervals.

A vote is 1 (the first system is preferred), 0 (tie), -1 or NaN; votes form a matrix of items x
raters. Votes on one item depend on each other, and so do votes of one rater.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special, stats

from casebook.raters.crossed import at_least, crossed_mean
from casebook.stats.intervals import (
    FEWEST,
    Interval,
    bootstrap_mean,
    bootstrap_statistic,
    bounded,
    newcombe,
    too_few,
    wilson,
)
from casebook.stats.tests import (
    SignTest,
    exact_sign_test,
    holm,
    positive,
    sign_flips,
)
from casebook.verdicts import DIFFERENT, EQUIVALENT, NOT_PREFERRED, PREFERRED, UNDECIDED

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
    votes = np.asarray(votes, dtype=float)
    return {
        "wins": int((votes == 1).sum()),
        "ties": int((votes == 0).sum()),
        "losses": int((votes == -1).sum()),
        "missing": int(np.isnan(votes).sum()),
    }


def item_means(votes):
    """Mean net vote of every item that has a vote."""
    votes = np.asarray(votes, dtype=float)
    has_vote = ~np.isnan(votes).all(axis=1)
    return np.nanmean(votes[has_vote], axis=1)


def win_tie_loss_table(votes):
    """Count and test the votes of every rater, with Holm's correction, and of all together."""
    votes = pd.DataFrame(votes)
    rows = []
    for name, cast in [*votes.items(), ("pooled", votes)]:
        counts = count_votes(cast)
        n = counts["wins"] + counts["losses"]
        share = wilson(counts["wins"], n)
        test = exact_sign_test(counts["wins"], counts["losses"])
        rows.append(
            {
                "rater": name,
                "wins": counts["wins"],
                "losses": counts["losses"],
                "ties": counts["ties"],
                "missing": counts["missing"],
                "n": n,
                **share.row("win_rate"),
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
    scores = np.asarray(table, dtype=float)
    scores = scores[np.isfinite(scores).any(axis=1)]
    n = len(scores)
    if not n:
        return Flips(Interval(None, None, None, level, 0, EXACT, "no_units"), None, None)
    n_raters = np.isfinite(scores).sum(axis=1)
    sums = np.nansum(scores, axis=1)
    # Means of items are whole numbers over a common denominator: all patterns can be counted by
    # their sums.
    denominator = math.lcm(*n_raters.tolist())
    numerators = sums * (denominator / n_raters)
    mean = float(numerators.sum() / (n * denominator))
    if not numerators.any():
        return Flips(Interval(mean, None, None, level, n, EXACT, "no_variation"), 1.0, 0.0)
    if n * n * np.abs(numerators).sum() <= MOST_STEPS and not np.any(numerators % 1):
        method = EXACT
        pvalue, low, high = _counted_flips(numerators.astype(int), 1 - level)
        low = low / denominator
        high = high / denominator
        error = 0.0
    else:
        method = f"{n_resamples:,} random sign patterns"
        means = (sums / n_raters)[:, None]
        flips = sign_flips(means, np.ones(n), level=level, n_resamples=n_resamples, seed=seed)
        pvalue = float(flips.p[0])
        low = float(flips.low[0])
        high = float(flips.high[0])
        error = math.sqrt(pvalue * (1 - pvalue) / n_resamples)
    reason = too_few(n, None)
    if reason is None and not math.isfinite(low + high):
        reason = "too_few_units_for_the_level"
    if reason is None and low == high:
        reason = "no_variation"
    if reason:
        low = None
        high = None
    return Flips(Interval(mean, low, high, level, n, method, reason), pvalue, error)


def _counted_flips(values, alpha):
    """P-value of whole numbers and the bounds of their mean, of all sign patterns."""
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
    low = _subset_bound(means, weights, empty, alpha)
    high = -_subset_bound(-means, weights, empty, alpha)
    return pvalue, low, high


def _subset_bound(means, weights, empty, alpha):
    """Lower bound at half of alpha; -inf where the empty subset alone is as likely."""
    order = np.argsort(means, kind="stable")
    cumulative = empty + np.cumsum(weights[order])
    # Equal means stand together: the last of them says how often one is reached.
    position = np.searchsorted(cumulative, alpha / 2 * (1 + 1e-12), side="right")
    if empty > alpha / 2 or position == len(order):
        return -math.inf
    return float(means[order[position]])


def item_tests(votes, *, n_resamples=100_000, seed=0):
    """Test the preference with the item as the unit, by its mean and by its majority."""
    means = item_means(votes)
    flips = item_flips(votes, n_resamples=n_resamples, seed=seed)
    mean = flips.interval
    wins = int((means > 0).sum())
    majority = exact_sign_test(wins, int((means < 0).sum()))
    rows = [
        ("sign-flip", mean.estimate, flips.pvalue, mean.n, mean.method, None),
        ("majority sign", wins, majority.pvalue, majority.n, "exact", majority.reason),
    ]
    return pd.DataFrame(rows, columns=["test", "statistic", "pvalue", "n", "method", "reason"])


def preference_lines(votes, *, level=0.95, n_resamples=100_000, seed=0):
    """Win rate, ties as half, for these raters (sign-flip) and for new ones (t)."""
    votes = np.asarray(votes, dtype=float)
    flips = item_flips(votes, level=level, n_resamples=n_resamples, seed=seed)
    crossed = at_least(crossed_mean(votes, level=level, limits=(-1.0, 1.0)), flips)
    n_raters = int(np.isfinite(votes).any(axis=0).sum())
    rows = []
    for scope, test in {THESE_RATERS: flips, NEW_RATERS: crossed}.items():
        net = test.interval
        rows.append(
            {
                "scope": scope,
                "win_rate": _rate(net.estimate),
                "low": _rate(net.low),
                "high": _rate(net.high),
                "p": test.pvalue,
                "verdict": _preference_verdict(net, test.pvalue),
                "items": net.n,
                "raters": n_raters,
                "method": net.method,
                "mc_error": flips.error if scope == THESE_RATERS else None,
                "reason": net.reason,
            }
        )
    return pd.DataFrame(rows)


def _rate(net):
    """Turn a net vote in [-1, 1] into a win rate."""
    return None if net is None else (1 + net) / 2


def _preference_verdict(net, pvalue):
    """Give the verdict on a mean net vote: its test decides, where it has an interval."""
    has_interval = net.low is not None or net.reason == "no_variation"
    if pvalue is None or pvalue > 1 - net.level or not has_interval:
        return UNDECIDED
    return PREFERRED if net.estimate > 0 else NOT_PREFERRED


def win_rates(votes, lines, *, level=0.95, n_resamples=100_000, seed=0):
    """Win rate, ties as half, of every rater, then that of these and of other raters (`lines`)."""
    rows = []
    for rater in votes.columns[votes.notna().any()]:
        of_rater = votes[[rater]]
        rates_of_rater = preference_lines(of_rater, level=level, n_resamples=n_resamples, seed=seed)
        line = rates_of_rater.to_dict("records")[0]
        rows.append({"who": str(rater), **count_votes(of_rater), **line})
    names = ("these raters together", "other raters")
    for who, line in zip(names, lines.to_dict("records"), strict=True):
        rows.append({"who": who, **count_votes(votes), **line})
    table = pd.DataFrame(rows).rename(columns={"win_rate": "value", "items": "groups"})
    table["n"] = table[["wins", "ties", "losses"]].sum(axis=1)
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
            row = {"ties": ties, "unit": unit, **rate.row("win_rate")}
            rows.append(row | {"method": rate.method, "reason": rate.reason})
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
    verdict = UNDECIDED
    reason = rate.reason or "no_variation"
    if len(scores) > 1 and np.ptp(scores) > 0 and rate.low is not None:
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        gap = min(scores.mean() - low, high - scores.mean())
        p = positive(special.stdtr(len(scores) - 1, -gap / error))
        reason = None
        if p <= alpha:
            verdict = EQUIVALENT
        elif rate.low > high or rate.high < low:
            verdict = DIFFERENT
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
    left_test: SignTest
    win_rate_left: Interval
    win_rate_right: Interval
    difference: Interval
    side_balanced: Interval
    left_share: float


def position_effect(votes, on_the_left):
    """Measure what the side does; `on_the_left` says where the first system stood left."""
    votes = np.asarray(votes, dtype=float)
    is_cast = ~np.isnan(votes)
    is_left = np.asarray(on_the_left) == True  # noqa: E712 - objects where no vote was cast
    is_left = is_cast & is_left
    for_left = count_votes(np.where(is_left, votes, -votes))
    wins = for_left["wins"]
    losses = for_left["losses"]
    at_left = count_votes(votes[is_left])
    at_right = count_votes(votes[~is_left])
    n_left = at_left["wins"] + at_left["losses"]
    n_right = at_right["wins"] + at_right["losses"]
    rate_left = wilson(at_left["wins"], n_left)
    rate_right = wilson(at_right["wins"], n_right)
    return PositionEffect(
        left_choice=wilson(wins, wins + losses),
        left_test=exact_sign_test(wins, losses),
        win_rate_left=rate_left,
        win_rate_right=rate_right,
        difference=newcombe(at_left["wins"], n_left, at_right["wins"], n_right),
        side_balanced=_side_balanced(rate_left, rate_right),
        left_share=float(is_left[is_cast].mean()),
    )


def _side_balanced(left, right):
    """Mean of the win rates on both sides, with the bounds of Newcombe's construction."""
    n = left.n + right.n
    if not (left.n and right.n):
        return Interval(None, None, None, left.level, n, "newcombe", "no_units")
    mean = (left.estimate + right.estimate) / 2
    below = np.hypot(left.estimate - left.low, right.estimate - right.low) / 2
    above = np.hypot(left.high - left.estimate, right.high - right.estimate) / 2
    return Interval(mean, float(mean - below), float(mean + above), left.level, n, "newcombe")


def dependence(votes, *, n_resamples=2_000, seed=0):
    """Measure how votes depend on each other: by item (ICC), and as raters differ."""
    scores = (np.asarray(votes, dtype=float) + 1) / 2
    scores = scores[~np.isnan(scores).all(axis=1)]
    sizes = (~np.isnan(scores)).sum(axis=1)
    n = int(sizes.sum())
    icc = bootstrap_statistic(scores, _icc, n_resamples=n_resamples, seed=seed)
    effect = None
    effective_n = None
    if icc.estimate is not None:
        effect = 1 + (float(np.sum(sizes**2)) / n - 1) * icc.estimate
        effective_n = n / effect if effect > 0 else None
    rows = [
        {"measure": "ICC(1) of votes on one item", "value": icc.estimate},
        {"measure": "design effect", "value": effect},
        {"measure": "effective number of votes", "value": effective_n},
    ]
    for row in rows:
        row["n"] = n
        row["reason"] = icc.reason
    rows[0]["low"] = icc.low
    rows[0]["high"] = icc.high
    rows.append(_heterogeneity(votes))
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
    votes = np.asarray(votes, dtype=float)
    table = np.array([(votes == 1).sum(axis=0), (votes == -1).sum(axis=0)])
    table = table[:, table.sum(axis=0) > 0]
    df = max(table.shape[1] - 1, 0)
    row = {"measure": f"raters differ, chi-square on {df} df", "n": int(table.sum())}
    if df < 1:
        return row | {"reason": "fewer_than_two_raters"}
    if not table.sum(axis=1).all():
        return row | {"reason": "no_variation"}
    test = stats.chi2_contingency(table, correction=False)
    is_doubtful = test.expected_freq.min() < LEAST_EXPECTED
    return row | {
        "value": test.statistic,
        "p": test.pvalue,
        "reason": "small_expected_counts" if is_doubtful else None,
    }
