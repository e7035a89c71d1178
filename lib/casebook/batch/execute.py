"""One cell: its notebook is executed by papermill, and its run record is written.

A notebook's kernel is a process of its own (`casebook.batch.kernel`) and works where the caller
of the command works. The result is whole, clean and repeatable: the executed notebook appears only
if every cell succeeded.
"""

import contextlib
import json
import logging
import os
import re
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from jupyter_client import AsyncKernelManager

from casebook import __version__
from casebook.batch.kernel import ForkingManager
from casebook.batch.parameters import resolved
from casebook.batch.run_folder import read_planned, record_path
from casebook.credentials import without_secrets
from casebook.data.tables import IN_EXPERIMENT
from casebook.errors import CasebookError, InputError
from casebook.paths import FOLDER_VARIABLES, run_dir
from casebook.runs import evidence
from casebook.runs import record as records
from casebook.runs.locations import paths_in, recorded, without_folders
from casebook.runs.outputs import read_numbers

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Progress bars ask for widgets, which the book does not show.
    "PYTHONWARNINGS": "ignore:IProgress not found",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TQDM_DISABLE": "1",
}
KERNEL_DIED = "kernel died"  # killed, out of memory, or crashed
REFUSED = "refused"  # by a reader in the notebook
_TO_PROJECT = "../../.."  # from results/<run>/notebooks
_LAST_LINES = 6  # of a traceback that are shown


@dataclass(frozen=True)
class Outcome:
    """What became of one cell."""

    cell: str
    failure: str | None = None
    seconds: float = 0.0
    attempts: tuple = ()  # why earlier attempts were given up
    cause: str = "done"
    last_lines: tuple = ()

    @property
    def tries(self):
        """Number of attempts: 0 if what the cell needs failed."""
        return len(self.attempts) + (self.cause != "needs")


class NotebookFailed(CasebookError):
    """A cell of a notebook raised, or the notebook did not run to its end."""

    def __init__(self, message, cause="failed", last_lines=()):
        super().__init__(message)
        self.cause = cause
        self.last_lines = last_lines


# --- one cell


class Kernel:
    """The kernel of one notebook: its working folder, its variables, and its end."""

    def __init__(self, folder, environment=(), timeout=None):
        self.timeout = timeout
        self.folder = str(folder)
        self.environment = dict(environment)
        self.pid = None
        self.killed = False

    def manager_class(self, base=AsyncKernelManager):
        """A class of kernel managers that start it; papermill needs the asynchronous base."""
        return type("Manager", (ForkingManager, base), {"kernel": self})

    def started(self, pid):
        """Remember its process; one that comes too late is killed."""
        self.pid = pid
        if self.killed:
            self.kill()

    def kill(self):
        """Kill it with all that it started."""
        self.killed = True
        for kill in (os.killpg, os.kill) if self.pid else ():
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)


def run_cell(planned, run, folder=".", *, timeout=None, retries=1, kernels=None):
    """Execute one cell and write its run record; a kernel that died is tried again.

    Its kernel works in ``folder``, that of the command's caller, and is added to ``kernels``: who
    ends the batch kills them.
    """
    kernels = [] if kernels is None else kernels
    cell = planned.cell
    begin = time.perf_counter()
    started = records.now()
    attempts = ()
    while True:
        environment = planned.settings.environment() | {IN_EXPERIMENT: "1"}
        kernel = Kernel(folder, environment, timeout)
        kernels.append(kernel)
        timer = threading.Timer(timeout or threading.TIMEOUT_MAX, kernel.kill)
        timer.start()
        try:
            failure = _try_cell(planned, run, kernel, started, attempts)
        finally:
            timer.cancel()
            kernel.kill()
        if failure is None:
            return Outcome(cell.name, None, time.perf_counter() - begin, attempts)
        if failure.cause != KERNEL_DIED or len(attempts) >= retries:
            break
        attempts = (*attempts, failure.cause)
    with contextlib.suppress(OSError):
        _remove_outputs(run, cell.name)
    seconds = time.perf_counter() - begin
    return Outcome(cell.name, str(failure), seconds, attempts, failure.cause, failure.last_lines)


def _try_cell(planned, run, kernel, started, earlier_attempts):
    """Execute a cell once and write its record; gives the failure, or None."""
    cell = planned.cell
    try:
        _remove_outputs(run, cell.name)
        execute(cell, run, kernel)
        _write_record(planned, run, started, len(earlier_attempts) + 1)
    except NotebookFailed as error:
        return error
    except CasebookError as error:
        return NotebookFailed(str(error))
    except OSError as error:
        return NotebookFailed(f"{error.filename or run_dir(run)}: {error.strerror}")
    return None


def _remove_outputs(run, cell):
    """Remove what an earlier or failed execution left: none of it is of the present inputs."""
    record_path(run, cell).unlink(missing_ok=True)
    for path in evidence.files_of(run, cell, read_planned(run)):
        path.unlink(missing_ok=True)


