"""Find runs and read each of them once.

Every ``run.json`` below a registry's root is a run, except below folders whose name
starts with ``_`` or ``.`` (the registry's own and unfinished ones) and below
``tenants``. Pointing the root at such a folder shows what is in it.
"""

import datetime
import os
from dataclasses import dataclass, field
from pathlib import Path

from casebook.errors import InputError
from casebook.runs.artifact import read_record
from casebook.runs.comparability import comparability_key
from casebook.runs.index import read_through_index
from casebook.runs.layout import TENANTS

RECORD = "run.json"
REPO = "_repo/MiniInsurance-PosNeg"
"""Where another program of this layout keeps runs that compete only when asked."""


@dataclass(frozen=True)
class Run:
    """One run of the registry: the part of its record that listing needs."""

    path: str
    run_id: str
    workflow: str
    completed: str
    success: bool = True
    metrics: dict = field(default_factory=dict)
    key: str | None = None


@dataclass(frozen=True)
class Listing:
    """All runs below one root."""

    root: Path
    runs: list
    unreadable: dict

    def folder(self, run):
        """Give the folder of one run."""
        return self.root / run.path


def discover(layout, use_index=True, include=()):
    """Read every run below the registry's root."""
    if not layout.root.is_dir():
        raise InputError(
            f"{layout.root}: no such registry; runs appear there once an experiment "
            "was run, or name another with --runs-root"
        )
    files = dict(_records_below(layout.root, include))
    rows = read_through_index(layout.root, files, _summary, use_index)
    runs, unreadable = [], {}
    for path, row in rows.items():
        reason = row.get("reason") or _foreign(row, layout.tenant)
        if reason:
            unreadable[path] = reason
        else:
            row = {name: value for name, value in row.items() if name != "tenant"}
            runs.append(Run(path=path.rpartition("/")[0], **row))
    runs.sort(key=lambda run: (run.completed, run.run_id, run.path), reverse=True)
    return Listing(layout.root, runs, unreadable)


def _records_below(root, include):
    """Yield the path below the root and the state of every ``run.json``."""
    waiting = [("", root), *((f"{name}/", root / name) for name in include)]
    while waiting:
        prefix, folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            continue  # removed or renamed since its parent was read
        for entry in entries:
            hidden = entry.name.startswith(("_", ".")) or entry.name == TENANTS
            if entry.name == RECORD and not entry.is_dir():
                yield prefix + RECORD, entry
            elif not hidden and entry.is_dir(follow_symlinks=False):
                waiting.append((f"{prefix}{entry.name}/", entry.path))


def _summary(path):
    """Give what the index keeps of one file."""
    record = read_record(path)
    moment = (record.completed or record.started).astimezone(datetime.UTC)
    return {
        "run_id": record.run_id,
        "workflow": record.workflow,
        "completed": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "success": record.success,
        "metrics": record.metrics,
        "key": comparability_key(record.labels),
        "tenant": record.tenant,
    }


def _foreign(row, tenant):
    owner = row.get("tenant")
    if owner and owner != tenant:
        return f"belongs to tenant {owner}"
    return None
