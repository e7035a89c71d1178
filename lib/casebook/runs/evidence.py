"""The evidence of a run: everything that it wrote, by the SHA-256 that its record keeps, checked before it is used.

A record names its outputs from its own folder (``eval.perQuery.json``, ``../../rows/<cell>.csv.gz``). What a record of
another program or of an earlier version lists is unknown: such a run has no output that could be checked.
"""

import os
from pathlib import Path

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.paths import run_dir
from casebook.runs.record import read_record

RECORD = "run.json"
KINDS = ("notebooks", "numbers", "contrasts", "headlines", "items", "rows", "tables", "figures")
"""Folders of a report whose files are evidence; measured times, which no rerun reproduces, are not."""
MISSING = "is gone"
ALTERED = "was altered since the run wrote it"
OUTSIDE = "lies outside of the run"


def files_of(run, cell, cells=(), kinds=KINDS):
    """List the files that a cell of a report wrote; ``cells`` are all cells, of which one may be ``<cell>.more``."""
    longer = tuple(f"{other}." for other in cells if other.startswith(f"{cell}."))
    return [
        path
        for kind in kinds
        for path in sorted((run_dir(run) / kind).glob(f"{cell}.*"))
        if path.is_file() and not path.name.startswith(longer)
    ]


def file_hashes(folder, paths):
    """Hash the outputs of a run, by their place from the folder of its record."""
    return {name: sha256_file(path) for name, path in _names(folder, paths).items()}


def _names(folder, paths):
    """Name files by their place from the folder of a record."""
    return {Path(os.path.relpath(path, folder)).as_posix(): path for path in paths}


def faults(folder, record=None):
    """Give what is wrong with the outputs of a run: place to reason."""
    folder = Path(folder)
    record = record or read_record(folder / RECORD)
    reasons = {name: _fault(folder, name, digest) for name, digest in record.outputs.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _fault(folder, name, digest):
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve().parents[1]):
        return OUTSIDE  # of the files of others, not even a hash is compared
    if not path.is_file():
        return MISSING
    return None if sha256_file(path) == digest else ALTERED


def require(folder, remedy="restore it from a copy, or run it again"):
    """Refuse a run of which an output is gone or was altered; gives its record."""
    folder = Path(folder)
    record = read_record(folder / RECORD)
    for name, reason in faults(folder, record).items():
        raise InputError(f"{(folder / name).resolve()}: {reason}: {remedy}")
    return record


def require_file(folder, path):
    """Refuse one output of a finished run that was altered."""
    if not (folder / RECORD).is_file():
        return  # it is being run
    name = next(iter(_names(folder, [path])))
    digest = read_record(folder / RECORD).outputs.get(name)
    if reason := digest and _fault(folder, name, digest):
        raise InputError(f"{path}: {reason}: restore it from a copy, or run it again")


# --- everything below a registry


def inventory(root, records):
    """Check all that some records list: rows of a table, one for each kind of file, and the faults.

    ``records`` are places of ``run.json`` from the root.
    """
    rows = {}
    problems = []
    for place in sorted(records):
        folder = (root / place).parent
        record = read_record(root / place)
        wrong = faults(folder, record)
        _count(
            rows,
            RECORD if record.outputs else f"{RECORD} without checksums: on trust",
            root / place,
            None,
        )
        for name in record.outputs:
            kind = name.split("/")[2] if name.startswith("../../") else Path(name).name
            _count(rows, kind, folder / name, wrong.get(name))
        problems += [f"{(folder / name).resolve()}: {reason}" for name, reason in wrong.items()]
    return sorted(rows.values(), key=lambda row: row["kind"]), problems


def _count(rows, kind, path, fault):
    row = rows.setdefault(
        kind,
        {"kind": kind, "files": 0, "bytes": 0, "intact": 0, MISSING: 0, ALTERED: 0, OUTSIDE: 0},
    )
    row["files"] += 1
    row["bytes"] += path.stat().st_size if fault not in (MISSING, OUTSIDE) else 0
    row[fault or "intact"] += 1