def _write_record(planned, run, started, attempts):
    cell = planned.cell
    path = record_path(run, cell.name)
    labels = {
        "Cell": cell.name,
        "ContentKey": planned.key,
        "Inputs": planned.inputs,
        "Version": __version__,
        "Environment": records.environment(),
    }
    if Path(cell.notebook).is_absolute():
        labels["Notebook"] = recorded(cell.notebook)
    if attempts > 1:
        labels["Attempts"] = attempts
    metrics = {}
    for names, number in records.each_number(read_numbers(run, cell.name).get(cell.experiment, {})):
        metrics[".".join(names).lower()] = number["value"]
    outputs = evidence.files_of(run, cell.name, read_planned(run))
    record = records.RunRecord.model_construct(
        run_id=f"{started:%Y%m%dT%H%M%SZ}-{planned.key[:8]}",
        workflow=cell.experiment,
        tenant=None,
        started=started,
        completed=records.now(),
        success=True,
        labels=labels,
        metrics=metrics,
        outputs=evidence.file_hashes(path.parent, outputs),
    )
    records.write_record(path, record)


# --- one notebook


def execute(cell, run, kernel):
    """Execute a cell's notebook; the output appears only if every cell of it succeeded."""
    # What kernels and Dask's workers inherit; the folder of a kernel is another.
    for name in FOLDER_VARIABLES:
        if os.environ.get(name):
            os.environ[name] = str(Path(os.environ[name]).absolute())
    os.environ.update(QUIET | os.environ)
    folder = run_dir(run) / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{cell.name}.partial.ipynb"
    notebook = _papermill(cell, run, partial, kernel)
    for part in notebook.cells:
        if part.cell_type == "code" and part.source and part.execution_count is None:
            raise NotebookFailed(f"{cell.name}: stopped before cell {part.id}")
    whole = resolved(cell.parameters, cell.source)
    parameters = {"run": run, "cell": cell.name, **whole}
    _write_notebook(notebook, partial, parameters, [*paths_in(whole), kernel.folder])
    return partial.replace(folder / f"{cell.name}.ipynb")


def _papermill(cell, run, partial, kernel):
    """Give the executed notebook; ``partial`` holds how far it is."""
    import papermill

    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    try:
        return papermill.execute_notebook(
            str(cell.source),
            str(partial),
            parameters={"run": run, "cell": cell.name, **cell.parameters},
            progress_bar=False,
            kernel_manager_class=kernel.manager_class(),
        )
    except papermill.PapermillExecutionError as error:
        partial.unlink(missing_ok=True)  # a traceback may hold what the environment does
        raise _failure(cell.notebook, error) from None
    except RuntimeError as error:  # nbclient's, of a kernel that ended or never came
        where = f"{cell.notebook}: {_cell_at_work(partial)}"
        partial.unlink(missing_ok=True)
        if kernel.killed:
            why = f"{where}: not done within {kernel.timeout or 0:g} s: killed"
            raise NotebookFailed(why, "timed out") from None
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise NotebookFailed(f"{where}: the kernel died ({lines[-1]})", KERNEL_DIED) from None


def _write_notebook(notebook, path, parameters, user_files):
    """Write an executed notebook: equal results give equal files, without times and random ids.

    It names files of the project from its own folder, so that Jupyter and nbval, which work there,
    can run it again. Other files go by their names.
    """
    import nbformat
    from papermill.translators import translate_parameters

    kernel = notebook.metadata.kernelspec
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        for key in ("execution", "papermill"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            language = kernel.get("language", "python")
            cell.id = "injected-parameters"
            cell.source = translate_parameters(kernel.name, language, parameters, "Parameters")
    nbformat.write(notebook, path)
    # The notebook is JSON, and what was injected is Python inside it: a path without quotes
    # reads the same in both.
    text = without_folders(path.read_text(encoding="utf-8"), user_files, _TO_PROJECT)
    path.write_text(text, encoding="utf-8")


# --- why a notebook failed


def _cell_at_work(partial):
    """Say which cell of a partly executed notebook was at work."""
    with contextlib.suppress(OSError, ValueError, LookupError):
        cells = json.loads(partial.read_text(encoding="utf-8"))["cells"]
        code = [cell["metadata"] for cell in cells if cell["cell_type"] == "code"]
        states = [metadata.get("papermill", {}).get("status") for metadata in code]
        begun = sum(state not in (None, "pending") for state in states)
        if begun:
            return f"cell {begun}"
    return "before its first cell"


def _failure(notebook, error):
    """Say in one line which cell failed and why; the end of a traceback is added."""
    kinds = [CasebookError, *CasebookError.__subclasses__()]
    foreseen = error.ename in {kind.__name__ for kind in kinds}
    why = error.evalue if foreseen else f"{error.ename}: {error.evalue}"
    why = " ".join(without_secrets(_printable(why)).split())
    cause = REFUSED if error.ename == InputError.__name__ else "failed"
    text = f"{notebook}: cell {error.exec_count}: {why}"
    last_lines = ()
    if not foreseen:
        trace = without_secrets(_printable("\n".join(error.traceback)))
        lines = [line.rstrip() for line in trace.splitlines() if line.strip()]
        last_lines = tuple(lines[-_LAST_LINES:])
    return NotebookFailed(text[:1000], cause, last_lines)


def _printable(text):
    """Take out colours and whatever else a terminal would obey."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text))
    return "".join(c for c in text if c.isprintable() or c == "\n")
