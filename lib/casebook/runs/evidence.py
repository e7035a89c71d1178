"""The evidence of a run: every file that it wrote, by the SHA-256 that its record keeps.

A record names its outputs from its own folder (``eval.perQuery.json``,
``../../rows/<cell>.csv.gz``). They are checked before they are used. What a record of another
program or of an earlier version lists is unknown: such a run has no output that could be checked.
"""

import os
from pathlib import Path

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.paths import run_dir
from casebook.runs.record import read_record

RECORD = "run.json"
EVIDENCE_FOLDERS = (
    "notebooks",
    "numbers",
    "contrasts",
    "headlines",
    "items",
    "leaderboard",
    "rows",
    "tables",
    "figures",
)
"""Folders of a report whose files are evidence; measured times are not, as no rerun gives them."""

FILE_GONE = "is gone"
FILE_ALTERED = "was altered since the run wrote it"
FILE_OUTSIDE = "lies outside of the run"


def files_of(run, cell, cells=(), folders=EVIDENCE_FOLDERS):
    """List the files that a cell of a report wrote.

    ``cells`` are all cells of the run, of which one may be called ``<cell>.more``.
    """
    others = tuple(f"{name}." for name in cells if name.startswith(f"{cell}."))
    files = []
    for folder in folders:
        for path in sorted((run_dir(run) / folder).glob(f"{cell}.*")):
            if path.is_file() and not path.name.startswith(others):
                files.append(path)
    return files


def file_hashes(folder, paths):
    """Hash files; they are named from the folder of a record."""
    return {_name_from(folder, path): sha256_file(path) for path in paths}


def _name_from(folder, path):
    return Path(os.path.relpath(path, folder)).as_posix()


def output_faults(folder, record=None):
    """Give what is wrong with the outputs of a run: name of the file to reason."""
    folder = Path(folder)
    if record is None:
        record = read_record(folder / RECORD)
    faults = {}
    for name, digest in record.outputs.items():
        fault = _fault(folder, name, digest)
        if fault:
            faults[name] = fault
    return faults


def _fault(folder, name, digest):
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve().parents[1]):
        return FILE_OUTSIDE  # of the files of others, not even a hash is compared
    if not path.is_file():
        return FILE_GONE
    return None if sha256_file(path) == digest else FILE_ALTERED


def require(folder, remedy="restore it from a copy, or run it again"):
    """Refuse a run of which an output is gone or was altered; gives its record."""
    folder = Path(folder)
    record = read_record(folder / RECORD)
    for name, reason in output_faults(folder, record).items():
        raise InputError(f"{(folder / name).resolve()}: {reason}: {remedy}")
    return record


def require_file(folder, path):
    """Refuse one output of a finished run that was altered."""
    if not (folder / RECORD).is_file():
        return  # it is being run
    name = _name_from(folder, path)
    digest = read_record(folder / RECORD).outputs.get(name)
    fault = digest and _fault(folder, name, digest)
    if fault:
        raise InputError(f"{path}: {fault}: restore it from a copy, or run it again")
