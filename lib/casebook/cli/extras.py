"""The packages that only some commands need, and what to install where one is missing."""

import shlex
from importlib.util import find_spec
from pathlib import Path

from casebook.readers import read_yaml

#: Of each optional dependency of `pyproject.toml`: what is imported, and what brings it.
EXTRAS = read_yaml(Path(__file__).with_suffix(".yml"))


def what_is_missing(error):
    """One line on the extra that has a missing module; None where no extra has it."""
    module = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if module in packages:
            missing = sorted(
                {packages[name] for name in packages if not find_spec(name)}
            )
            command = shlex.join(["pip", "install", *missing])
            return f"this needs {packages[module]}, of the extra {extra!r}: {command}"
    return None
