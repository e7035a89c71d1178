"""Decisions that were kept as files: also those that promoted nothing."""

import pandas as pd

from casebook.errors import InputError
from casebook.readers import read_json

COLUMNS = [
    *("when", "metric", "profile", "candidate", "action", "verdict"),
    *("difference", "difference low", "difference high", "n", "why"),
]


def kept_decisions(root):
    """List the decisions below a registry, the latest first."""
    rows = [_row(path) for path in (root / "_decisions").glob("decision_*.json")]
    rows.sort(key=lambda row: (str(row["when"]), str(row["why"])), reverse=True)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    numbers = ["difference", "difference low", "difference high", "n"]
    return frame.astype(dict.fromkeys(numbers, float))


def _row(path):
    row = dict.fromkeys(COLUMNS)
    try:
        report = read_json(path)
        evidence, candidate = report["evidence"], report["candidate"] or {}
        return row | {
            "when": report["createdUtc"][:16].replace("T", " "),
            "metric": report["metricKey"],
            "profile": report["profile"],
            "candidate": candidate.get("runId"),
            "action": report["action"],
            "verdict": evidence["verdict"],
            "difference": evidence["improvement"],
            "difference low": evidence["low"],
            "difference high": evidence["high"],
            "n": evidence["n"],
            "why": report["reason"],
        }
    except InputError as error:
        why = str(error)
    except (KeyError, TypeError, AttributeError):
        why = f"{path.name}: not a decision of this registry"
    return row | {"verdict": "unreadable", "why": why}
