"""Two runs compared by query: difference, interval, test, flips, and what they were made with."""

import numpy as np
import pandas as pd

from casebook.errors import Incomparable, InputError
from casebook.frames import contrasts
from casebook.runs.evidence import RECORD
from casebook.runs.record import higher_is_better, read_record
from casebook.runs.registry import TOLERANCE, NoRows, find_run, query_scores

CHANGES = ["gained", "lost", "unchanged"]


def compare_named(listing, names, metric):
    """Two runs by name compared query by query, with the labels that differ."""
    if len(names) != 2:
        raise InputError("compare takes no run or two: candidate and reference")
    runs = [find_run(listing, name) for name in names]
    if runs[0]["key"] != runs[1]["key"]:
        raise Incomparable("the runs were measured on different data")
    folders = [listing.folder(run) for run in runs]
    try:
        comparison = compare_runs(*folders, metric)
    except NoRows as reason:
        raise InputError(f"{metric}: no comparison by query: {reason}") from None
    labels = pd.json_normalize([read_record(folder / RECORD).labels for folder in folders])
    labels = labels.astype(str).T
    differing = labels[labels[0] != labels[1]]
    return comparison | {"labels": differing.T.to_dict("list")}


def compare_runs(candidate, reference, metric):
    """Compare the folders of two runs by the queries of a metric; gives a dict.

    Above 0 the candidate is better, whichever direction the metric has. Other queries, or other
    groups of them, are incomparable. ``flips`` is a frame of the queries, largest change first,
    ``reason`` why there is no interval.
    """
    after = query_scores(candidate, metric)
    before = query_scores(reference, metric)
    n_alone = len(after.index.symmetric_difference(before.index))
    if n_alone:
        raise Incomparable(f"{n_alone} queries are of one run only")
    both = after.join(before, rsuffix="_before")
    # Rows without groups, each a group of its own, take those of the other run.
    groups = both["group_before"] if both["group"].is_unique else both["group"]
    known = groups if both["group_before"].is_unique else both["group_before"]
    if (pd.factorize(groups)[0] != pd.factorize(known)[0]).any():
        raise Incomparable("the queries are in different groups")
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame({"new": sign * both["score"], "old": sign * both["score_before"]})
    row = contrasts(scores, [("new", "old")], groups).iloc[0]
    row = row.astype(object).where(row.notna(), None)  # undefined is never a number
    flips = _flips(both["score_before"], both["score"], sign)
    counts = flips["change"].value_counts().reindex(CHANGES, fill_value=0)
    return {
        **row[["difference", "low", "high", "reason"]].to_dict(),
        "level": 0.95,
        "n": int(row["n"]),
        "groups": int(row["groups"]),
        "p_value": row["p"],
        **counts.astype(object).to_dict(),
        "flips": flips,
    }


def _flips(before, after, sign):
    table = pd.DataFrame({"before": before, "after": after, "difference": after - before})
    better = sign * table["difference"]
    changed = [better > TOLERANCE, better < -TOLERANCE]
    table["change"] = np.select(changed, CHANGES[:2], CHANGES[2])
    order = np.lexsort([table.index, -better, -np.abs(better)])
    return table.rename_axis("query_id").reset_index().iloc[order].reset_index(drop=True)
