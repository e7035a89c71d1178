"""Settings that every test, and every kernel that nbval starts, inherits."""

import gc
import os
import shutil
from pathlib import Path

import pytest

from casebook.batch.execute import QUIET

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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Let the kernel of a notebook, which starts with its first cell, write beside the
    reference.
    """
    if item.path.suffix != ".ipynb":
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASEBOOK_ROOT", str(RERUN))
        return (yield)
