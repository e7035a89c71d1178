"""How often each test of a preference rejects, in many simulated studies."""

import numpy as np
import pandas as pd
from scipy import special

from casebook.stats.intervals import FEWEST, FEWEST_RATERS, crossed_pvalues, crossed_variance, wilson
from casebook.stats.samples import check_count, check_share, stream

TESTS = ("pooled sign", "item majority sign", "item sign-flip", "item t", "rater t", "item and rater t")
RECOMMENDED, NEW_RATERS = "item sign-flip", "item and rater t"
"""Tests for the raters at hand, and for new raters."""


def rejection_rates(votes, *, alpha=0.05, n_resamples=999, seed=0):
    """Share of studies in which each test finds a preference."""
    check_share("alpha", alpha)
    check_count("n_resamples", n_resamples)
    means = votes.mean(axis=2)
    rejected = {
        "pooled sign": _sign(votes.reshape(len(votes), -1)) <= alpha,
        "item majority sign": _sign(means) <= alpha,
        "item sign-flip": _sign_flip(means, n_resamples, seed) <= alpha,
        "item t": _t_test(means) <= alpha,
        "rater t": _t_test(votes.mean(axis=1)) <= alpha,
    }
    items, raters = votes.shape[1:]
    usable = {"item t": items > 1, "rater t": raters > 1}
    usable[NEW_RATERS] = items >= FEWEST and raters >= FEWEST_RATERS
    rejected[NEW_RATERS] = np.zeros(len(votes), dtype=bool)
    if usable[NEW_RATERS]:
        spread = crossed_variance(votes.astype(float))
        p = crossed_pvalues(votes.mean(axis=(1, 2)), *spread, raters)
        rejected[NEW_RATERS] = p <= alpha
    rows = []
    for test in TESTS:
        made = len(votes) if usable.get(test, True) else 0
        share = wilson(int(rejected[test].sum()) if made else 0, made)
        bounds = {"ci_low": share.low, "ci_high": share.high, "n": share.n}
        rows.append({"test": test, "rejected": share.estimate, **bounds})
    table = pd.DataFrame(rows)
    return table.astype(dict.fromkeys(("rejected", "ci_low", "ci_high"), float))


def _sign(values):
    """Exact two-sided sign test of every row; 1 where all are tied."""
    wins, losses = (values > 0).sum(axis=1), (values < 0).sum(axis=1)
    larger, smaller = np.maximum(wins, losses), np.minimum(wins, losses)
    tail = special.betainc(np.maximum(larger, 1), smaller + 1, 0.5)
    return np.where(larger > 0, np.minimum(1, 2 * tail), 1.0)


def _sign_flip(means, n_resamples, seed):
    """Randomisation test of every row with shared sign vectors."""
    rng = np.random.Generator(stream(seed, "study signs"))
    signs = rng.choice([-1.0, 1.0], (means.shape[1], n_resamples))
    observed = np.abs(means.sum(axis=1, keepdims=True))
    slack = 1e-9 * means.shape[1]
    hits = np.sum(np.abs(means @ signs) >= observed - slack, axis=1)
    return (hits + 1) / (n_resamples + 1)


def _t_test(values):
    """One-sample t test of every row; 1 for a constant row at 0, else 0."""
    n, mean = values.shape[1], values.mean(axis=1)
    if n < 2:
        return np.full(len(values), np.nan)
    error = values.std(axis=1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, np.abs(mean) / error, np.where(mean == 0, 0, np.inf))
    return 2 * special.stdtr(n - 1, -t)
