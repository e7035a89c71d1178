"""Notebooks that pytest runs write below _build/rerun, not over the results of the report."""

import os
import shutil
from pathlib import Path

from casebook.batch.execute import QUIET

HERE = Path(__file__).parent
RERUN = HERE / "_build" / "rerun"


def pytest_configure(config):
    """Let kernels begin with a copy of the results: chapters read those of others."""
    os.environ.update(QUIET | os.environ | {"CASEBOOK_ROOT": str(RERUN)})
    if not hasattr(config, "workerinput"):
        shutil.rmtree(RERUN, ignore_errors=True)
        if (HERE / "results").is_dir():
            shutil.copytree(HERE / "results", RERUN / "results")
