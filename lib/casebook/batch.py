"""Run a grid: skip what is unchanged, execute the rest, say what happened."""

import contextlib
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from casebook import __version__
from casebook.errors import BatchFailed, CasebookError, InputError
from casebook.files import write_json
from casebook.notebooks import check_parameters, execute
from casebook.paths import NOTEBOOKS, run_dir
from casebook.runs import artifact, fingerprint
from casebook.runs.outputs import merge_numbers

_MODEL_PARAMETERS = ("encoder", "reranker", "second_encoder")


@dataclass(frozen=True)
class Planned:
    """What will happen to one cell, and why."""

    cell: object
    inputs: dict
    status: str  # "run" (never done), "stale" (an input changed) or "cached"
    changed: tuple = ()

    @property
    def key(self):
        """Content key: the hash of all inputs."""
        return fingerprint.digest(self.inputs)


def common_inputs():
    """Hash what all cells depend on alike.

    Returns
    -------
    dict
        Hashes of library and lock.
    """
    return {
        "library": fingerprint.library_digest(),
        "lock": fingerprint.lock_digest(),
    }


def inputs_of(cell, common, needed=None):
    """Hash everything that a cell's numbers depend on.

    Parameters
    ----------
    cell : casebook.grid.Cell
        The cell.
    common : dict
        From `common_inputs`.
    needed : dict, optional
        Name to content key of the cells that it reads.

    Returns
    -------
    dict
        Hash or value of notebook, parameters, data, library, lock, models and, where
        there are any, the cells needed.
    """
    source = NOTEBOOKS / cell.notebook
    notebook = json.loads(source.read_text(encoding="utf-8"))
    code = [["".join(c["source"]), c["cell_type"]] for c in notebook["cells"]]
    data = {
        name: fingerprint.dataset_digest(value)
        for name, value in cell.parameters.items()
        if name == "dataset"
    }
    models = {
        name: fingerprint.model_digest(cell.parameters[name])
        for name in _MODEL_PARAMETERS
        if name in cell.parameters
    }
    needs = {"needs": needed} if needed else {}
    return (
        needs
        | common
        | {
            "notebook": fingerprint.digest(code),
            "parameters": cell.parameters,
            "data": data,
            "models": models,
        }
    )


def plan(cells, run, force=False):
    """Decide for each cell whether it must run.

    Parameters
    ----------
    cells : list of casebook.grid.Cell
        The cells.
    run : str
        Name of the run.
    force : bool
        Run everything.

    Returns
    -------
    list of Planned
        One per cell, with the inputs that changed since the stored result.

    Raises
    ------
    InputError
        If a parameter is unknown or a dataset does not exist: before anything starts.
    """
    for cell in cells:
        named = {"run": run, "cell": cell.name, **cell.parameters}
        check_parameters(NOTEBOOKS / cell.notebook, named)
    planned, common = {}, common_inputs()
    for cell in cells:  # a grid names a cell after those it needs
        needed = {name: planned[name].key for name in cell.needs if name in planned}
        planned[cell.name] = _plan_one(
            cell, run, force, inputs_of(cell, common, needed)
        )
    return list(planned.values())


def _plan_one(cell, run, force, inputs):
    stored = _stored_inputs(cell.name, run)
    if stored is None:
        return Planned(cell, inputs, "run")
    changed = tuple(name for name in inputs if stored.get(name) != inputs[name])
    status = "stale" if changed or force else "cached"
    return Planned(cell, inputs, status, changed or (("forced",) if force else ()))


def record_path(run, cell):
    """Give the place of a cell's run record.

    Parameters
    ----------
    run, cell : str
        Names of the run and of the cell.

    Returns
    -------
    pathlib.Path
        ``results/<run>/runs/<cell>/run.json``.
    """
    return run_dir(run) / "runs" / cell / "run.json"


def _stored_inputs(cell, run):
    whole = (run_dir(run) / "notebooks" / f"{cell}.ipynb").is_file()
    with contextlib.suppress(InputError, FileNotFoundError):
        record = artifact.read_record(record_path(run, cell))
        return record.labels.get("Inputs") if whole and record.success else None
    return None


