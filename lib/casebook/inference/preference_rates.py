"""Win rates with intervals that resample votes, items, raters or both."""

from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.inference.votes import TIES, preference_scores
from casebook.stats.intervals import crossed_mean, mean_intervals, wilson
from casebook.stats.samples import check_choice, check_count, check_share

UNITS = ("vote", "item", "rater", "item and rater")


def win_rate(votes, *, unit="item", ties="drop", level=0.95, n_boot=10_000, seed=0):
    """Share of votes that the first system wins, with its interval."""
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
    """Give all intervals of the win rate side by side."""
    rows = []
    for ties in TIES:
        for unit in UNITS:
            interval = win_rate(votes, unit=unit, ties=ties, level=level, n_boot=n_boot, seed=seed)
            rows.append(
                {
                    **{"ties": ties, "unit": unit, "win_rate": interval.estimate},
                    **{"ci_low": interval.low, "ci_high": interval.high},
                    **{"n": interval.n, "method": interval.method},
                    "reason": interval.reason,
                }
            )
    return pd.DataFrame(rows)
