"""Edges of trees as tidy rows: how far each edit moved the results, and placebos."""

import numpy as np
import pandas as pd

from casebook.measures import rankshift

PRIMARY = "footrule"
PARITY = "displacement"
MEASURES = (
    PRIMARY,
    PARITY,
    "displacement_moved",
    "displacement_before",
    "displacement_len_aware",
    "rbo_distance",
    "jaccard_distance",
    "kendall",
)
OK, NOOP, INVALID, EMPTY, MANUAL = "ok", "noop", "invalid", "both_empty", "manual"
POOR = "poor_query"
_PLACEBO = [f"placebo_{name}" for name in MEASURES]


def edge_frame(trees):
    """Measure every edge of some trees."""
    rows = [row for tree in trees for row in _rows(tree)]
    frame = pd.DataFrame([describe for describe, _, _ in rows], columns=_COLUMNS)
    values = _measured(rows, max((tree.k for tree in trees), default=10))
    frame = _paired(pd.concat([frame, values], axis=1), placebo_frame(trees))
    why = frame["case_id"].map({tree.case_id: tree.no_placebo for tree in trees})
    frame["no_placebo"] = why.astype(object).where(frame["placebos"] == 0, None)
    return frame


def placebo_frame(trees):
    """Measure every placebo edge of some trees."""
    rows = [row for tree in trees for row in _placebo_rows(tree)]
    frame = pd.DataFrame([describe for describe, _, _ in rows], columns=_COLUMNS)
    values = _measured(rows, max((tree.k for tree in trees), default=10))
    keep = ["case_id", "parent", "node", "depth", "removed", "added", "status"]
    return pd.concat([frame[keep], values], axis=1)


_COLUMNS = [
    "case_id",
    "parent",
    "node",
    "depth",
    "fact_type",
    "item",
    "operation",
    "old",
    "new",
    "removed",
    "added",
    "status",
    "reason",
    "n_parent",
    "n_child",
]


def _rows(tree):
    """Yield the description and the two lists of each edge, no-ops included."""
    for node in tree.nodes[1:]:
        yield _row(tree, node.parent, node.name, node.edit, node.found, node.manual)
    for count, (parent, edit) in enumerate(tree.noops, 1):
        name = f"{parent.name}.noop{count}"
        yield _row(tree, parent, name, edit, parent.found, False)


def _placebo_rows(tree):
    for node in tree.placebos:
        yield _row(tree, node.parent, node.name, node.edit, node.found, False)


def _row(tree, parent, name, edit, found, manual):
    error = parent.found.error or found.error
    empty = not parent.found.cases and not found.cases
    status = MANUAL if manual else NOOP if edit.noop else OK
    status = POOR if tree.poor else status
    status = EMPTY if empty else status
    status = INVALID if error else status
    row = [
        tree.case_id,
        parent.name,
        name,
        parent.depth + 1,
        edit.fact_type,
        edit.item,
        edit.operation,
        edit.old,
        edit.new,
        edit.removed,
        edit.added,
        status,
        error or ("both lists are empty" if empty else tree.poor),
        len(parent.found.cases),
        len(found.cases),
    ]
    lists = ((), ()) if error else (parent.found.cases, found.cases)
    return row, *lists


def distances(before, after, k):
    """How far a list moved, by all `MEASURES`; NaN where undefined."""
    mean, pair = rankshift.mean_displacement, (before, after)
    rbo, jaccard = rankshift.rbo(*pair), rankshift.jaccard(*pair, k)
    found = {
        "footrule": rankshift.normalised_footrule(*pair, k),
        "displacement": mean(*pair, k),
        "displacement_moved": mean(*pair, k, affected="moved"),
        "displacement_before": mean(*pair, k, affected="before"),
        "displacement_len_aware": mean(*pair, k, absent="len_aware"),
        "rbo_distance": None if rbo is None else 1 - rbo,
        "jaccard_distance": None if jaccard is None else 1 - jaccard,
        "kendall": rankshift.kendall_topk(*pair, k, normalised=True),
    }
    return {name: np.nan if x is None else x for name, x in found.items()}


def _measured(rows, k):
    found = [distances(before, after, k) for _, before, after in rows]
    return pd.DataFrame(found, columns=list(MEASURES), dtype=float)


def _paired(frame, placebos):
    """Put the mean of the placebos of the same parent and size beside each edge."""
    sizes = ["case_id", "parent", "removed", "added"]
    valid = placebos[placebos["status"] == OK]
    means = valid.groupby(sizes)[list(MEASURES)].mean().add_prefix("placebo_")
    means["placebos"] = valid.groupby(sizes).size()
    joined = frame.join(means, on=sizes)
    joined["placebos"] = joined["placebos"].fillna(0).astype(int)
    if frame.empty:
        joined = joined.astype(dict.fromkeys(_PLACEBO, float))
    return joined.astype({"removed": int, "added": int, "depth": int})


def excess(edges, measure=PRIMARY):
    """Give what each edge moved beyond its placebos."""
    return edges[measure] - edges[f"placebo_{measure}"].astype(np.float64)
