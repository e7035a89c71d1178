"""The folder of a run: who may write it, and what a batch keeps there about its cells."""

import contextlib
from pathlib import Path

from casebook.batch.parameters import (
    DATA_PARAMETERS,
    as_list,
    portable_parameters,
    resolved,
)
from casebook.data.cards import card_of
from casebook.errors import InputError
from casebook.files import locked, write_json
from casebook.paths import data_folder, run_dir, writable
from casebook.readers import read_json
from casebook.runs import record as records
from casebook.runs.locations import (
    paths_in,
    read_private,
    without_folders,
    write_private,
)


def sole_writer(run):
    """Hold the lock of a run, so that nobody else writes it; it ends with its owner."""
    refusal = (
        f"run {run!r} is being written by another batch ({{}}): "
        "wait for it, or give another name with --run"
    )
    return locked(run_dir(run) / ".batch", refusal.format)


def check_writable(run):
    """Refuse a run whose folder cannot be written, or that another batch is writing."""
    folder = run_dir(run)
    if not writable(folder):
        raise InputError(f"{folder}: cannot be written: set CASEBOOK_ROOT to a folder for results")
    if (folder / ".batch").exists():
        with sole_writer(run):
            pass


# --- records of cells


def record_path(run, cell):
    """Give the file of a cell's run record."""
    return run_dir(run) / "runs" / cell / "run.json"


def stored_record(run, cell):
    """Give the run record of a cell, or None if it has none."""
    path = record_path(run, cell)
    return records.read_record(path) if path.is_file() else None


# --- which cells were planned, how long they took, which failed


def read_timings(run):
    """Give the wall seconds of a run's cells when they ran last."""
    return _read(run, "timings.json")


def read_failures(run):
    """Give the cells of a run that failed when they ran last."""
    return _read(run, "failures.json")


def read_planned(run):
    """The cells that batches of a run were asked for, executed or not.

    What is none, in a file that somebody else wrote, is left out: it is planned again.
    """
    cells = {}
    for name, cell in _read(run, "planned.json").items():
        kinds = {"experiment": str, "parameters": dict}
        if isinstance(cell, dict) and all(isinstance(cell.get(k), v) for k, v in kinds.items()):
            cells[name] = cell
    return cells


def _read(run, name):
    content = {}
    with contextlib.suppress(InputError):  # only an estimate or a notice is lost
        content = read_json(run_dir(run) / name)
    return content if isinstance(content, dict) else {}


def data_folders(cells):
    """The folders of data that cells read, by their names."""
    folders = {}
    for cell in cells:
        for parameter in DATA_PARAMETERS:
            for value in as_list(cell.parameters.get(parameter)):
                location = data_folder(value)
                if location:
                    folders.setdefault(location[0], []).append(str(location[1].resolve()))
    return folders


def check_data_names(run, cells):
    """Refuse a folder of data under the name of a card, or of another folder of the run."""
    places = read_private(run_dir(run))
    for name, folders in data_folders(cells).items():
        for folder in folders:
            if card_of(name) or places.setdefault(name, folder) != folder:
                raise InputError(
                    f"{folder}: this run has other data of the name {name}: call it NAME={folder}"
                )


def write_planned(run, planned):
    """Remember which cells a batch was asked for, before any of them starts."""
    cells = read_planned(run)
    for item in planned:
        cell = item.cell
        parameters = portable_parameters(cell.parameters, cell.source)
        cells[cell.name] = {"experiment": cell.experiment, "parameters": parameters}
    folders = data_folders([item.cell for item in planned])
    places = {name: places[0] for name, places in folders.items()}
    write_private(run_dir(run), read_private(run_dir(run)) | places)
    write_json(run_dir(run) / "planned.json", cells)


def write_outcomes(run, outcomes, planned=()):
    """Keep durations and failures apart from what is compared between runs."""
    files = [str(Path.cwd())]
    for item in planned:
        files += paths_in(resolved(item.cell.parameters, item.cell.source))
    timings = read_timings(run)
    failures = read_failures(run)
    for outcome in outcomes:
        seconds = round(outcome.seconds, 1)
        failures.pop(outcome.cell, None)
        if outcome.failure:
            failures[outcome.cell] = {
                "cause": outcome.cause,
                "why": without_folders(outcome.failure, files),
                "seconds": seconds,
                "attempts": outcome.tries,
            }
        else:
            timings[outcome.cell] = seconds
    write_json(run_dir(run) / "timings.json", timings)
    path = run_dir(run) / "failures.json"
    if failures:
        write_json(path, failures)
    else:
        path.unlink(missing_ok=True)
