"""Two runs compared query by query: difference with interval, test, smallest detectable effect, and flips."""

import numpy as np
import pandas as pd

from casebook.errors import Incomparable, InputError
from casebook.frames import contrasts
from casebook.runs.record import higher_is_better
from casebook.runs.registry import TOLERANCE, query_scores
from casebook.stats.intervals import FEWEST, cluster_sums
from casebook.stats.tests import minimal_detectable_effect


def compare_runs(candidate, reference, metric, *, force=False, level=0.95, seed=0):
    """Compare the folders of two runs by the queries of a metric; gives a dict.

    Above 0 the candidate is better, whichever direction the metric has. Other queries, or other groups of them, are
    incomparable; by force those count that both hold, in the groups of the candidate. ``mde`` is the smallest effect
    found with power 0.8, ``flips`` a frame of the queries, largest change first, ``reason`` why there is no interval,
    ``incomparable`` what was overcome by force.
    """
    after, before = query_scores(candidate, metric), query_scores(reference, metric)
    shared = after.index.intersection(before.index)
    alone, apart = len(after) + len(before) - 2 * len(shared), None
    if alone:
        apart = (
            f"{alone} queries were scored in one of the two runs only ({len(shared)} in both); "
            "--force compares those"
        )
    if not len(shared) and (force or not alone):
        raise InputError("the two runs have no query in common")
    after, before = after.loc[shared], before.loc[shared]
    groups = after["group"]
    if groups.is_unique:  # rows without groups take those of the other run
        groups = before["group"]
    elif (
        not before["group"].is_unique
        and (pd.factorize(groups)[0] != pd.factorize(before["group"])[0]).any()
    ):
        why = "the two runs put the queries into different groups; --force takes those of the candidate"
        apart = apart or why
    if apart and not force:
        raise Incomparable(apart)
    after, before = after["score"], before["score"]
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"candidate": sign * after, "reference": sign * before})
    row = contrasts(scores, [("candidate", "reference")], groups, level=level, seed=seed).iloc[0]
    row = row.astype(object).where(row.notna(), None)  # undefined is never a number
    flips = _flips(before, after, sign)
    counts = flips["change"].value_counts()
    return {
        **{name: row[name] for name in ("difference", "low", "high", "reason")},
        "level": level,
        "incomparable": apart,
        "n": int(row["n"]),
        "groups": int(row["groups"]),
        "p_value": row["p"],
        "mde": _detectable(after - before, groups, 1 - level),
        **{name: int(counts.get(name, 0)) for name in ("gained", "lost", "unchanged")},
        "flips": flips,
    }


def _detectable(differences, groups, alpha):
    """Smallest difference that a t test over the groups finds with power 0.8."""
    sums, sizes = cluster_sums(differences.to_numpy()[:, None], groups)
    spread = (sums[:, 0] - sizes * differences.mean()) * len(sizes) / sizes.sum()
    if len(sizes) < FEWEST or not np.abs(spread).max() > TOLERANCE:
        return None
    return float(minimal_detectable_effect(spread.std(ddof=1), len(sizes), alpha=alpha))


def _flips(before, after, sign):
    """List the queries with what each gained or lost, the largest change first, gains before losses."""
    table = pd.DataFrame({"before": before, "after": after, "difference": after - before})
    better = sign * table["difference"].to_numpy()
    table["change"] = np.select(
        [better > TOLERANCE, better < -TOLERANCE], ["gained", "lost"], "unchanged"
    )
    table = table.rename_axis("query_id").reset_index()
    first = np.lexsort([table["query_id"], -better, -np.abs(better)])
    return table.iloc[first].reset_index(drop=True)
