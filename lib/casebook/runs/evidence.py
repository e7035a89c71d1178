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

REMEDY = "restore it from a copy, or run it again"


def files_of(run, cell, folders=EVIDENCE_FOLDERS):
    files = []
    for folder in folders:
        files += sorted((run_dir(run) / folder).glob(f"{cell}.*"))
    return files


def file_hashes(folder, paths):
    return {_name_from(folder, path): sha256_file(path) for path in paths}


def _name_from(folder, path):
    return Path(os.path.relpath(path, folder)).as_posix()


def output_faults(folder, record=None):
    """What is wrong with the outputs of a run: name of the file to reason."""
    folder = Path(folder)
    record = record or read_record(folder / RECORD)
    faults = {name: _fault(folder, name, digest) for name, digest in record.outputs.items()}
    return {name: fault for name, fault in faults.items() if fault}


def _fault(folder, name, digest):
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve().parents[1]):
        return "lies outside of the run"  # of the files of others, not even a hash is compared
    if not path.is_file():
        return "is gone"
    return None if sha256_file(path) == digest else "was altered since the run wrote it"


def require(folder, remedy=REMEDY):
    """The record of a run, of which no output may be gone or altered."""
    folder = Path(folder)
    record = read_record(folder / RECORD)
    for name, reason in output_faults(folder, record).items():
        raise InputError(f"{(folder / name).resolve()}: {reason}: {remedy}")
    return record
