"""Win rates with intervals that resample votes, items, raters or both."""

import numpy as np
import pandas as pd

from casebook.inference.intervals import Interval
from casebook.inference.proportions import wilson
from casebook.inference.samples import check_choice, check_count, check_share, stream
from casebook.inference.votes import (
    TIES,
    preference_scores,
)

UNITS = ("vote", "item", "rater", "item and rater")


def win_rate(votes, *, unit="item", ties="drop", level=0.95, n_boot=10_000, seed=0):
    """Share of votes that the first system wins, with its interval.

    Parameters
    ----------
    votes : array_like, shape [items, raters]
        1, 0, -1 or NaN.
    unit : {"item", "vote", "rater", "item and rater"}
        What would be drawn anew. ``vote``: Wilson's interval, which takes the votes
        for independent. The others: percentile bootstrap of whole items, of whole
        raters, or of both independently. With few raters the bootstrap of raters alone
        is too narrow.
    ties : {"drop", "half"}
        Leave ties out, or count each as half a win.
    level : float, default 0.95
        Nominal coverage.
    n_boot, seed : int
        Resamples and seed.

    Returns
    -------
    Interval
        In [0, 1]; `n` counts the units, or items for ``item and rater``.

    Raises
    ------
    InputError
        If a value is no vote or an option is unknown.

    References
    ----------
    Owen, Annals of Applied Statistics 1:386-411, 2007 (rows and columns resampled
    independently; conservative).
    """
    check_choice("unit", unit, UNITS)
    check_share("level", level)
    scores = preference_scores(votes, ties)
    scored = ~np.isnan(scores)
    total, n = float(np.nansum(scores)), int(scored.sum())
    if unit == "vote" or n == 0:
        return wilson(total, n, level)
    scores = scores[scored.any(axis=1)][:, scored.any(axis=0)]
    units = scores.shape[1] if unit == "rater" else scores.shape[0]
    method = f"bootstrap of {unit}s".replace("item and", "items and")
    if min(scores.shape if unit == "item and rater" else (units,)) < 2:
        reason = "fewer_than_two_units"
        return Interval(total / n, None, None, level, units, method, reason)
    draws = resampled_win_rates(scores, unit, n_boot, seed)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = (float(x) for x in np.quantile(draws, tails))
    reason = "no_variation" if np.ptp(draws) == 0 else None
    return Interval(total / n, low, high, level, units, method, reason)


def resampled_win_rates(scores, unit, n_boot=10_000, seed=0):
    """Win rates of resampled items, raters or both.

    Parameters
    ----------
    scores : numpy.ndarray, shape [items, raters]
        From `casebook.inference.votes.preference_scores`.
    unit : {"item", "rater", "item and rater"}
        What is drawn.
    n_boot, seed : int
        Resamples and seed.

    Returns
    -------
    numpy.ndarray, shape [n_boot]
        Win rates. A resample without any scored vote is drawn as the estimate.
    """
    check_count("n_boot", n_boot)
    items, raters = scores.shape
    W = _draw_counts(items, "item" in unit, n_boot, seed, "items")
    U = _draw_counts(raters, "rater" in unit, n_boot, seed, "raters")
    # Counts times halves: the sums are exact, whatever the order of summation.
    totals = np.sum((W @ np.nan_to_num(scores)) * U, axis=1)
    sizes = np.sum((W @ (~np.isnan(scores)).astype(float)) * U, axis=1)
    estimate = np.nanmean(scores)
    return np.divide(totals, sizes, out=np.full(n_boot, estimate), where=sizes > 0)


def _draw_counts(size, drawn, n_boot, seed, purpose):
    """How often each unit is drawn, shape [n_boot, size]; once if it is not drawn."""
    if not drawn:
        return np.ones((1, size))
    rng = np.random.Generator(stream(seed, f"preference, {purpose}"))
    return rng.multinomial(size, np.full(size, 1 / size), n_boot).astype(float)


def preference_intervals(votes, *, level=0.95, n_boot=10_000, seed=0):
    """Give all intervals of the win rate side by side.

    Parameters
    ----------
    votes, level, n_boot, seed
        As in `win_rate`.

    Returns
    -------
    pandas.DataFrame
        One row per treatment of ties and unit: ``ties``, ``unit``, ``win_rate``,
        ``ci_low``, ``ci_high``, ``n``, ``method``, ``reason``.

    Raises
    ------
    InputError
        If a value is no vote.
    """
    rows = []
    for ties in TIES:
        for unit in UNITS:
            interval = win_rate(
                votes, unit=unit, ties=ties, level=level, n_boot=n_boot, seed=seed
            )
            rows.append(
                {
                    **{"ties": ties, "unit": unit, "win_rate": interval.estimate},
                    **{"ci_low": interval.low, "ci_high": interval.high},
                    **{"n": interval.n, "method": interval.method},
                    "reason": interval.reason,
                }
            )
    return pd.DataFrame(rows)
