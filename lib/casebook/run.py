"""The batch: skip what is unchanged, execute the rest by papermill, say what happened.

What is unchanged, what failed and what is tried again is decided here; the tasks are carried by threads of this
process, or by Dask to the workers of a scheduler. A notebook's kernel is a process of its own (`casebook.kernel`). Its
result is whole, clean and repeatable: the executed notebook appears only if every cell succeeded.
"""

import contextlib
import json
import logging
import os
import re
import time
from concurrent.futures import TimeoutError as WaitTimeout
from dataclasses import dataclass, replace
from pathlib import Path

from casebook import __version__, kernel
from casebook.assistant import ANSWERED
from casebook.credentials import without_secrets
from casebook.data.cards import card_of
from casebook.errors import BatchFailed, CasebookError, InputError
from casebook.files import locked, writable, write_json, write_text
from casebook.grid import EVERY
from casebook.parameters import (
    DATA,
    MODELS,
    check,
    check_before_running,
    check_parameters,
    defaults,
    listed,
    named_files,
    path_parameters,
    plugged,
)
from casebook.paths import CARDS, FOLDERS, NOTEBOOKS, data_folder, run_dir
from casebook.plugins import CALLER, is_plugin, source_of
from casebook.progress import PLACE, clock, progress_text
from casebook.readers import read_json
from casebook.runs import evidence
from casebook.runs import record as records
from casebook.runs.outputs import each_number, merge_numbers, read_numbers
from casebook.runs.record import digest
from casebook.workers import KEPT, POLL, threads

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # progress bars ask for widgets, which the book does not show
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TQDM_DISABLE": "1",
}
PATIENCE_VARIABLE = (
    "CASEBOOK_WORKER_PATIENCE"  # seconds without a living worker, or without the scheduler
)
_LINE_EVERY = 20.0  # seconds between two lines on how far a cell is


@dataclass(frozen=True)
class Planned:
    """What will happen to one cell, and why."""

    cell: object
    inputs: dict
    status: str  # "run" (never done), "stale" (an input changed) or "cached"
    changed: tuple = ()
    note: str = ""  # what is to be said of its data

    @property
    def key(self):
        """Content key: the hash of all inputs."""
        return digest(self.inputs)


@dataclass(frozen=True)
class Outcome:
    """What became of one cell."""

    cell: str
    failure: str | None = None
    seconds: float = 0.0
    attempts: tuple = ()
    cause: str = "done"
    last_lines: tuple = ()

    @property
    def tries(self):
        """Number of attempts: 0 if what the cell needs failed."""
        return len(self.attempts) + (self.cause != "needs")


# --- what must run, and why


def plan(cells, run, force=False):
    """Decide for each cell whether it must run; defects of parameters, data and models stop the batch here."""
    for cell in cells:
        check_parameters(
            NOTEBOOKS / cell.notebook, {"run": run, "cell": cell.name, **cell.parameters}
        )
    notes = {cell.name: check(cell, NOTEBOOKS / cell.notebook) for cell in cells}
    planned = {}
    common = common_inputs()
    # A grid names a cell after those it needs; what reads all others comes last.
    for cell in sorted(cells, key=lambda cell: EVERY in cell.needs):
        needed = {name: planned[name].key for name in cell.needs if name in planned}
        again = force
        if EVERY in cell.needs:
            needed = _recorded_keys(cell, run) | {name: p.key for name, p in planned.items()}
            # What failed the last time left the same key, and no record to be read.
            again |= any(other.status != "cached" for other in planned.values())
        one = _planned(cell, run, again, inputs_of(cell, common, needed))
        if one.status != "cached":
            check_before_running(cell, NOTEBOOKS / cell.notebook)
        planned[cell.name] = replace(one, note=notes[cell.name])
    return [planned[cell.name] for cell in cells]


def common_inputs():
    """Hash what all cells depend on alike."""
    return {"library": records.library_digest(), "lock": records.lock_digest()}


