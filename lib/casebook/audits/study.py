"""Audit of everything at hand, and what the checks do on labels of known making."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.audits.findings import FLAGGED, NOT_APPLICABLE, NOTED
from casebook.audits.label_tables import read_labels
from casebook.audits.labels import audit_labels
from casebook.data import registry
from casebook.data.sources import MIRROR_VARIABLE, Absent
from casebook.errors import InputError
from casebook.paths import data_folder


def audit_all(names=None, extra=(), seed=0):
    """Audit the labels of datasets and of label tables of the mirror."""
    audits, absent = [], {}
    for name in [*(registry.list_datasets() if names is None else names), *extra]:
        try:
            called, place = data_folder(name) or (name, name)
            labels = read_labels(_table(name) if name in extra else place)
        except Absent as error:
            absent[name] = str(error)
        except InputError as error:
            # Data of another kind is left out of "all", and an error if asked for.
            if names is not None and name not in extra:
                raise
            absent[name] = str(error)
        else:
            audits.append(replace(audit_labels(labels, seed), name=called))
    return audits, absent


def _table(name):
    mirror = os.environ.get(MIRROR_VARIABLE)
    path = Path(mirror or "") / name
    if not mirror or not path.is_dir():
        raise Absent(f"{name}: not in a dataset mirror; set {MIRROR_VARIABLE}")
    return path


def findings_table(audits):
    """Join the findings of several audits."""
    frame = pd.concat([audit.frame() for audit in audits], ignore_index=True)
    names = {"low": "value low", "high": "value high"}
    frame = frame.rename(columns=names)
    bounds = ["value", "value low", "value high", "chance", "p"]
    return frame.astype(dict.fromkeys(bounds, float))


def overview(table):
    """Reduce the names of checks on pairs of splits to the check, for the figure."""
    short = table["check"].str.partition(":")[0]
    return table[["audited", "verdict"]].assign(check=short)


def answer(audits, absent, curve):
    """Answer the chapter's question on labels."""
    lines = []
    for audit in audits:
        flagged = [f for f in audit.findings if f.verdict == FLAGGED]
        reasons = "; ".join(f"{f.check}: {f.evidence[0]}" for f in flagged)
        if flagged:
            of = f"{len(flagged)} of {len(judged_of(audit))} checks"
            lines.append(f"{audit.name} is flagged by {of}: {reasons}.")
    passed = [audit.name for audit in audits if audit.verdict != FLAGGED]
    if passed:
        lines.append(f"No check flags {', '.join(passed)}.")
    none, all_ = curve.iloc[0], curve.iloc[-1]
    lines.append(
        f"On labels of known making, {none['flagged']:.0%} of {int(none['n'])} random "
        f"sets are flagged as dealt out, and {all_['flagged']:.0%} of those that are."
    )
    if absent:
        lines.append(f"Not audited: {', '.join(absent)}.")
    return "\n".join("- " + line.replace("_", "\\_") for line in lines)


def judged_of(audit):
    """Give the findings of the checks that could have been flagged."""
    left = (NOT_APPLICABLE, NOTED)
    return [finding for finding in audit.findings if finding.verdict not in left]


def audit_numbers(audits, curve):
    """Collect what the book may quote."""
    alarms = float(curve.loc[curve["dealt"] == 0, "flagged"].iloc[0])
    found = {}
    for audit in audits:
        checks = {f.check: _number(f) for f in audit.findings}
        judged = judged_of(audit)
        count = sum(f.verdict == FLAGGED for f in judged)
        checks["flagged"] = {
            "value": count / len(judged) if judged else None,
            "ci": [None, None],
            "n": len(judged),
            "control": alarms,
            "reason": f"{count} of {len(judged)} checks: a count, not a sample",
        }
        found[audit.name] = {"labels": checks}
    return found


def _number(finding):
    return {
        "value": finding.value,
        "ci": [finding.low, finding.high],
        "n": finding.n,
        "control": finding.chance,
        "reason": finding.reason,
    }


def absent_table(absent):
    """List what could not be audited."""
    return pd.DataFrame(list(absent.items()), columns=["data", "reason"])
