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
    """One run of the registry: the part of its record that listing needs.

    Attributes
    ----------
    path : str
        Folder of the run below the registry's root, with ``/``.
    run_id, workflow : str
        As recorded.
    completed : str
        End (or start, if there is none) in UTC, sortable as text.
    success : bool
        Whether the run ended well.
    metrics : dict of str to float or None
        Canonical keys.
    key : str or None
        Comparability key; None without a fingerprint.
    """

    path: str
    run_id: str
    workflow: str
    completed: str
    success: bool = True
    metrics: dict = field(default_factory=dict)
    key: str | None = None


@dataclass(frozen=True)
class Listing:
    """All runs below one root.

    Attributes
    ----------
    root : pathlib.Path
        The registry's root.
    runs : list of Run
        Newest first; equal times by run id, descending.
    unreadable : dict of str to str
        Path of a ``run.json`` below the root, and why it cannot be read.
    """

    root: Path
    runs: list
    unreadable: dict

    def folder(self, run):
        """Give the folder of one run.

        Parameters
        ----------
        run : Run
            One of these.

        Returns
        -------
        pathlib.Path
            Absolute folder.
        """
        return self.root / run.path


def discover(layout, use_index=True, include=()):
    """Read every run below the registry's root.

    Parameters
    ----------
    layout : casebook.runs.layout.Layout
        Registry and tenant.
    use_index : bool
        Whether unchanged files may come from the index, which is only a copy.
    include : sequence of str
        Folders below the root that count although their names say otherwise.

    Returns
    -------
    Listing
        Damaged, foreign and future files are listed with the reason; a run of another
        tenant counts as unreadable.

    Raises
    ------
    InputError
        If the root does not exist.
    """
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
