"""How often each test of a preference rejects, in many simulated studies."""

import numpy as np
import pandas as pd
from scipy import special

from casebook.inference.proportions import wilson
from casebook.inference.samples import check_count, check_share, stream

TESTS = (
    "pooled sign",
    "item majority sign",
    "item sign-flip",
    "item t",
    "item bootstrap",
    "item and rater bootstrap",
    "rater t",
)
RECOMMENDED = "item sign-flip"
"""For the raters at hand; for new raters: ``item and rater bootstrap``."""


def rejection_rates(votes, *, alpha=0.05, n_resamples=999, seed=0):
    """Share of studies in which each test finds a preference.

    Parameters
    ----------
    votes : numpy.ndarray, shape [studies, items, raters]
        1, 0 or -1, without gaps.
    alpha : float, default 0.05
        Two-sided level.
    n_resamples : int, default 999
        Sign vectors, and bootstrap draws. All studies share them.
    seed : int, default 0
        Seed.

    Returns
    -------
    pandas.DataFrame
        One row per test of `TESTS`: ``test``, ``rejected`` (share), ``ci_low`` and
        ``ci_high`` (Wilson, 95 %) and ``n`` (studies); NaN and 0 where a test needs
        two items, or two raters, and there is one. The tests are those of
        `casebook.inference.preference`, all studies at once; a bootstrap rejects if its
        interval of the win rate, ties as half, leaves out 1/2; ``rater t`` is the t
        test of the raters' means.

    Raises
    ------
    InputError
        If an option is outside its range.
    """
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
    units = {"item t": items, "rater t": raters}
    for unit in ("item", "item and rater"):
        draws = _bootstrap(votes, unit, n_resamples, seed)
        low, high = np.quantile(draws, [alpha / 2, 1 - alpha / 2], axis=0)
        rejected[f"{unit} bootstrap"] = (low > 0) | (high < 0)
    rows = []
    for test in TESTS:
        made = len(votes) if units.get(test, 2) > 1 else 0
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
    """One-sample t test of every row; 1 for a constant row at 0, else 0.

    NaN for rows of one value.
    """
    n, mean = values.shape[1], values.mean(axis=1)
    if n < 2:
        return np.full(len(values), np.nan)
    error = values.std(axis=1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, np.abs(mean) / error, np.where(mean == 0, 0, np.inf))
    return 2 * special.stdtr(n - 1, -t)


def _bootstrap(votes, unit, n_resamples, seed):
    """Resampled mean votes, shape [n_resamples, studies]."""
    studies, items, raters = votes.shape
    rng = np.random.Generator(stream(seed, f"study bootstrap, {unit}"))
    W = rng.multinomial(items, np.full(items, 1 / items), n_resamples).astype(float)
    by_rater = W @ np.moveaxis(votes, 1, 0).reshape(items, -1).astype(float)
    by_rater = by_rater.reshape(n_resamples, studies, raters)
    if unit == "item":
        return by_rater.mean(axis=2) / items
    U = rng.multinomial(raters, np.full(raters, 1 / raters), n_resamples)
    return np.einsum("bsr,br->bs", by_rater, U.astype(float)) / (items * raters)