def run_cell(planned, run):
    """Execute one cell and write its run record; made to run in any process.

    Parameters
    ----------
    planned : Planned
        The cell with its inputs.
    run : str
        Name of the run.

    Returns
    -------
    tuple of (str, str or None, float)
        Cell name, the one-line reason of a failure or None, and wall seconds.
    """
    cell, started, clock = planned.cell, artifact.now(), time.perf_counter()
    failure = None
    record_path(run, cell.name).unlink(missing_ok=True)
    try:
        execute(cell.notebook, cell.name, run, cell.parameters)
    except CasebookError as error:
        failure = str(error)
    except OSError as error:
        failure = f"{error.filename or run_dir(run)}: {error.strerror}"
    if failure is None:
        _record(planned, run, started)
    return cell.name, failure, time.perf_counter() - clock


def _record(planned, run, started):
    cell = planned.cell
    path = run_dir(run) / "numbers" / f"{cell.name}.json"
    numbers = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    record = artifact.RunRecord.model_construct(
        run_id=f"{started:%Y%m%dT%H%M%SZ}-{planned.key[:8]}",
        workflow=cell.experiment,
        tenant=None,
        started=started,
        completed=artifact.now(),
        success=True,
        labels={
            "Cell": cell.name,
            "ContentKey": planned.key,
            "Inputs": planned.inputs,
            "Version": __version__,
            "Environment": fingerprint.environment(),
        },
        metrics=_flat(numbers.get(cell.experiment, {})),
    )
    artifact.write_record(record_path(run, cell.name), record)


def _flat(numbers):
    """Metrics as ``<dataset>.<system>.<measure>`` to value, in lower case."""
    return {
        f"{dataset}.{system}.{measure}".lower(): number["value"]
        for dataset, systems in numbers.items()
        for system, measures in systems.items()
        for measure, number in measures.items()
    }


def run_batch(planned, run, workers=1, scheduler=None, report=print):
    """Execute what is not cached, each notebook in one process of its own kind.

    Parameters
    ----------
    planned : list of Planned
        From `plan`.
    run : str
        Name of the run.
    workers : int
        Processes on this machine; 1 runs the notebooks one after another here.
    scheduler : str, optional
        Address of a Dask scheduler whose workers share this folder.
    report : callable
        Takes one line of progress.

    Returns
    -------
    dict
        Cell name to wall seconds, of the cells executed.

    Raises
    ------
    BatchFailed
        If any cell failed; all others are complete and kept.
    """
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    waiting = {p.cell.name: p for p in planned if p.status != "cached"}
    seconds, failures = {}, {}
    with _executor(workers, scheduler) as submit:
        while waiting:
            ready = _ready(waiting, failures)
            for name, failure, wall in submit(ready, run, report):
                report(f"{'FAILED ' if failure else 'done   '} {name} ({wall:.0f} s)")
                seconds[name] = wall
                if failure:
                    failures[name] = failure
                waiting.pop(name)
    _write_timings(run, seconds)
    merge_numbers(run)
    if failures:
        lines = "; ".join(f"{name}: {why}" for name, why in failures.items())
        raise BatchFailed(f"{len(failures)} of {len(planned)} failed: {lines}")
    return seconds


def _ready(waiting, failures):
    """Take the cells whose needs are met; those that need a failed one fail too."""
    for name, item in list(waiting.items()):
        lost = [need for need in item.cell.needs if need in failures]
        if lost:
            failures[name] = f"needs {', '.join(lost)}, which failed"
            waiting.pop(name)
    ready = [p for p in waiting.values() if not set(p.cell.needs) & set(waiting)]
    if waiting and not ready:
        raise InputError(f"{', '.join(waiting)}: need each other in a circle")
    return ready


def _write_timings(run, seconds):
    """Keep durations apart from what is compared, for the next progress estimate."""
    path = run_dir(run) / "timings.json"
    known = json.loads(path.read_text()) if path.is_file() else {}
    write_json(path, known | {name: round(s, 1) for name, s in seconds.items()})


@contextlib.contextmanager
def _executor(workers, scheduler):
    """Yield a function that runs cells and gives their results as they end."""
    if scheduler:
        from distributed import Client, as_completed

        with Client(scheduler, timeout="10s") as client:
            yield lambda cells, run, _: (
                future.result()
                for future in as_completed(
                    [client.submit(run_cell, p, run, pure=False) for p in cells]
                )
            )
    elif workers > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield lambda cells, run, _: pool.map(run_cell, cells, [run] * len(cells))
    else:
        yield _one_by_one


def _one_by_one(cells, run, report):
    for planned in cells:
        why = f" ({', '.join(planned.changed)} changed)" if planned.changed else ""
        report(f"running {planned.cell.name}{why}")
        yield run_cell(planned, run)
