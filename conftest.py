"""Settings that every test, and every kernel that nbval starts, inherits."""

import gc
import itertools
import os
import shutil
from functools import cache
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

# The run of the small grid that tests read and build: `make test` makes it before them, of the
# present sources and on this machine. Only its notebooks and numbers are committed.
SMOKE = Path(__file__).with_name("_build") / "smoke"
# The notebooks that nbval runs write here, in a copy of that run.
RERUN = SMOKE.with_name("rerun")

with pytest.MonkeyPatch.context() as patch:  # of this process, and not of those that tests start
    patch.setenv("CASEBOOK_ROOT", str(SMOKE))
    from casebook import paths

from casebook.batch import kernel  # noqa: E402 - which looks for the folder
from casebook.batch.execute import QUIET  # noqa: E402

for name, value in QUIET.items():
    os.environ.setdefault(name, value)

gc.set_threshold(1_000_000)  # a sixth of the time goes to looking for garbage otherwise


@cache
def _copy_small_run():
    """Copy the small run for the notebooks of a session, which one process runs."""
    if paths.run_dir("smoke").is_dir():
        shutil.rmtree(RERUN, ignore_errors=True)
        shutil.copytree(paths.run_dir("smoke"), RERUN / "results" / "smoke")


def pytest_terminal_summary(terminalreporter):
    """Say why tests that read the small run fail, where there is none."""
    failed = {"failed", "error"} & terminalreporter.stats.keys()
    if failed and not paths.run_dir("smoke").is_dir():
        terminalreporter.write_line(
            f"{SMOKE}: no such folder, which some tests read: make test makes it, or "
            "CASEBOOK_ROOT=_build/smoke SOURCE_DATE_EPOCH=1767225600 casebook run --run smoke "
            "--tag smoke"
        )


@pytest.fixture
def quick_kernels():
    """Let all kernels of the session share their imports, also where a batch has few."""
    kernel.start_server(kernel.SHARED)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out whole folders, where whole files are asked for: their tests share fixtures, and all
    notebooks their imports.
    """
    from xdist.scheduler import LoadFileScheduling  # which those who only run notebooks lack

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return super()._split_scope(nodeid).rpartition("/")[0]

    return Together(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Let the kernel of a notebook, which starts with its first cell, work in the project, as that
    of the batch did, and write beside the reference. It shares its imports with the others.
    """
    if item.path.suffix != ".ipynb":
        return (yield)
    _copy_small_run()
    kernel.start_server(kernel.SHARED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASEBOOK_ROOT", str(RERUN))
        forked = kernel.manager_class(paths.ROOT, {}, KernelManager)
        patch.setattr("nbval.kernel.KernelManager", forked)
        return (yield)


class Chapter(pytest.Item):
    """All cells of a notebook as one case, which ends at the first cell that differs."""

    def __init__(self, *, cells, **given):
        super().__init__(**given)
        self.cells = cells

    def runtest(self):
        """Run each cell, twice in a row if asked: it shows and writes the same again."""
        for cell in self.cells:
            self.cell = cell
            cell.runtest()
            if os.environ.get("CASEBOOK_TWICE"):
                before = _written(self.path.stem)
                cell.runtest()
                changed = {path.name for path, _ in _written(self.path.stem) ^ before}
                assert not changed, f"{cell.name}, run again, writes otherwise: {sorted(changed)}"

    def repr_failure(self, excinfo, style=None):
        """Show the input of the cell and what differs, as nbval does."""
        return self.cell.repr_failure(excinfo)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Make the cells of each notebook one case."""
    for file, cells in itertools.groupby(list(items), lambda item: item.parent):
        if file.path.suffix == ".ipynb":
            cells = list(cells)
            first = items.index(cells[0])
            chapter = Chapter.from_parent(file, name=file.path.stem, cells=cells)
            items[first : first + len(cells)] = [chapter]


def _written(cell):
    """Give what a cell of the grid has written, without measured times."""
    files = (RERUN / "results" / "smoke").glob(f"*/{cell}.*")
    return {(path, path.read_bytes()) for path in files if path.parent.name != "timings"}
