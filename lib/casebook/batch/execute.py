"""One cell: its notebook is executed by papermill, and its run record is written.

A notebook's kernel is a process of its own (`casebook.batch.kernel`) and works where the caller
of the command works. The result is whole, clean and repeatable: the executed notebook appears only
if every cell succeeded.
"""

import contextlib
import logging
import os
import platform
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from casebook import __version__
from casebook.batch.kernel import manager_class
from casebook.batch.parameters import resolved
from casebook.batch.plan import record_path
from casebook.credentials import without_secrets
from casebook.data.tables import IN_EXPERIMENT
from casebook.errors import CasebookError, InputError
from casebook.paths import run_dir
from casebook.runs.locations import paths_in, recorded, without_folders
from casebook.runs.outputs import read_numbers
from casebook.runs.record import (
    RunRecord,
    each_number,
    file_hashes,
    files_of,
    now,
    write_record,
)

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Progress bars ask for widgets, which the book does not show.
    "PYTHONWARNINGS": "ignore:IProgress not found",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TQDM_DISABLE": "1",
}
REFUSED = "refused"  # by a reader in the notebook
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Outcome:
    cell: str
    failure: str | None = None
    cause: str = "failed"
    last_lines: tuple = ()
    seconds: float = 0.0


# --- one cell


def run_cell(planned, run, folder=".", *, timeout=None):
    import papermill

    os.environ.update(QUIET | os.environ)  # of a worker
    name = planned.cell.name
    begin = time.perf_counter()
    started = now()
    environment = planned.settings.environment() | {IN_EXPERIMENT: "1"}
    outcome = Outcome(name, cause="done")
    try:
        _remove_outputs(run, name)
        execute(planned.cell, run, manager_class(folder, environment), timeout)
        _write_record(planned, run, started)
    except papermill.PapermillExecutionError as error:
        outcome = Outcome(name, *_failure(planned.cell.notebook, error))
    except CasebookError as error:
        outcome = Outcome(name, str(error))
    except OSError as error:
        outcome = Outcome(name, f"{error.filename or run_dir(run)}: {error.strerror}")
    if outcome.failure:
        with contextlib.suppress(OSError):
            _remove_outputs(run, name)
    return replace(outcome, seconds=round(time.perf_counter() - begin, 1))


def _remove_outputs(run, cell):
    # What an earlier or failed execution left: none of it is of the present inputs.
    record_path(run, cell).unlink(missing_ok=True)
    for path in files_of(run, cell):
        path.unlink(missing_ok=True)


def _write_record(planned, run, started):
    cell = planned.cell
    path = record_path(run, cell.name)
    labels = {
        "Cell": cell.name,
        "ContentKey": planned.key,
        "Inputs": planned.inputs,
        "Version": __version__,
        "Environment": {
            "python": platform.python_version(),
            "platform": platform.system(),
            "machine": platform.machine(),
        },
    }
    if Path(cell.notebook).is_absolute():
        labels["Notebook"] = recorded(cell.notebook)
    numbers = each_number(read_numbers(run, cell.name).get(cell.experiment, {}))
    record = RunRecord.model_construct(
        run_id=f"{started:%Y%m%dT%H%M%SZ}-{planned.key[:8]}",
        workflow=cell.experiment,
        tenant=None,
        started=started,
        completed=now(),
        success=True,
        labels=labels,
        metrics={".".join(names).lower(): number["value"] for names, number in numbers},
        outputs=file_hashes(path.parent, files_of(run, cell.name)),
    )
    write_record(path, record)


# --- one notebook


def execute(cell, run, manager, timeout=None):
    """Execute a cell's notebook; the output appears only if every cell of it succeeded."""
    import papermill

    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    folder = run_dir(run) / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{cell.name}.partial.ipynb"
    names = {"run": run, "cell": cell.name}
    try:
        notebook = papermill.execute_notebook(
            str(cell.source),
            str(partial),
            parameters=names | cell.parameters,
            progress_bar=False,
            kernel_manager_class=manager,
            execution_timeout=timeout,
        )
        whole = resolved(cell.parameters, cell.source)
        users = [*paths_in(whole), manager.folder]
        _write_notebook(notebook, partial, names | whole, users)
        partial.replace(folder / f"{cell.name}.ipynb")
    except TimeoutError:
        raise CasebookError(
            f"{cell.notebook}: a cell took more than {timeout:g} s"
        ) from None
    except RuntimeError as error:  # nbclient's, of a kernel that ended or never came
        raise CasebookError(f"{cell.notebook}: the kernel died ({error})") from None
    finally:
        # A traceback may hold what the environment does.
        partial.unlink(missing_ok=True)


def _write_notebook(notebook, path, parameters, user_files):
    """Write an executed notebook: equal results give equal files, without times and random ids.

    It names files of the project from its own folder, so that Jupyter and nbval, which work there,
    can run it again. Other files go by their names.
    """
    from jupyter_core.paths import jupyter_data_dir
    from nbformat import reads, sign, writes
    from papermill.translators import translate_parameters

    kernel = notebook.metadata.kernelspec
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        cell.metadata.pop("papermill", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
            cell.source = translate_parameters(
                kernel.name, "python", parameters, "Parameters"
            )
    # The notebook is JSON, and what was injected is Python inside it: a path without quotes
    # reads the same in both.
    # From results/<run>/notebooks.
    text = without_folders(writes(notebook) + "\n", user_files, "../../..")
    path.write_text(text, encoding="utf-8")
    # JupyterLab hides figures of a notebook that was not signed on this machine.
    with (
        contextlib.suppress(Exception),  # as where a home is read-only
        sign.NotebookNotary(data_dir=jupyter_data_dir()) as notary,
    ):
        notary.sign(reads(text, as_version=4))


def _failure(notebook, error):
    cause = REFUSED if error.ename == InputError.__name__ else "failed"
    foreseen = [
        kind.__name__ for kind in (CasebookError, *CasebookError.__subclasses__())
    ]
    why = error.evalue
    last_lines = ()
    if error.ename not in foreseen:
        why = f"{error.ename}: {error.evalue}"
        lines = _plain("\n".join(error.traceback)).splitlines()
        filled = [line.rstrip() for line in lines if line.strip()]
        last_lines = tuple(filled[-6:])  # of a traceback
    text = f"{notebook}: cell {error.exec_count}: {' '.join(_plain(why).split())}"
    return text[:1000], cause, last_lines


def _plain(text):
    return without_secrets(_COLOURS.sub("", text))
