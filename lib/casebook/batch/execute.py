"""One cell: its notebook is executed by papermill, and its run record is written.

A notebook's kernel is a process of its own (`casebook.batch.kernel`). The result is whole, clean and repeatable: the
executed notebook appears only if every cell succeeded.
"""

import contextlib
import json
import logging
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from casebook import __version__, paths
from casebook.batch import kernel
from casebook.batch.parameters import named_files, path_parameters
from casebook.batch.run_folder import progress_path, read_planned, record_path
from casebook.credentials import without_secrets
from casebook.errors import CasebookError
from casebook.paths import FOLDERS, run_dir
from casebook.plugins import CALLER
from casebook.progress import PLACE
from casebook.runs import evidence
from casebook.runs import record as records
from casebook.runs.outputs import each_number, read_numbers

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # progress bars ask for widgets, which the book does not show
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TQDM_DISABLE": "1",
}
KERNEL_DIED = "kernel died"  # killed, out of memory, or crashed


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

    source = paths.NOTEBOOKS / notebook
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
                kernel_manager_class="casebook.batch.kernel.ForkedKernelManager",
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
