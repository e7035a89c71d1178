"""One cell of the grid, executed with limits, made to run in any process."""

import threading
import time
from dataclasses import dataclass

from casebook import __version__
from casebook.batch.planning import record_path
from casebook.errors import CasebookError
from casebook.notebooks import KernelDied, TimedOut, execute
from casebook.paths import run_dir
from casebook.runs import record as artifact
from casebook.runs import record as fingerprint
from casebook.runs.outputs import read_numbers

_ONE_NOTEBOOK = threading.Lock()  # papermill changes the process's folder


@dataclass(frozen=True)
class Limits:
    """What one cell may take."""

    timeout: float | None = None
    retries: int = 1


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


def run_cell(planned, run, limits=None):
    """Execute one cell and write its run record."""
    limits = limits or Limits()
    started, clock, given_up = artifact.now(), time.perf_counter(), []
    record_path(run, planned.cell.name).unlink(missing_ok=True)
    while True:
        cause, failure, last_lines = _attempt(planned.cell, run, limits.timeout)
        if cause != "kernel died" or len(given_up) >= limits.retries:
            break
        given_up.append(cause)
    if failure is None:
        cause, failure = _recorded(planned, run, started, len(given_up) + 1)
    seconds = time.perf_counter() - clock
    return Outcome(planned.cell.name, failure, seconds, tuple(given_up), cause, last_lines)


def _attempt(cell, run, timeout):
    """Give cause, reason and last lines of a failure, or ``done`` and nothing."""
    try:
        with _ONE_NOTEBOOK:
            execute(cell.notebook, cell.name, run, cell.parameters, timeout)
    except TimedOut as error:
        return "timed out", str(error), ()
    except KernelDied as error:
        return "kernel died", str(error), ()
    except CasebookError as error:
        return "failed", str(error), getattr(error, "last_lines", ())
    except OSError as error:
        return "failed", _where(error, run), ()
    return "done", None, ()


def _where(error, run):
    return f"{error.filename or run_dir(run)}: {error.strerror}"


def _recorded(planned, run, started, attempts):
    """Write the record; a notebook whose record cannot be written is taken back."""
    try:
        _record(planned, run, started, attempts)
    except OSError as error:
        notebook = run_dir(run) / "notebooks" / f"{planned.cell.name}.ipynb"
        notebook.unlink(missing_ok=True)
        return "failed", _where(error, run)
    return "done", None


def _record(planned, run, started, attempts):
    cell = planned.cell
    again = {"Attempts": attempts} if attempts > 1 else {}
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
            **again,
        },
        metrics=_flat(read_numbers(run, cell.name).get(cell.experiment, {})),
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
