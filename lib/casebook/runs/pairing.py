"""Two runs compared by query: difference, interval, test, and flips."""

import numpy as np
import pandas as pd

from casebook.errors import Incomparable, InputError
from casebook.frames import contrasts
from casebook.runs.record import higher_is_better
from casebook.runs.registry import TOLERANCE, query_scores


def compare_runs(
    candidate,
    reference,
    metric,
    *,
    force=False,
    level=0.95,
    seed=0,
):
    """Compare the folders of two runs by the queries of a metric; gives a dict.

    Above 0 the candidate is better, whichever direction the metric has. Other queries, or other
    groups of them, are incomparable; by force those count that both hold, in the groups of the
    candidate. ``flips`` is a frame of the queries, largest change first, ``reason`` why there is no
    interval, ``incomparable`` what was overcome by force.
    """
    after = query_scores(candidate, metric)
    before = query_scores(reference, metric)
    both = after.join(before, how="inner", rsuffix="_before")
    if both.empty:
        raise InputError("the two runs have no query in common")
    groups = both["group_before"] if both["group"].is_unique else both["group"]
    # Rows without groups, each a group of its own, take those of the other run.
    known = groups if both["group_before"].is_unique else both["group_before"]
    n_unpaired = len(after) + len(before) - 2 * len(both)
    incomparable = None
    if n_unpaired:
        incomparable = f"{n_unpaired} queries are of one run only; --force compares {len(both)}"
    elif (pd.factorize(groups)[0] != pd.factorize(known)[0]).any():
        incomparable = "the queries are in different groups; --force takes the candidate's"
    if incomparable and not force:
        raise Incomparable(incomparable)
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"new": sign * both["score"], "old": sign * both["score_before"]})
    row = contrasts(scores, [("new", "old")], groups, level=level, seed=seed).iloc[0]
    row = row.astype(object).where(row.notna(), None)  # undefined is never a number
    flips = _flips(both["score_before"], both["score"], sign)
    counts = flips["change"].value_counts().reindex(CHANGES, fill_value=0)
    names = {"difference", "low", "high", "reason"}
    return {
        **{name: row[name] for name in names},
        "level": level,
        "incomparable": incomparable,
        "n": int(row["n"]),
        "groups": int(row["groups"]),
        "p_value": row["p"],
        **counts.astype(object).to_dict(),
        "flips": flips,
    }


CHANGES = ["gained", "lost", "unchanged"]


def _flips(before, after, sign):
    table = pd.DataFrame({"before": before, "after": after, "difference": after - before})
    better = sign * table["difference"]
    changed = [better > TOLERANCE, better < -TOLERANCE]
    table["change"] = np.select(changed, CHANGES[:2], CHANGES[2])
    order = np.lexsort([table.index, -better, -np.abs(better)])
    return table.rename_axis("query_id").reset_index().iloc[order].reset_index(drop=True)