def inputs_of(cell, common, needed=None):
    """Hash everything that a cell's numbers depend on."""
    source = NOTEBOOKS / cell.notebook
    notebook = json.loads(source.read_text(encoding="utf-8"))
    code = [["".join(c["source"]), c["cell_type"]] for c in notebook["cells"]]
    values = defaults(source) | cell.parameters
    if "datasets" in values and values["datasets"] is None:  # all that have a card
        values["datasets"] = sorted(path.stem for path in CARDS.glob("*.yml"))
    own = {name: named_files(cell.parameters.get(name)) for name in path_parameters(source)}
    data = {name: _hashed(values[name]) for name in DATA if values.get(name)}
    if cell.experiment == "assistant" and own["log"]:  # which is evaluated instead of a data set
        data = {f"log {Path(path).name}": records.tree_digest(path) for path in own["log"]}
    own |= {
        name: [source_of(value) for value in values]
        for name, values in plugged(cell.parameters).items()
    }
    own = {
        name: [records.tree_digest(path) for path in paths] for name, paths in own.items() if paths
    }
    optional = {name: hashes for name, hashes in (("needs", needed), ("files", own)) if hashes}
    return optional | {
        **common,
        "notebook": digest(code),
        "parameters": without_folders(cell.parameters, source),
        "data": data,
        "models": {
            name: records.model_digest(cell.parameters[name])
            for name in MODELS
            if name in cell.parameters
        },
    }


def without_folders(parameters, source):
    """Give parameters in which one's own files stand by their names: a report shows no folder of its author."""
    files = [
        name
        for name in path_parameters(source)
        if name not in DATA and named_files(parameters.get(name))
    ]
    return parameters | {name: _names(parameters[name]) for name in files}


def _names(value):
    """Names of files without their folders, of one or of a list."""
    if isinstance(value, list):
        return [_names(each) for each in value]
    return Path(value).name if isinstance(value, str) else value


def _hashed(value):
    """Hash what names of data stand for; without their files others stand in for them, or less is shown."""
    if is_plugin(value):
        return records.tree_digest(source_of(value))
    if not isinstance(value, str):
        return digest([_hashed(name) for name in value])
    from casebook.data.sources import reachable, status

    card, found = card_of(value), records.dataset_digest(value)
    replaceable = card and (card.kind == "votes" or card.key == ANSWERED)
    here = status(card)[0] == "ok" if replaceable else card is None or reachable(card)
    return found if here else digest([found, "absent"])


def _planned(cell, run, force, inputs):
    stored = None
    with contextlib.suppress(InputError, FileNotFoundError):
        record = records.read_record(record_path(run, cell.name))
        if record.success and record.outputs:
            stored = record.labels.get("Inputs")
    if stored is None:
        return Planned(cell, inputs, "run")
    changed = tuple(name for name in inputs if stored.get(name) != inputs[name])
    altered = evidence.faults(record_path(run, cell.name).parent, record)
    changed += tuple(name.removeprefix("../../") for name in altered)
    status = "stale" if changed or force else "cached"
    return Planned(cell, inputs, status, changed or (("forced",) if force else ()))


def _recorded_keys(cell, run):
    """Give the content keys of all that a run holds, but for the cell's own kind."""
    found = {}
    for path in sorted(run_dir(run).glob("runs/*/run.json")):
        with contextlib.suppress(InputError, FileNotFoundError):
            record = records.read_record(path)
            if record.workflow != cell.experiment:
                found[path.parent.name] = record.labels.get("ContentKey")
    return found


# --- the batch


def run_batch(
    planned, run, workers=1, scheduler=None, report=print, show=None, *, timeout=None, retries=1
):
    """Execute what is not cached: needs first, failures kept apart, one summary at the end.

    Interrupted or killed at any time it leaves a run that the same call completes. Gives the seconds of each cell;
    raises `BatchFailed` if part of it failed.
    """
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    waiting = {p.cell.name: p for p in planned if p.status != "cached"}
    outcomes = []
    conflict = None
    check_place(run)
    with sole_writer(run):
        keep_planned(run, planned)
        try:
            if waiting:
                with _workers(run, len(waiting), workers, scheduler) as cluster:
                    progress = Progress(run, waiting, report, show, cluster.slots)
                    _work(
                        waiting,
                        cluster,
                        (run, timeout, retries, cluster.expected),
                        outcomes,
                        progress,
                    )
        finally:  # also when interrupted: what is done counts
            keep(run, outcomes)
            try:
                merge_numbers(run)
            except InputError as error:  # which must not hide why a cell failed
                conflict = error
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed or len(outcomes) > 1:
        report(summary(outcomes))
    if failed:
        lines = [f"{o.cell}: {o.failure}" for o in failed] + ([str(conflict)] if conflict else [])
        raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {'; '.join(lines)}")
    if conflict:
        raise conflict
    return {outcome.cell: outcome.seconds for outcome in outcomes}


