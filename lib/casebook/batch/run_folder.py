"""The folder of a run: who writes it, and what a batch leaves there about its cells."""

from casebook import paths
from casebook.batch.parameters import DATA, listed, without_folders
from casebook.errors import InputError
from casebook.files import locked, writable, write_json
from casebook.paths import data_folder, run_dir
from casebook.readers import read_json
from casebook.runs import record as records


def sole_writer(run):
    """Hold the lock of a run, so that nobody else writes it; it ends with its owner."""
    refusal = f"run {run!r} is being written by another batch ({{}}): wait for it, or give another name with --run"
    return locked(run_dir(run) / ".batch", refusal.format)


def check_place(run):
    """Refuse a run whose folder cannot be written, or that another batch is writing."""
    folder = run_dir(run)
    if not writable(folder):
        raise InputError(f"{folder}: cannot be written: set CASEBOOK_ROOT to a folder for results")
    if (folder / ".batch").exists():
        with sole_writer(run):
            pass


def record_path(run, cell):
    """Give the place of a cell's run record."""
    return run_dir(run) / "runs" / cell / "run.json"


def progress_path(run, cell):
    """Give the place where a kernel says how far it is."""
    return run_dir(run) / ".progress" / f"{cell}.json"


def stored_record(run, cell):
    """Give the run record of a cell, or None if it has none."""
    path = record_path(run, cell)
    return records.read_record(path) if path.is_file() else None


def same_data(run, other, cell):
    """Say whether a cell was executed on the same data in two runs."""
    now, before = (stored_record(name, cell) for name in (run, other))
    return bool(now and before) and now.labels["Inputs"]["data"] == before.labels["Inputs"]["data"]


def read_timings(run):
    """Give the wall seconds of a run's cells when they ran last."""
    return _known(run, "timings.json")


def read_failures(run):
    """Give the cells of a run that failed when they ran last."""
    return _known(run, "failures.json")


def read_planned(run):
    """Give the cells that batches of a run were asked for, executed or not."""
    return _known(run, "planned.json")


def _known(run, name):
    try:
        return read_json(run_dir(run) / name)
    except InputError:
        return {}  # only an estimate or a notice is lost


def data_folders(run):
    """Give the user's folders of data that a run reads, by the names that it uses."""
    found = {}
    for cell in read_planned(run).values():
        for parameter in DATA:
            for name in listed(cell["parameters"].get(parameter)):
                own = data_folder(name) if isinstance(name, str) else None
                if own and own[1].is_absolute():
                    found[own[0]] = own[1]
    return found


def keep_planned(run, planned):
    """Remember which cells a batch was asked for, before any of them starts."""
    cells = {
        p.cell.name: {
            "experiment": p.cell.experiment,
            "parameters": without_folders(p.cell.parameters, paths.NOTEBOOKS / p.cell.notebook),
        }
        for p in planned
    }
    write_json(run_dir(run) / "planned.json", read_planned(run) | cells)


def keep(run, outcomes):
    """Keep durations and failures apart from what is compared between runs."""
    seconds = {o.cell: round(o.seconds, 1) for o in outcomes if not o.failure}
    write_json(run_dir(run) / "timings.json", read_timings(run) | seconds)
    failed = read_failures(run)
    for o in outcomes:
        failed.pop(o.cell, None)
        if o.failure:
            failed[o.cell] = {
                "cause": o.cause,
                "why": o.failure,
                "seconds": round(o.seconds, 1),
                "attempts": o.tries,
            }
    path = run_dir(run) / "failures.json"
    if failed:
        write_json(path, failed)
    else:
        path.unlink(missing_ok=True)
