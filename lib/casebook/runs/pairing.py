"""Two runs compared by query: difference, interval, test, smallest detectable effect, and flips."""

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

    Above 0 the candidate is better, whichever direction the metric has. Other queries, or other
    groups of them, are incomparable; by force those count that both hold, in the groups of the
    candidate. ``mde`` is the smallest effect found with power 0.8, ``flips`` a frame of the
    queries, largest change first, ``reason`` why there is no interval, ``incomparable`` what was
    overcome by force.
    """
    after = query_scores(candidate, metric)
    before = query_scores(reference, metric)
    shared = after.index.intersection(before.index)
    n_unpaired = len(after) + len(before) - 2 * len(shared)
    if not len(shared) and (force or not n_unpaired):
        raise InputError("the two runs have no query in common")
    after = after.loc[shared]
    before = before.loc[shared]
    groups, other_groups = _groups(after["group"], before["group"])
    incomparable = None
    if n_unpaired:
        incomparable = (
            f"{n_unpaired} queries were scored in one of the two runs only "
            f"({len(shared)} in both); --force compares those"
        )
    elif other_groups:
        incomparable = (
            "the two runs put the queries into different groups; "
            "--force takes those of the candidate"
        )
    if incomparable and not force:
        raise Incomparable(incomparable)
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"candidate": sign * after["score"], "reference": sign * before["score"]})
    row = contrasts(scores, [("candidate", "reference")], groups, level=level, seed=seed).iloc[0]
    row = row.astype(object).where(row.notna(), None)  # undefined is never a number
    flips = _flips(before["score"], after["score"], sign)
    counts = flips["change"].value_counts()
    return {
        "difference": row["difference"],
        "low": row["low"],
        "high": row["high"],
        "reason": row["reason"],
        "level": level,
        "incomparable": incomparable,
        "n": int(row["n"]),
        "groups": int(row["groups"]),
        "p_value": row["p"],
        "mde": _detectable(after["score"] - before["score"], groups, 1 - level),
        "gained": int(counts.get("gained", 0)),
        "lost": int(counts.get("lost", 0)),
        "unchanged": int(counts.get("unchanged", 0)),
        "flips": flips,
    }


def _groups(candidate, reference):
    """Give the groups of the queries, and whether those of the reference are others.

    Rows without groups, each a group of its own, take those of the other run.
    """
    if candidate.is_unique:
        return reference, False
    if reference.is_unique:
        return candidate, False
    other_groups = pd.factorize(candidate)[0] != pd.factorize(reference)[0]
    return candidate, other_groups.any()


def _detectable(differences, groups, alpha):
    """Give the smallest difference that a t test over the groups finds with power 0.8."""
    sums, sizes = cluster_sums(differences.to_numpy()[:, None], groups)
    spread = (sums[:, 0] - sizes * differences.mean()) * len(sizes) / sizes.sum()
    if len(sizes) < FEWEST or not np.abs(spread).max() > TOLERANCE:
        return None
    return float(minimal_detectable_effect(spread.std(ddof=1), len(sizes), alpha=alpha))


def _flips(before, after, sign):
    """List the queries by the size of their change, gains before losses."""
    table = pd.DataFrame({"before": before, "after": after, "difference": after - before})
    better = sign * table["difference"].to_numpy()
    table["change"] = np.select(
        [better > TOLERANCE, better < -TOLERANCE], ["gained", "lost"], "unchanged"
    )
    table = table.rename_axis("query_id").reset_index()
    order = np.lexsort([table["query_id"], -better, -np.abs(better)])
    return table.iloc[order].reset_index(drop=True)