def _work(waiting, cluster, task, outcomes, progress):
    """Keep the workers busy until nothing is left."""
    running, failures = {}, {}
    while waiting or running:
        ended = lost_needs(waiting, failures)
        names = {item.cell.name for item, _ in running.values()}
        for item in ready_cells(waiting, names)[: max(cluster.slots - len(running), 0)]:
            del waiting[item.cell.name]
            progress.started(item)
            running[cluster.submit(_on_worker, item, *task)] = item, time.perf_counter()
        for future in cluster.wait(running, progress.look) if running and not ended else ():
            item, started = running.pop(future)
            lost = cluster.lost(future)
            if lost:
                seconds = time.perf_counter() - started
                ended.append(Outcome(item.cell.name, lost, seconds, cause="worker lost"))
            else:
                ended.append(future.result())
        for outcome in ended:
            outcomes.append(outcome)
            if outcome.failure:
                failures[outcome.cell] = outcome.failure
            progress.ended(outcome)


def ready_cells(waiting, running):
    """Take the cells whose needs are met."""
    left = set(waiting) | running
    if any(EVERY not in waiting[name].cell.needs for name in waiting) or running:
        left.add(EVERY)
    ready = [p for p in waiting.values() if not set(p.cell.needs) & left]
    if waiting and not ready and not running:
        raise InputError(f"{', '.join(waiting)}: need each other in a circle")
    return ready


def lost_needs(waiting, failures):
    """Fail the cells that need a failed one; they leave ``waiting``."""
    lost = []
    for name, item in list(waiting.items()):
        missing = [need for need in item.cell.needs if need in failures]
        if missing:
            failures[name] = f"needs {', '.join(missing)}, which failed"
            lost.append(Outcome(name, failures[name], cause="needs"))
            del waiting[name]
    return lost


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


def check_order(planned):
    """Refuse cells that need each other in a circle."""
    waiting = {item.cell.name: item for item in planned if item.status != "cached"}
    while waiting:
        for item in ready_cells(waiting, set()):
            del waiting[item.cell.name]


class Progress:
    """Say what starts and ends, and how long the rest will take."""

    def __init__(self, run, waiting, report, show=None, slots=1):
        self._run = run
        self._report = report
        self._show = show
        self._slots = slots
        self._total = len(waiting)
        self._left = set(waiting)
        self._running = {}  # how far each cell is, in words
        self._reported = {}  # when a line last spoke of a cell
        self._seconds = {
            name: seconds for name, seconds in read_timings(run).items() if name in waiting
        }

    @property
    def _done(self):
        return self._total - len(self._left)

    def started(self, item):
        """Announce a cell."""
        why = ""
        if item.changed == ("forced",):
            why = " (forced)"
        elif item.changed:
            why = f" ({', '.join(item.changed)} changed)"
        self._report(f"running {item.cell.name}{why}")
        self._running[item.cell.name] = ""
        self._reported[item.cell.name] = time.monotonic()
        self._tell()

    def look(self):
        """Read how far the running cells are; without a bar, print a line a cell now and then."""
        texts = {name: progress_text(progress_path(self._run, name)) for name in self._running}
        if texts == self._running:
            return
        self._running = texts
        self._tell()
        for name, text in texts.items() if self._show is None else ():
            if text and time.monotonic() - self._reported[name] > _LINE_EVERY:
                self._reported[name] = time.monotonic()
                self._report(f"        {name}: {text}")

    def ended(self, outcome):
        """Report a cell's end and the time left."""
        self._left.discard(outcome.cell)
        self._seconds[outcome.cell] = outcome.seconds
        self._running.pop(outcome.cell, None)
        word = "FAILED " if outcome.failure else "done   "
        again = f", after: {', '.join(outcome.attempts)}" if outcome.attempts else ""
        seconds = self._seconds_left()
        left = f", about {clock(seconds)} left" if self._left and seconds is not None else ""
        self._report(
            f"{word} {outcome.cell} ({outcome.seconds:.0f} s{again}) [{self._done}/{self._total}]{left}"
        )
        self._tell()

    def _tell(self):
        if self._show:
            running = tuple(
                f"{name}: {text}" if text else name for name, text in self._running.items()
            )
            self._show(self._done, self._total, running, self._seconds_left())

    def _seconds_left(self):
        """Extrapolate: each cell by its duration the last time, others by the mean of those known."""
        if not self._seconds:
            return None
        mean = sum(self._seconds.values()) / len(self._seconds)
        return sum(self._seconds.get(name, mean) for name in self._left) / self._slots


