"""Settings that every test, and every kernel that nbval starts, inherits."""

import gc
import os
import shutil
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager
from xdist.scheduler import LoadFileScheduling

from casebook.batch import kernel
from casebook.batch.execute import QUIET, Kernel

# The notebooks that nbval runs write here, beside a copy of what they compare with: another
# machine rounds the last places otherwise, and the committed reference is what its records say.
RERUN = Path(__file__).with_name("_build") / "rerun"

for name, value in QUIET.items():
    os.environ.setdefault(name, value)

gc.set_threshold(1_000_000)  # a sixth of the time goes to looking for garbage otherwise


def pytest_configure(config):
    """Begin each session of tests with the committed reference."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(RERUN, ignore_errors=True)
        shutil.copytree(RERUN.parents[1] / "results" / "smoke", RERUN / "results" / "smoke")


@pytest.fixture
def quick_kernels():
    """Let all kernels of the session share their imports, also where a batch has few."""
    kernel.start_server(kernel.SHARED)


class _Together(LoadFileScheduling):
    """Gives a file to one process, and all notebooks to the same one."""

    def _split_scope(self, nodeid):
        name = super()._split_scope(nodeid)
        return "notebooks" if name.endswith(".ipynb") else name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out whole files, where that is asked for."""
    return _Together(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Let the kernel of a notebook, which starts with its first cell, write beside the
    reference. It shares its imports with the others, as those of a batch do.
    """
    if item.path.suffix != ".ipynb":
        return (yield)
    kernel.start_server(kernel.SHARED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASEBOOK_ROOT", str(RERUN))
        forked = Kernel(item.path.parent).manager_class(KernelManager)
        patch.setattr("nbval.kernel.KernelManager", forked)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Run each cell of a notebook twice in a row: it shows and writes the same again."""
    if item.path.suffix != ".ipynb":
        return (yield)
    item.runtest()
    before = _written(item.path.stem)
    outcome = yield
    after = _written(item.path.stem)
    changed = {path.name for path in before | after if before.get(path) != after.get(path)}
    assert not changed, f"run again, the cell writes otherwise: {sorted(changed)}"
    return outcome


def _written(cell):
    """Give what a cell of the grid has written, without measured times."""
    files = (RERUN / "results" / "smoke").glob(f"*/{cell}.*")
    return {path: path.read_bytes() for path in files if path.parent.name != "timings"}
