"""Preference between two systems: counts and tests of votes, and the win rate with its intervals.

A vote is 1 (the first system is preferred), 0 (tie), -1 or NaN; votes form a matrix of items x
raters. Votes on one item depend on each other, and so do votes of one rater.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from casebook.frames import coefficients, shares
from casebook.raters.crossed import MeanTest, at_least, crossed_mean
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
from casebook.stats.tests import SignTest, exact_sign_test, holm, sign_flips
from casebook.verdicts import DIFFERENT, EQUIVALENT, NOT_PREFERRED, PREFERRED, UNDECIDED

TIES = ("drop", "half")
WIN_RATE_UNITS = ("vote", "item", "rater", "item and rater")
THESE_RATERS = "these raters, new items"
NEW_RATERS = "new raters and items"
EQUIVALENCE_RANGE = (0.45, 0.55)
"""Win rates that count as no difference."""

MOST_STEPS = 5e8  # of counting all sign patterns; beyond it some are drawn
LEAST_EXPECTED = 5  # expected count below which the chi-square approximation is doubtful
VOTES = ["wins", "ties", "losses", "missing"]


def count_votes(votes):
    """Count wins, ties, losses and missing votes."""
    votes = np.asarray(votes, dtype=float)
    counts = [votes == 1, votes == 0, votes == -1, np.isnan(votes)]
    return {name: int(count.sum()) for name, count in zip(VOTES, counts, strict=True)}


def item_means(votes):
    """Mean net vote of every item that has a vote."""
    return pd.DataFrame(votes, dtype=float).mean(axis=1).dropna().to_numpy()


def win_tie_loss_table(votes):
    """Count and test the votes of every rater, with Holm's correction, and of all together."""
    votes = pd.DataFrame(votes)
    casts = {**votes, "pooled": votes}
    counts = pd.DataFrame(map(count_votes, casts.values()))
    n = counts["wins"] + counts["losses"]
    rates = shares(dict(zip(casts, zip(counts["wins"], n, strict=True), strict=True)))
    tests = list(map(exact_sign_test, counts["wins"], counts["losses"]))
    table = pd.DataFrame({"rater": list(casts), **counts, "n": n})
    table[["win_rate", "low", "high"]] = rates[["value", "low", "high"]]
    table["p_sign"] = [test.pvalue for test in tests]
    table["log_p"] = [test.log_pvalue for test in tests]
    table["reason"] = [test.reason for test in tests]
    adjusted = holm([test.pvalue for test in tests[:-1]])
    return table.assign(p_holm=pd.Series([*adjusted, None], dtype=object))


# --- the item as unit ------------------------------------------------------------------


def item_flips(table, *, level=0.95, n_resamples=100_000, seed=0):
    """Test and bound the mean of the items' means by turning signs of items."""
    scores = pd.DataFrame(table, dtype=float).dropna(how="all").to_numpy()
    n = len(scores)
    if not n:
        return MeanTest(Interval(None, None, None, level, 0, "sign flips", "no_units"), None)
    n_raters = np.isfinite(scores).sum(axis=1)
    # Means of items are whole numbers over a common denominator: all patterns can be counted by
    # their sums.
    denominator = math.lcm(*n_raters.tolist())
    numerators = np.nansum(scores, axis=1) * (denominator / n_raters)
    mean = float(numerators.sum() / (n * denominator))
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
    if reason is None and low == high:
        reason = "no_variation"
    if reason:
        low = None
        high = None
    return MeanTest(Interval(mean, low, high, level, n, method, reason), pvalue)


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
    return -math.inf if empty > alpha / 2 else means[order[position]]


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
    tests = {THESE_RATERS: flips, NEW_RATERS: crossed}
    lines = coefficients({scope: _rate(test.interval) for scope, test in tests.items()})
    lines = lines.rename(columns={"system": "scope", "value": "win_rate", "n": "items"})
    lines["p"] = np.array([test.pvalue for test in tests.values()], dtype=float)
    lines["verdict"] = [_preference_verdict(test) for test in tests.values()]
    lines["raters"] = np.isfinite(votes).any(axis=0).sum()
    lines["method"] = [test.interval.method for test in tests.values()]
    columns = ["scope", "win_rate", "low", "high", "p", "verdict", "items", "raters", "method"]
    return lines[[*columns, "reason"]]


def _rate(net):
    """The interval of a net vote in [-1, 1] as one of a win rate."""
    numbers = (net.estimate, net.low, net.high)
    estimate, low, high = (None if x is None else (1 + x) / 2 for x in numbers)
    return replace(net, estimate=estimate, low=low, high=high)


def _preference_verdict(tested):
    """The verdict on a mean net vote: its test decides, where it has an interval."""
    net = tested.interval
    has_interval = net.low is not None or net.reason == "no_variation"
    if not has_interval or tested.pvalue is None or tested.pvalue > 1 - net.level:
        return UNDECIDED
    return PREFERRED if net.estimate > 0 else NOT_PREFERRED