def summary(outcomes):
    """Say in one table what became of each cell."""
    lines = [f"{'state':12} {'seconds':>8} {'attempts':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda o: (o.failure is None, o.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        lines.append(
            f"{outcome.cause:12} {outcome.seconds:8.1f} {outcome.tries:8}  {outcome.cell}{reason}"
        )
        lines += [f"    | {line}" for line in outcome.last_lines]
    return "\n".join(lines)


# --- what a batch leaves about its cells


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
            "parameters": without_folders(p.cell.parameters, NOTEBOOKS / p.cell.notebook),
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


# --- one cell


def run_cell(planned, run, timeout=None, retries=1):
    """Execute one cell and write its run record; a kernel that died is tried again."""
    cell, started, begin = planned.cell, records.now(), time.perf_counter()
    given_up, cause, failure, last_lines = [], "done", None, ()
    while True:
        try:
            _remove_outputs(run, cell.name)
            execute(cell.notebook, cell.name, run, cell.parameters, timeout)
            _record(planned, run, started, len(given_up) + 1)
        except NotebookFailed as error:
            if error.cause == KERNEL_DIED and len(given_up) < retries:
                given_up.append(error.cause)
                continue
            cause, failure, last_lines = error.cause, str(error), error.last_lines
        except CasebookError as error:
            cause, failure = "failed", str(error)
        except OSError as error:
            cause, failure = "failed", f"{error.filename or run_dir(run)}: {error.strerror}"
        if failure:
            with contextlib.suppress(OSError):
                _remove_outputs(run, cell.name)
        return Outcome(
            cell.name, failure, time.perf_counter() - begin, tuple(given_up), cause, last_lines
        )


def _remove_outputs(run, cell):
    """Remove what an earlier or failed execution left: nothing stands there that the present inputs did not give."""
    record_path(run, cell).unlink(missing_ok=True)
    for path in evidence.files_of(run, cell, read_planned(run)):
        path.unlink(missing_ok=True)


def _record(planned, run, started, attempts):
    cell = planned.cell
    path = record_path(run, cell.name)
    numbers = read_numbers(run, cell.name).get(cell.experiment, {})
    record = records.RunRecord.model_construct(
        run_id=f"{started:%Y%m%dT%H%M%SZ}-{planned.key[:8]}",
        workflow=cell.experiment,
        tenant=None,
        started=started,
        completed=records.now(),
        success=True,
        labels={
            "Cell": cell.name,
            "ContentKey": planned.key,
            "Inputs": planned.inputs,
            "Version": __version__,
            "Environment": records.environment(),
            **({"Notebook": cell.notebook} if Path(cell.notebook).is_absolute() else {}),
            **({"Attempts": attempts} if attempts > 1 else {}),
        },
        metrics={
            ".".join(names).lower(): number["value"] for names, number in each_number(numbers)
        },
        outputs=evidence.hashes(path.parent, evidence.files_of(run, cell.name, read_planned(run))),
    )
    records.write_record(path, record)


# --- one notebook


KERNEL_DIED = "kernel died"  # killed, out of memory, or crashed


class NotebookFailed(CasebookError):
    """A cell of a notebook raised, or the notebook did not run to its end."""

    def __init__(self, message, cause="failed", last_lines=()):
        super().__init__(message)
        self.cause, self.last_lines = cause, last_lines


