"""Two runs compared query by query: difference with interval, tests, and flips."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import Incomparable, InputError
from casebook.estimates import contrasts
from casebook.runs.metrics import higher_is_better
from casebook.runs.rows import TOLERANCE, query_scores
from casebook.stats.intervals import FEWEST, cluster_sums
from casebook.stats.power import minimal_detectable_effect


@dataclass(frozen=True)
class PairedRuns:
    """A candidate against a reference on the same queries."""

    difference: float | None
    low: float | None
    high: float | None
    n: int
    groups: int
    p_value: float | None
    mde: float | None
    gained: int
    lost: int
    unchanged: int
    reason: str | None
    level: float
    flips: pd.DataFrame


def compare_runs(candidate, reference, metric, *, force=False, level=0.95, seed=0):
    """Compare two runs query by query."""
    after, before = query_scores(candidate, metric), query_scores(reference, metric)
    after, before = _same_queries(after, before, force)
    groups = _groups(after["group"], before["group"], force)
    after, before = after["score"], before["score"]
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"candidate": sign * after, "reference": sign * before})
    pair = [("candidate", "reference")]
    found = contrasts(scores, pair, groups, level=level, seed=seed).iloc[0]
    row = {name: _plain(value) for name, value in found.items()}
    flips = _flips(before, after, sign)
    counts = flips["change"].value_counts()
    return PairedRuns(
        difference=row["difference"],
        low=row["low"],
        high=row["high"],
        n=int(row["n"]),
        groups=int(row["groups"]),
        p_value=row["p"],
        mde=_detectable(after - before, groups, 1 - level),
        gained=int(counts.get("gained", 0)),
        lost=int(counts.get("lost", 0)),
        unchanged=int(counts.get("unchanged", 0)),
        reason=row["reason"],
        level=level,
        flips=flips,
    )


def _same_queries(after, before, force):
    shared = after.index.intersection(before.index)
    alone = len(after) + len(before) - 2 * len(shared)
    if alone and not force:
        raise Incomparable(
            f"{alone} queries were scored in one of the two runs only "
            f"({len(shared)} in both); --force compares those in both"
        )
    if not len(shared):
        raise InputError("the two runs have no query in common")
    return after.loc[shared], before.loc[shared]


def _groups(after, before, force):
    """Give the groups of both runs; rows without groups take those of the other run."""
    if after.is_unique:
        return before
    if before.is_unique or force:
        return after
    if (pd.factorize(after)[0] != pd.factorize(before)[0]).any():
        raise Incomparable("the two runs put the queries into different groups; --force takes those of the candidate")
    return after


def _detectable(differences, groups, alpha):
    """Smallest difference that a t test over the groups finds with power 0.8."""
    sums, sizes = cluster_sums(differences.to_numpy()[:, None], groups)
    spread = (sums[:, 0] - sizes * differences.mean()) * len(sizes) / sizes.sum()
    if len(sizes) < FEWEST or not np.abs(spread).max() > TOLERANCE:
        return None
    return minimal_detectable_effect(spread.std(ddof=1), len(sizes), alpha=alpha)


def _flips(before, after, sign):
    difference = after - before
    better = sign * difference
    change = np.select([better > TOLERANCE, better < -TOLERANCE], ["gained", "lost"], "unchanged")
    table = pd.DataFrame(
        {
            "query_id": before.index,
            "before": before.to_numpy(),
            "after": after.to_numpy(),
            "difference": difference.to_numpy(),
            "change": change,
        }
    )
    order = better.to_numpy()
    first = np.lexsort([table["query_id"], -order, -np.abs(order)])
    return table.iloc[first].reset_index(drop=True)


def _plain(value):
    """Give a built-in value, None for NaN: undefined is never a number."""
    if value is None or isinstance(value, str):
        return value
    return None if np.isnan(value) else float(value)
