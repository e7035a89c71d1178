"""The folder of a run: who may write it, and where the records of its cells are."""

import contextlib

from casebook.errors import InputError
from casebook.files import locked
from casebook.paths import run_dir, writable
from casebook.readers import read_json
from casebook.runs.record import read_record


def sole_writer(run):
    """Hold the lock of a run, so that nobody else writes it; it ends with its owner."""
    refusal = f"run {run!r} is being written by another batch ({{}}): wait, or name another --run"
    return locked(run_dir(run) / ".batch", refusal.format)


def check_writable(run):
    folder = run_dir(run)
    if not writable(folder):
        raise InputError(f"{folder}: cannot be written: set CASEBOOK_ROOT to a folder for results")


def record_path(run, cell):
    return run_dir(run) / "runs" / cell / "run.json"


def stored_record(run, cell):
    """The run record of a cell, or None if it has none."""
    path = record_path(run, cell)
    return read_record(path) if path.is_file() else None


def read_timings(run):
    """Wall seconds of a run's cells when they ran last, as far as they are known."""
    with contextlib.suppress(InputError, AttributeError, TypeError, ValueError):
        timings = read_json(run_dir(run) / "timings.json")
        return {cell: float(seconds) for cell, seconds in timings.items()}
    return {}
