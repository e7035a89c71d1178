"""Preference between two systems: counts, tests by item, win rates with intervals."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.inference.votes import check_votes, count_votes, item_means
from casebook.stats.intervals import Interval, at_least, crossed_mean, too_few, wilson
from casebook.stats.samples import check_count, check_share
from casebook.stats.tests import (
    WinTieLoss,
    documented_sign_test,
    exact_sign_test,
    holm,
    paired_t,
    sign_flips,
    wilcoxon_signed_rank,
)

EXACT = "all sign patterns"
MOST_STEPS = 5e8
THESE_RATERS, NEW_RATERS = "these raters, new items", "new raters and items"


def win_tie_loss_table(votes, *, level=0.95):
    """Count and test the votes of every rater, and of all together."""
    V = check_votes(votes)
    names = list(votes.columns) if isinstance(votes, pd.DataFrame) else range(V.shape[1])
    rows = [_counted(name, V[:, k], level) for k, name in enumerate(names)]
    adjusted = holm([row["p_sign"] for row in rows])
    rows.append(_counted("pooled", V, level))
    table = pd.DataFrame(rows)
    table["p_holm"] = pd.Series([*adjusted, None], dtype=object)
    return table


def _counted(name, votes, level):
    counts = count_votes(votes)
    n = counts.wins + counts.losses
    share = wilson(counts.wins, n, level)
    test = exact_sign_test(counts.wins, counts.losses)
    return {
        **{"rater": name, "wins": counts.wins, "losses": counts.losses},
        **{"ties": counts.ties, "missing": counts.missing, "n": n},
        **{"win_rate": share.estimate, "ci_low": share.low, "ci_high": share.high},
        **{"p_sign": test.pvalue, "log_p": test.log_pvalue, "reason": test.reason},
    }


def documented_preference(votes):
    """Preference figures of one rater or of all, under the document's names."""
    counts = count_votes(votes)
    return {
        "rag_wins": counts.wins,
        "rag_losses": counts.losses,
        "ties": counts.ties,
        "n_effective": counts.wins + counts.losses,
        "p_value_sign_test": documented_sign_test(counts.wins, counts.losses),
        "unmapped_or_missing": counts.missing,
    }


def item_majority(votes):
    """Count the items that most raters decide for the first system."""
    means = item_means(votes)
    signs = [int(np.count_nonzero(np.sign(means) == s)) for s in (1, 0, -1)]
    return WinTieLoss(*signs)


@dataclass(frozen=True)
class Flips:
    """Mean of items with its sign-flip test and the interval that inverts it."""

    interval: Interval
    pvalue: float | None
    error: float | None


def item_flips(table, *, level=0.95, n_resamples=100_000, seed=0):
    """Test and bound the mean of the items' means, for these raters and other items."""
    check_share("level", level)
    check_count("n_resamples", n_resamples)
    X = np.asarray(table, dtype=float)
    X = X[np.isfinite(X).any(axis=1)]
    known = np.isfinite(X).sum(axis=1)
    n, sums = len(X), np.nansum(X, axis=1)
    if not n:
        return Flips(Interval(None, None, None, level, 0, EXACT, "no_units"), None, None)
    common = math.lcm(*(int(k) for k in known))
    values = sums * (common / known)
    mean, method = float(values.sum() / (n * common)), EXACT
    if not values.any():
        same = Interval(mean, 0.0, 0.0, level, n, method, "no_variation")
        return Flips(same, 1.0, 0.0)
    if n * n * np.abs(values).sum() <= MOST_STEPS and not np.any(values % 1):
        pvalue, low, high = _counted_flips(values.astype(int), 1 - level)
        low, high, error = low / common, high / common, 0.0
    else:
        method = f"{n_resamples:,} random sign patterns"
        means = (sums / known)[:, None]
        options = {"level": level, "n_resamples": n_resamples, "seed": seed}
        found = sign_flips(means, np.ones(n), **options)
        low, high, pvalue = (float(x[0]) for x in (found.low, found.high, found.p))
        error = math.sqrt(pvalue * (1 - pvalue) / n_resamples)
    reason = too_few(n, None)
    if reason or not math.isfinite(low + high):
        low, high, reason = None, None, reason or "too_few_units_for_the_level"
    elif low == high:
        reason = "no_variation"
    return Flips(Interval(mean, low, high, level, n, method, reason), pvalue, error)


