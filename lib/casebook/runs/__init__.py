"""Runs: their records, what lies beside them, which is better, and which is promoted."""

import importlib
from pathlib import Path


def __getattr__(name):
    """Import a module when it is first named: a command's help needs none."""
    if not Path(__file__).with_name(f"{name}.py").is_file():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
