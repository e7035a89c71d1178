"""Two runs compared query by query: difference with interval, tests, and flips."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import Incomparable, InputError
from casebook.inference.comparison import compare_systems
from casebook.runs.metrics import higher_is_better
from casebook.runs.rows import TOLERANCE, query_scores

RESAMPLES = 10_000


@dataclass(frozen=True)
class PairedRuns:
    """A candidate against a reference on the same queries.

    All differences are candidate minus reference, turned so that above 0 is better.

    Attributes
    ----------
    difference, low, high : float or None
        Mean difference with its percentile bootstrap interval.
    n : int
        Number of queries.
    p_value : float or None
        Two-sided paired randomisation test.
    mde : float or None
        Smallest true difference that a paired t test finds with power 0.8.
    gained, lost, unchanged : int
        Queries on which the candidate is better, worse, or equal within rounding.
    reason : str or None
        Why an interval is missing or degenerate.
    level : float
        Coverage of the interval.
    flips : pandas.DataFrame
        One row per query, the largest changes first: ``query_id``, ``before``,
        ``after``, ``difference`` (plain after minus before) and ``change``: gained,
        lost or unchanged.
    """

    difference: float | None
    low: float | None
    high: float | None
    n: int
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
        Folders of the runs.
    metric : str
        Key in any letter case.
    force : bool
        Compare on the queries that both hold, if these are not the same.
    level : float
        Coverage of the interval.
    seed : int
        Seed of bootstrap and randomisation.

    Returns
    -------
    PairedRuns
        With 10,000 resamples.

    Raises
    ------
    casebook.runs.rows.NoRows
        If a run keeps no rows for the metric.
    Incomparable
        If the runs hold different queries.
    """
    after, before = query_scores(candidate, metric), query_scores(reference, metric)
    after, before = _same_queries(after, before, force)
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"candidate": sign * after, "reference": sign * before})
    options = {"level": level, "n_boot": RESAMPLES, "n_resamples": RESAMPLES}
    pairs = compare_systems(scores, seed=seed, **options).pairs
    row = {name: _plain(value) for name, value in pairs.iloc[0].items()}
    flips = _flips(before, after, sign)
    counts = flips["change"].value_counts()
    return PairedRuns(
        difference=row["difference"],
        low=row["ci_low"],
        high=row["ci_high"],
        n=int(row["n"]),
        p_value=row["p_randomisation"],
        mde=row["mde"],
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


def _flips(before, after, sign):
    difference = after - before
    better = sign * difference
    change = np.select(
        [better > TOLERANCE, better < -TOLERANCE], ["gained", "lost"], "unchanged"
    )
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
