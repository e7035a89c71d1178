"""Two runs compared query by query: difference with interval, test, smallest detectable effect, and flips."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import Incomparable, InputError
from casebook.frames import contrasts
from casebook.runs.record import higher_is_better
from casebook.runs.registry import TOLERANCE, query_scores
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
    """Compare two runs query by query.

    Parameters
    ----------
    candidate, reference : pathlib.Path
        Folders of the two runs.
    metric : str
        Metric key, in any letter case.
    force : bool
        Compare the queries that both runs hold, with the candidate's groups, where queries or groups differ.
    level : float
        Coverage of the interval, between 0 and 1.
    seed : int
        Of the resampling over groups.

    Returns
    -------
    PairedRuns
        Mean difference (above 0: the candidate is better) with interval and p-value over groups of queries, both in
        the metric's unit; the smallest effect found with power 0.8; and a frame of flips, largest change first.

    Raises
    ------
    Incomparable
        If the runs were scored on other queries or group them differently, unless `force` is set.
    casebook.runs.registry.NoRows
        If a run keeps no rows whose mean is its metric.
    """
    after, before = query_scores(candidate, metric), query_scores(reference, metric)
    shared = after.index.intersection(before.index)
    alone = len(after) + len(before) - 2 * len(shared)
    if alone and not force:
        raise Incomparable(
            f"{alone} queries were scored in one of the two runs only "
            f"({len(shared)} in both); --force compares those in both"
        )
    if not len(shared):
        raise InputError("the two runs have no query in common")
    after, before = after.loc[shared], before.loc[shared]
    groups = _common_groups(after["group"], before["group"], force)
    after, before = after["score"], before["score"]
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"candidate": sign * after, "reference": sign * before})
    row = contrasts(scores, [("candidate", "reference")], groups, level=level, seed=seed).iloc[0]
    flips = _flips(before, after, sign)
    counts = flips["change"].value_counts()
    return PairedRuns(
        **{name: _plain(row[name]) for name in ("difference", "low", "high", "reason")},
        n=int(row["n"]),
        groups=int(row["groups"]),
        p_value=_plain(row["p"]),
        mde=_detectable(after - before, groups, 1 - level),
        **{name: int(counts.get(name, 0)) for name in ("gained", "lost", "unchanged")},
        level=level,
        flips=flips,
    )


def _common_groups(after, before, force):
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
    """List the queries with what each gained or lost, the largest change first, gains before losses."""
    difference = after - before
    better = sign * difference.to_numpy()
    change = np.select([better > TOLERANCE, better < -TOLERANCE], ["gained", "lost"], "unchanged")
    columns = {"before": before, "after": after, "difference": difference}
    table = pd.DataFrame({"query_id": before.index, **{n: c.to_numpy() for n, c in columns.items()}, "change": change})
    first = np.lexsort([table["query_id"], -better, -np.abs(better)])
    return table.iloc[first].reset_index(drop=True)


def _plain(value):
    """Give a built-in value, None for NaN: undefined is never a number."""
    if value is None or isinstance(value, str):
        return value
    return None if np.isnan(value) else float(value)
