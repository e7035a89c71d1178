"""Win rates with intervals that resample votes, items, raters or both."""

from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.inference.proportions import wilson
from casebook.inference.samples import check_choice, check_count, check_share
from casebook.inference.two_way import crossed_mean
from casebook.inference.votes import TIES, preference_scores
from casebook.stats.intervals import mean_intervals

UNITS = ("vote", "item", "rater", "item and rater")


def win_rate(votes, *, unit="item", ties="drop", level=0.95, n_boot=10_000, seed=0):
    """Share of votes that the first system wins, with its interval.

    Parameters
    ----------
    votes : array_like, shape [items, raters]
        1, 0, -1 or NaN.
    unit : {"item", "vote", "rater", "item and rater"}
        What would be drawn anew. ``vote``: Wilson's interval, which takes the votes
        for independent. ``item``, ``rater``: the interval of a mean over clusters, from
        six of them. Both: `casebook.inference.two_way.crossed_mean`, from three raters,
        and never narrower than ``item``.
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
    """
    check_choice("unit", unit, UNITS)
    check_share("level", level)
    check_count("n_boot", n_boot)
    scores = preference_scores(votes, ties)
    scored = ~np.isnan(scores)
    total, n = float(np.nansum(scores)), int(scored.sum())
    if unit == "vote" or n == 0:
        return wilson(total, n, level)
    clusters = np.nonzero(scored)[1 if unit == "rater" else 0]
    options = {"level": level, "n_boot": n_boot, "seed": seed}
    found = mean_intervals(scores[scored], clusters, **options)[0]
    if unit == "item and rater":
        options = {"weights": "votes", "level": level, "limits": (0.0, 1.0)}
        both = crossed_mean(scores, 0.5, **options).interval
        if None in (found.low, both.low):
            return both
        low, high = min(found.low, both.low), max(found.high, both.high)
        return replace(both, low=low, high=high)
    method = f"t and bootstrap over {unit}s"
    return replace(found, n=len(np.unique(clusters)), method=method)


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