def _counted_flips(values, alpha):
    """P-value of whole numbers and the bounds of their mean, of all sign patterns."""
    least, n = int(np.minimum(values, 0).sum()), len(values)
    chance = np.zeros((n + 1, int(np.abs(values).sum()) + 1))  # subset's size, its sum
    chance[0, -least] = 1.0
    for value in values:
        added = np.roll(chance[:-1], value, axis=1)  # nothing reaches beyond the edge
        chance *= 0.5
        chance[1:] += 0.5 * added
    sums = np.arange(chance.shape[1]) + least
    total = values.sum()
    pvalue = chance.sum(axis=0)[np.abs(total - 2 * sums) >= abs(total)].sum()
    sizes = np.arange(1, n + 1)
    means, weights = (sums / sizes[:, None]).ravel(), chance[1:].ravel()
    empty, bounds = chance[0].sum(), []
    for side in (1, -1):
        order = np.argsort(side * means, kind="stable")
        reached = empty + np.cumsum(weights[order])
        # Equal means stand together: the last of them says how often one is reached.
        first = np.searchsorted(reached, alpha / 2 * (1 + 1e-12), side="right")
        beyond = empty > alpha / 2 or first == len(order)
        bounds.append(-side * np.inf if beyond else means[order[first]])
    return float(min(1.0, pvalue)), float(bounds[0]), float(bounds[1])


def preference_lines(votes, *, level=0.95, n_resamples=100_000, seed=0):
    """Win rate with ties as half, for these raters and for new ones."""
    V = check_votes(votes)
    flips = item_flips(V, level=level, n_resamples=n_resamples, seed=seed)
    crossed = at_least(crossed_mean(V, level=level, limits=(-1.0, 1.0)), flips)
    raters = int(np.isfinite(V).any(axis=0).sum())
    rows = []
    for scope, found, error in ((THESE_RATERS, flips, flips.error), (NEW_RATERS, crossed, None)):
        net, p = found.interval, found.pvalue
        rate, low, high = (None if x is None else (1 + x) / 2 for x in (net.estimate, net.low, net.high))
        verdict = "undecided"
        if p is not None and low is not None and p <= 1 - level:
            verdict = "preferred" if net.estimate > 0 else "not preferred"
        row = {"scope": scope, "win_rate": rate, "ci_low": low, "ci_high": high}
        row |= {"p": p, "verdict": verdict, "items": net.n, "raters": raters}
        rows.append(row | {"method": net.method, "mc_error": error, "reason": net.reason})
    return pd.DataFrame(rows)


def item_tests(votes, *, n_resamples=100_000, seed=0):
    """Test the preference with the item as the unit, in five ways."""
    means = item_means(votes)
    counts = item_majority(votes)
    flip = item_flips(check_votes(votes), n_resamples=n_resamples, seed=seed)
    majority = exact_sign_test(counts.wins, counts.losses)
    net, sign = flip.interval, (majority.pvalue, majority.n)
    rows = [
        ("sign-flip", net.estimate, flip.pvalue, net.n, net.method, None),
        ("majority sign", counts.wins, *sign, "exact", majority.reason),
    ]
    classical = {
        "t": paired_t(means),
        "wilcoxon": wilcoxon_signed_rank(means),
        "wilcoxon-pratt": wilcoxon_signed_rank(means, zero_method="pratt"),
    }
    rows += [(name, test.statistic, test.pvalue, test.n, None, test.reason) for name, test in classical.items()]
    columns = ["test", "statistic", "pvalue", "n", "method", "reason"]
    return pd.DataFrame(rows, columns=columns)
