"""Single checks of labels and single rows of reported tables, for a page of their own."""

import pandas as pd

from casebook.audits.labels import FLAGGED
from casebook.audits.tables import REPORTED_MEASURES
from casebook.runs.outputs import plain_items
from casebook.stats.intervals import bounds_text
from casebook.tables import p_value

IMPOSSIBLE = "impossible"


def check_items(findings, reported, title):
    """Give checks of labels and reported rows, those that say something against them first.

    ``findings`` are those of `Audit.frame`, their bounds named after ``value``; ``reported`` are
    the rows of `check_tables`; ``title`` names a set of labels for readers.
    """
    items = [_finding_item(row, title(row["audited"])) for row in findings.to_dict("records")]
    items += [_row_item(row) for row in reported.to_dict("records")]
    items = _with_distinct_ids(items)
    order = sorted(range(len(items)), key=lambda k: not {FLAGGED, IMPOSSIBLE} & {*items[k]["tags"]})
    return plain_items("checks", items, order)


def _finding_item(row, title):
    """One check of one set of labels, with what decided and the evidence."""
    value = row["value"]
    measured = {}
    if pd.notna(value):
        bounds = (
            f" {bounds_text(row['value low'], row['value high'])}"
            if pd.notna(row["value low"])
            else ""
        )
        measured = {
            "Value": f"{value:.3f}{bounds}",
            "Labels in random order": _three_digits(row["chance"]),
            "Counted": f"{row['n']:,}",
            "p": _p(row["p"]),
            "p of soundness": _p(row["p_sound"]),
        }
    facts = {"Verdict": row["verdict"], **measured}
    facts |= {"Decided by": row["decision"], "Reason": row["reason"]}
    return {
        "id": f"{title}: {row['check']}",
        "text": f"{row['statistic'][:1].upper()}{row['statistic'][1:]}",
        "facts": _given(facts),
        "evidence": [part for part in row["evidence"].split("; ") if part],
        "reported": [],
        "tags": [row["verdict"], f"set: {title}", f"check: {row['check'].partition(':')[0]}"],
    }


def _row_item(row):
    """One row of a reported table, with what the check of it says."""
    low = row["implied accuracy low"]
    high = row["implied accuracy high"]
    implied = None
    if pd.notna(low):
        implied = f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f}"
    facts = {
        "Verdict": row["verdict"],
        "Impossible by themselves": row["impossible alone"],
        "Accuracy that the other columns leave": implied,
        "Confusion matrices that give the row": f"{row['n tables']:,}",
        "Chance that an invented row would pass": _three_digits(row["chance"]),
    }
    return {
        "id": f"{row['table']}: {row['row']}",
        "text": f"Reported of {row['n']} claims, {row['positives']} of them positive",
        "facts": _given(facts),
        "evidence": [],
        "reported": [[name.capitalize(), _three_digits(row[name])] for name in REPORTED_MEASURES],
        "tags": [row["verdict"], f"table: {row['table']}"],
    }


def _given(facts):
    return [[name, value] for name, value in facts.items() if isinstance(value, str) and value]


def _three_digits(value):
    return None if pd.isna(value) else f"{value:.3f}"


def _p(value):
    return None if pd.isna(value) else p_value(value)


def _with_distinct_ids(items):
    """Number the later items of equal names."""
    counts = {}
    for item in items:
        count = counts[item["id"]] = counts.get(item["id"], 0) + 1
        if count > 1:
            item["id"] = f"{item['id']} ({count})"
    return items