def win_rates(votes, lines, *, level=0.95, n_resamples=100_000, seed=0):
    """Win rate, ties as half, of every rater, then that of these and of other raters (`lines`)."""
    casts = {str(rater): votes[[rater]] for rater in votes.columns[votes.notna().any()]}
    options = {"level": level, "n_resamples": n_resamples, "seed": seed}
    alone = [preference_lines(cast, **options).head(1) for cast in casts.values()]
    casts |= {"these raters together": votes, "other raters": votes}
    table = pd.concat([*alone, lines], ignore_index=True)
    table = table.rename(columns={"win_rate": "value", "items": "groups"})
    table = table.join(pd.DataFrame(map(count_votes, casts.values()))).assign(who=list(casts))
    table["n"] = table["wins"] + table["ties"] + table["losses"]
    columns = ["who", "wins", "ties", "losses", "missing", "value", "low", "high", "p"]
    return table[[*columns, "n", "groups", "reason"]]


# --- the win rate ------------------------------------------------------------------


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
    n_clusters = len(np.unique(clusters))
    if n_clusters < FEWEST:
        # An interval by vote speaks of new votes, not of new items or raters.
        mean = replace(mean, low=None, high=None, reason="fewer_than_six_clusters")
    if unit != "item and rater":
        return replace(mean, n=n_clusters)
    crossed = crossed_mean(scores, 0.5, weights="votes", level=level, limits=(0.0, 1.0)).interval
    if None in (mean.low, crossed.low):
        return crossed
    return replace(crossed, low=min(mean.low, crossed.low), high=max(mean.high, crossed.high))


def preference_intervals(votes, *, n_resamples=10_000, seed=0):
    """All intervals of the win rate side by side."""
    options = {"n_resamples": n_resamples, "seed": seed}
    pairs = [(ties, unit) for ties in TIES for unit in WIN_RATE_UNITS]
    rates = {(ties, unit): win_rate(votes, unit=unit, ties=ties, **options) for ties, unit in pairs}
    table = coefficients(rates).rename(columns={"value": "win_rate"})
    table = pd.DataFrame(pairs, columns=["ties", "unit"]).join(table)
    return table[["ties", "unit", "win_rate", "low", "high", "n", "reason"]]


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
    if rate.low is not None and np.ptp(scores) > 0:
        above = stats.ttest_1samp(scores, low, alternative="greater").pvalue
        below = stats.ttest_1samp(scores, high, alternative="less").pvalue
        p = float(max(above, below))
        reason = None
        if p <= alpha:
            verdict = EQUIVALENT
        elif rate.low > high or rate.high < low:
            verdict = DIFFERENT
    cells = {"range from": low, "range to": high, "p_tost": p, "verdict": verdict}
    return {**bounded("win_rate", rate), **cells, "n": rate.n, "reason": reason}


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
    is_left = is_cast & (np.asarray(on_the_left) == True)  # noqa: E712 - objects without a vote
    at_left = count_votes(votes[is_left])
    at_right = count_votes(votes[~is_left])
    n_left = at_left["wins"] + at_left["losses"]
    n_right = at_right["wins"] + at_right["losses"]
    for_left = at_left["wins"] + at_right["losses"]
    # The mean of both rates is half of one plus the rate at the left minus the losses at the right.
    minus_losses = newcombe(at_left["wins"], n_left, at_right["losses"], n_right)
    return PositionEffect(
        left_choice=wilson(for_left, n_left + n_right),
        left_test=exact_sign_test(for_left, n_left + n_right - for_left),
        win_rate_left=wilson(at_left["wins"], n_left),
        win_rate_right=wilson(at_right["wins"], n_right),
        difference=newcombe(at_left["wins"], n_left, at_right["wins"], n_right),
        side_balanced=_rate(minus_losses),
        left_share=float(is_left[is_cast].mean()),
    )


def dependence(votes, *, n_resamples=2_000, seed=0):
    """How votes depend on each other: by item (ICC), and as raters differ."""
    scores = (pd.DataFrame(votes, dtype=float).dropna(how="all").to_numpy() + 1) / 2
    sizes = np.isfinite(scores).sum(axis=1)
    n = int(sizes.sum())
    icc = bootstrap_statistic(scores, _icc, n_resamples=n_resamples, seed=seed)
    cells = icc.row()
    effect = 1 + (np.sum(sizes**2) / max(n, 1) - 1) * cells["value"]
    of_items = {
        "ICC(1) of votes on one item": cells,
        "design effect": {"value": effect},
        "effective number of votes": {"value": n / effect if effect > 0 else None},
    }
    rows = [
        {"measure": name, **values, "n": n, "reason": icc.reason}
        for name, values in of_items.items()
    ]
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
    table = table[:, table.any(axis=0)]
    df = max(table.shape[1] - 1, 0)
    row = {"measure": f"raters differ, chi-square on {df} df", "n": int(table.sum())}
    if df < 1:
        return row | {"reason": "fewer_than_two_raters"}
    if not table.any(axis=1).all():
        return row | {"reason": "no_variation"}
    test = stats.chi2_contingency(table, correction=False)
    row |= {"value": test.statistic, "p": test.pvalue}
    is_doubtful = test.expected_freq.min() < LEAST_EXPECTED
    return row | {"reason": "small_expected_counts" if is_doubtful else None}
