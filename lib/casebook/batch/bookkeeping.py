"""What a batch leaves about its cells: what was asked for, records, times, failures."""

from casebook.batch.planning import record_path
from casebook.errors import InputError
from casebook.files import write_json
from casebook.paths import data_folder, run_dir
from casebook.plain_json import read_json
from casebook.runs.record import read_record


def stored_record(run, cell):
    """Give the run record of a cell, or None if it has none."""
    path = record_path(run, cell)
    return read_record(path) if path.is_file() else None


def read_timings(run):
    """Give the wall seconds of a run's cells when they ran last."""
    return _known(run, "timings.json")


def read_failures(run):
    """Give the cells of a run that failed when they ran last."""
    return _known(run, "failures.json")


def read_planned(run):
    """Give the cells that batches of a run were asked for, executed or not."""
    return _known(run, "planned.json")


def data_folders(run):
    """Give the user's folders of data that a run reads, by the names that it uses."""
    found = {}
    for cell in read_planned(run).values():
        for value in cell["parameters"].values():
            for name in value if isinstance(value, list) else [value]:
                own = data_folder(name) if isinstance(name, str) else None
                if own and own[1].is_absolute():
                    found[own[0]] = own[1]
    return found


def keep_planned(run, planned):
    """Remember which cells a batch was asked for, before any of them starts."""
    cells = {
        item.cell.name: {"experiment": item.cell.experiment, "parameters": item.cell.parameters} for item in planned
    }
    write_json(run_dir(run) / "planned.json", read_planned(run) | cells)


def _known(run, name):
    try:
        return read_json(run_dir(run) / name)
    except InputError:
        return {}  # only an estimate or a notice is lost


def keep(run, outcomes):
    """Keep durations and failures apart from what is compared between runs."""
    seconds = {o.cell: round(o.seconds, 1) for o in outcomes if not o.failure}
    write_json(run_dir(run) / "timings.json", read_timings(run) | seconds)
    failed = read_failures(run)
    for outcome in outcomes:
        failed.pop(outcome.cell, None)
        if outcome.failure:
            failed[outcome.cell] = {
                "cause": outcome.cause,
                "why": outcome.failure,
                "seconds": round(outcome.seconds, 1),
                "attempts": outcome.tries,
            }
    path = run_dir(run) / "failures.json"
    if failed:
        write_json(path, failed)
    else:
        path.unlink(missing_ok=True)