def execute(notebook, cell, run, parameters, timeout=None):
    """Run one notebook; the output appears only if every cell succeeded."""
    for name in filter(os.environ.get, FOLDERS):  # the kernel's folder is another
        os.environ[name] = str(Path(os.environ[name]).absolute())
    os.environ.update(QUIET | os.environ)
    import papermill

    source = NOTEBOOKS / notebook
    folder = run_dir(run) / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{cell}.partial.ipynb"
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    place = progress_path(run, cell)
    place.parent.mkdir(exist_ok=True)
    try:
        with kernel.watched(timeout, {PLACE: str(place), CALLER: str(Path.cwd())}) as watch:
            result = papermill.execute_notebook(
                str(source),
                str(partial),
                parameters={"run": run, "cell": cell, **parameters},
                progress_bar=False,
                kernel_manager_class="casebook.kernel.ForkedKernelManager",
            )
    except papermill.PapermillExecutionError as error:
        partial.unlink(missing_ok=True)  # a traceback may hold what the environment does
        raise _explained(notebook, error) from None
    except RuntimeError as error:  # nbclient's, of a kernel that ended or never came
        where = f"{notebook}: {_reached(partial)}"
        partial.unlink(missing_ok=True)
        if watch.late:
            raise NotebookFailed(
                f"{where}: not done within {timeout:g} s: killed", "timed out"
            ) from None
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise NotebookFailed(f"{where}: the kernel died ({lines[-1]})", KERNEL_DIED) from None
    finally:
        place.unlink(missing_ok=True)
    unreached = [
        c.id
        for c in result.cells
        if c.cell_type == "code" and c.source and c.execution_count is None
    ]
    if unreached:
        raise NotebookFailed(f"{cell}: stopped before cell {unreached[0]}")
    import nbformat

    nbformat.write(normalised(result), partial)
    _hide_folders(
        partial,
        [path for name in path_parameters(source) for path in named_files(parameters.get(name))],
    )
    return partial.replace(folder / f"{cell}.ipynb")


def _hide_folders(notebook, files):
    """Leave of the paths of one's own files their names, in what an executed notebook was given and shows."""
    text = notebook.read_text(encoding="utf-8")
    for path in sorted(files, key=len, reverse=True):
        # The notebook is JSON, and what was injected is Python inside it: a path without quotes reads the same in both.
        text = text.replace(path, Path(path).name)
    notebook.write_text(text, encoding="utf-8")


