"""What a registry holds, as tables: runs, scores by system, comparability, history."""

from dataclasses import replace

import pandas as pd

from casebook.runs.metrics import canonical
from casebook.runs.ordering import short_key
from casebook.runs.promotion import active, history


def others(listing, experiment):
    """Leave one experiment out: the page that reads the registry is not its subject."""
    kept = [run for run in listing.runs if run.workflow != experiment]
    return replace(listing, runs=kept)


def runs_table(listing):
    """List the runs of a registry, newest first."""
    rows = [
        (
            run.path.rpartition("/")[2],
            run.workflow,
            run.completed[:16].replace("T", " "),
            "ok" if run.success else "failed",
            len(run.metrics),
            short_key(run.key),
        )
        for run in listing.runs
    ]
    columns = ["run", "experiment", "completed", "status", "metrics", "data"]
    return pd.DataFrame(rows, columns=columns)


def unreadable_table(listing):
    """List what could not be read, with the reason."""
    return pd.DataFrame(listing.unreadable.items(), columns=["file", "reason"])


def score_table(listing, measure):
    """Give one measure of every system on every dataset."""
    rows = []
    for run in listing.runs:
        for key, value in run.metrics.items():
            parts = key.split(".", 2)
            if len(parts) == 3 and parts[2] == canonical(measure) and run.success:
                place = run.path.rpartition("/")[2]
                rows.append((run.workflow, *parts[:2], value, run.completed, place))
    columns = ["experiment", "dataset", "system", "value", "completed", "run"]
    return pd.DataFrame(rows, columns=columns)


def matrix(scores, experiment):
    """Lay one experiment's newest scores out as datasets by systems."""
    part = scores[scores["experiment"] == experiment]
    newest = part.drop_duplicates(["dataset", "system"])
    table = newest.pivot_table(index="dataset", columns="system", values="value")
    # Against the mean of its row, since not every system was run on all data.
    centred = table.sub(table.mean(axis=1), axis=0)
    order = centred.mean().sort_values(ascending=False, kind="stable").index
    return table[order].rename_axis(columns=None)


def comparability(listing):
    """Say which runs may compete with each other."""
    groups = {}
    for run in listing.runs:
        group = run.key or ("unknown", run.path)
        groups.setdefault(group, (run.key, []))[1].append(run.path.rpartition("/")[2])
    rows = [(short_key(key), len(names), ", ".join(sorted(names))) for key, names in groups.values()]
    frame = pd.DataFrame(rows, columns=["data", "runs", "which"])
    return frame.sort_values(["runs", "which"], ascending=[False, True])


def answer(listing, groups, in_force):
    """Say in a sentence what has been run, what may be compared and what is in force."""
    shared = groups[groups["runs"] > 1]
    alone = int((groups["runs"] == 1).sum())
    return (
        f"Of **{len(listing.runs)}** runs on record {int(shared['runs'].sum())} share"
        f" their data with another, in {len(shared)} groups, and {alone} stand alone;"
        f" {len(listing.unreadable)} records could not be read."
        f" {len(in_force)} runs are in force."
    )


def active_table(listing):
    """Give the active run of every metric that has one, and why it is active."""
    pointers = {(e["metric"], e.get("profile")) for e in history(listing.root)}
    rows = [active(listing.root, *pointer) for pointer in sorted(pointers, key=str)]
    columns = ["metric", "profile", "run", "since", "actor", "reason"]
    return pd.DataFrame([_pointer(entry) for entry in rows], columns=columns)


def _pointer(entry):
    names = ("metric", "profile", "runId", "at", "actor", "reason")
    return tuple(entry.get(name) for name in names)
