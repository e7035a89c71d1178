"""Single rows of reported tables, for a page of their own."""

import pandas as pd

from casebook.audits.tables import REPORTED_MEASURES
from casebook.runs.outputs import plain_items

IMPOSSIBLE = "impossible"


def reported_items(rows):
    """Rows that `check_tables` has checked, impossible ones first."""
    items = _with_distinct_ids([_row_item(row) for row in rows.to_dict("records")])
    order = sorted(range(len(items)), key=lambda k: IMPOSSIBLE not in items[k]["tags"])
    return plain_items("checks", items, order)


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
        "Chance that an invented row would pass": f"{row['chance']:.3f}",
    }
    return {
        "id": f"{row['table']}: {row['row']}",
        "text": f"Reported of {row['n']} claims, {row['positives']} of them positive",
        "facts": [[name, value] for name, value in facts.items() if value],
        "reported": [[name.capitalize(), _three_digits(row[name])] for name in REPORTED_MEASURES],
        "tags": [row["verdict"], f"table: {row['table']}"],
    }


def _three_digits(value):
    return None if pd.isna(value) else f"{value:.3f}"


def _with_distinct_ids(items):
    """Number the later items of equal names."""
    counts = {}
    for item in items:
        count = counts[item["id"]] = counts.get(item["id"], 0) + 1
        if count > 1:
            item["id"] = f"{item['id']} ({count})"
    return items