def normalised(notebook):
    """Drop timestamps and random ids, so that equal results give equal files."""
    notebook.metadata = {
        "kernelspec": notebook.metadata.kernelspec,
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        for key in ("execution", "papermill"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
    return notebook


def _reached(partial):
    """Say which cell of the partial notebook was at work."""
    with contextlib.suppress(OSError, ValueError, LookupError):
        cells = json.loads(partial.read_text(encoding="utf-8"))["cells"]
        status = [
            c["metadata"].get("papermill", {}).get("status")
            for c in cells
            if c["cell_type"] == "code"
        ]
        begun = sum(state not in (None, "pending") for state in status)
        if begun:
            return f"cell {begun}"
    return "before its first cell"


def _explained(notebook, error):
    """Say in one line which cell failed and why; add the end of a traceback."""
    foreseen = error.ename in {
        kind.__name__ for kind in (CasebookError, *CasebookError.__subclasses__())
    }
    why = error.evalue if foreseen else f"{error.ename}: {error.evalue}"
    trace = without_secrets(_plain("\n".join(error.traceback)))
    lines = [line.rstrip() for line in trace.splitlines() if line.strip()]
    text = f"{notebook}: cell {error.exec_count}: {' '.join(without_secrets(_plain(why)).split())}"
    return NotebookFailed(text[:1000], last_lines=() if foreseen else tuple(lines[-6:]))


def _plain(text):
    """Take out colours and whatever else a terminal would obey."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text))
    return "".join(c for c in text if c.isprintable() or c == "\n")


# --- where cells are executed: threads of this process, each with a kernel of its own, or a scheduler's workers


@contextlib.contextmanager
def _workers(run, count, workers, scheduler):
    """Open the place for a batch: the cluster, and what its workers must agree on."""
    with contextlib.ExitStack() as stack:
        if scheduler:
            path = write_text(run_dir(run) / ".handshake", os.urandom(16).hex())
            stack.callback(path.unlink, missing_ok=True)
            yield stack.enter_context(connected(scheduler, path))
            return
        os.environ.update(QUIET | os.environ)
        nursery = stack.enter_context(kernel.batch_nursery(kernel.SHARED if count > 2 else ()))
        nursery.start()
        cluster = stack.enter_context(threads(min(workers, count)))
        stack.callback(nursery.close)  # before the threads are waited for, which wait for kernels
        yield cluster


@contextlib.contextmanager
def connected(scheduler, shared=None):
    """Reach a scheduler whose workers have this library and lock, and see a shared file if one is named."""
    from distributed import Client

    patience = _patience()
    try:
        client = Client(scheduler, timeout=max(10.0, patience / 6))
    except (OSError, RuntimeError, TypeError, ValueError, WaitTimeout) as error:
        reason = without_secrets(
            " ".join(str(error).split()), scheduler
        )  # Dask repeats the address
        remedy = (
            "start 'dask scheduler', and 'dask worker' in this folder; for TLS see the page Scaling"
        )
        raise InputError(f"no Dask scheduler at {scheduler} ({reason}): {remedy}") from error
    try:
        try:
            client.wait_for_workers(1, timeout=patience)
        except WaitTimeout:
            why = f"no worker within {patience:.0f} s: start 'dask worker' in this folder"
            raise InputError(f"{scheduler}: {why}") from None
        shared_file = (str(shared), shared.read_text()) if shared else ()
        expected = (records.library_digest(), records.lock_digest(), *shared_file)
        answers = client.run(_difference, expected)
        wrong = [f"{worker} {why}" for worker, why in answers.items() if why]
        if wrong:
            raise InputError(f"refused: {'; '.join(sorted(wrong))}")
        yield Cluster(client, scheduler, expected)
    finally:
        client.close(timeout=2)


class Cluster:
    """A client that does not wait for ever for workers or a scheduler that are gone."""

    def __init__(self, client, address, expected=None):
        self.client, self.address, self.expected = client, address, expected
        self._alone_since = None

    @property
    def slots(self):
        """Cells that are worked on at a time: one a worker."""
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    def submit(self, function, *arguments):
        """Begin a piece of work, also one that was done before; gives its future."""
        return self.client.submit(function, *arguments, pure=False)

    def lost(self, future):
        """Say in one line why there is no result, or give None."""
        return None if future.status == "finished" else _lost(future)

    def wait(self, futures, meanwhile=lambda: None):
        """Wait until one has ended; give those that have."""
        from distributed import wait
        from distributed.client import FuturesCancelledError

        while True:
            with contextlib.suppress(WaitTimeout, FuturesCancelledError):
                wait(list(futures), POLL, "FIRST_COMPLETED")
            done = [future for future in futures if future.done()]
            if any(
                future.cancelled() for future in done
            ):  # Dask gave up reconnecting before we did
                raise CasebookError(f"{self.address}: scheduler gone; {KEPT}")
            if done:
                return done
            meanwhile()
            self._check()

    def gather(self, futures):
        """Give the results in order."""
        left = list(futures)
        while left:
            done = self.wait(left)
            left = [future for future in left if future not in done]
        for future in futures:
            error = future.exception() if future.status == "error" else None
            if error and type(error).__name__ != "KilledWorker":
                raise error
            if future.status != "finished":
                raise CasebookError(f"part of the work is lost: {_lost(future)}")
        return self.client.gather(futures)

    def _check(self):
        """Raise CasebookError if scheduler or all workers were gone for longer than the patience."""
        with contextlib.suppress(OSError):
            if (
                self.client.status == "running"
                and self.client.scheduler_info(n_workers=-1)["workers"]
            ):
                self._alone_since = None
                return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > _patience():
            raise CasebookError(
                f"{self.address}: scheduler or last worker gone for {_patience():.0f} s; {KEPT}"
            )


def _patience():
    text = os.environ.get(PATIENCE_VARIABLE, 60.0)
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{PATIENCE_VARIABLE}={text}: give a number of seconds") from None


def _on_worker(planned, run, timeout, retries, expected):
    """Execute a cell; a worker that came after the handshake is asked too."""
    wrong = expected and _difference(expected)
    if wrong:
        return Outcome(planned.cell.name, f"refused: the worker {wrong}", cause="failed")
    return run_cell(planned, run, timeout, retries)


def _difference(expected):
    """Say what a worker has that the client has not; runs on the worker."""
    library, lock, *shared = expected
    faults = {
        "has another version of the library": records.library_digest() != library,
        "has another requirements.lock": records.lock_digest() != lock,
    }
    if shared:
        path, token = shared
        content = None
        with contextlib.suppress(OSError):
            content = Path(path).read_text(encoding="utf-8")
        faults[f"does not see the folder of {path}"] = content != token
    return " and ".join(fault for fault, holds in faults.items() if holds)


def _lost(future):
    """Say in one line why Dask gave up."""
    if future.status in ("cancelled", "lost"):
        return "the scheduler lost it; the same command again carries on"
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return f"{error.allowed_failures + 1} workers in a row died while they ran it (memory?)"
    return without_secrets(f"{type(error).__name__}: {error}")
