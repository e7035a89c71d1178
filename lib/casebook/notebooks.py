"""Execute a parameterised notebook: its result is whole, clean and repeatable."""

import contextlib
import logging
import os
import re
from pathlib import Path

from casebook.errors import CasebookError
from casebook.files import scratch
from casebook.kernels import watched
from casebook.notebook_parameters import check_parameters
from casebook.paths import FOLDERS, NOTEBOOKS, ROOT, run_dir, valid_name

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Progress bars ask for widgets, which the book does not show.
    "PYTHONWARNINGS": "ignore:IProgress not found",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TQDM_DISABLE": "1",
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINES, _MOST = 6, 1000  # of a traceback, and letters of a reason


class NotebookFailed(CasebookError):
    """A cell of a notebook raised, or the notebook did not run to its end."""

    def __init__(self, message, last_lines=()):
        super().__init__(message)
        self.last_lines = last_lines


class KernelDied(NotebookFailed):
    """The kernel ended before the notebook: killed, out of memory, or crashed."""


class TimedOut(NotebookFailed):
    """The notebook took longer than it may."""


def execute(notebook, cell, run, parameters, timeout=None):
    """Run one notebook; the output appears only if every cell succeeded."""
    import papermill

    source = NOTEBOOKS / notebook
    injected = check_parameters(source, {"run": run, "cell": cell, **parameters})
    folder = run_dir(run) / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{valid_name(cell, 'cell')}.partial.ipynb"
    os.environ.update({k: v for k, v in QUIET.items() if k not in os.environ})
    for name in filter(os.environ.get, FOLDERS):  # the kernel's folder is another
        os.environ[name] = str(Path(os.environ[name]).absolute())
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    try:
        with scratch() as profile:
            os.environ["IPYTHONDIR"] = str(profile)
            with watched(timeout) as late:
                result = papermill.execute_notebook(
                    str(source),
                    str(partial),
                    parameters=injected,
                    cwd=str(ROOT),
                    progress_bar=False,
                    kernel_manager_class="casebook.kernels.LocalKernel",
                )
    except papermill.PapermillExecutionError as error:
        raise _explained(notebook, error) from None
    except RuntimeError as error:  # nbclient's, of a kernel that ended or never came
        where = f"{notebook}: {_reached(partial)}"
        if late.is_set():
            raise TimedOut(f"{where}: not done within {timeout:g} s: killed") from None
        raise KernelDied(f"{where}: the kernel died ({_last_line(error)})") from None
    return _finish(result, partial, folder / f"{cell}.ipynb")


def _reached(partial):
    """Say which cell of the partial notebook was at work."""
    import nbformat

    with contextlib.suppress(OSError, ValueError):
        cells = nbformat.read(partial, 4).cells
        code = [cell for cell in cells if cell.cell_type == "code"]
        status = [c.metadata.get("papermill", {}).get("status") for c in code]
        begun = sum(state not in (None, "pending") for state in status)
        if begun:
            return f"cell {begun}"
    return "before its first cell"


def _last_line(error):
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _explained(notebook, error):
    """Say in one line which cell failed and why; add the end of a traceback."""
    kinds = (CasebookError, *CasebookError.__subclasses__())
    foreseen = error.ename in {kind.__name__ for kind in kinds}
    why = error.evalue if foreseen else f"{error.ename}: {error.evalue}"
    lines = [] if foreseen else _plain("\n".join(error.traceback)).splitlines()
    lines = [line.rstrip() for line in lines if line.strip()]
    message = f"{notebook}: cell {error.exec_count}: {' '.join(_plain(why).split())}"
    return NotebookFailed(message[:_MOST], tuple(lines[-_LINES:]))


def _plain(text):
    """Take out colours and whatever else a terminal would obey."""
    text = _COLOURS.sub("", str(text))
    return "".join(c for c in text if c.isprintable() or c == "\n")


def _finish(result, partial, final):
    """Check that every cell ran, drop what changes from run to run, and rename."""
    import nbformat

    unreached = [
        cell.id for cell in result.cells if cell.cell_type == "code" and cell.source and cell.execution_count is None
    ]
    if unreached:
        raise NotebookFailed(f"{final.stem}: stopped before cell {unreached[0]}")
    nbformat.write(normalised(result), partial)
    partial.replace(final)
    return final


def normalised(notebook):
    """Drop timestamps and random ids, so that equal results give equal files."""
    notebook.metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        for key in ("execution", "papermill"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
    return notebook
