"""Fingerprints: what an experiment's numbers depend on, as hashes.

A run's *content key* is the hash of all its inputs. Two runs with one key hold the
same numbers, so the second need not be executed.
"""

import hashlib
import json
import platform
import re
from pathlib import Path

import threadpoolctl

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.paths import CARDS, DATA, ROOT, data_folder

# Executing, batching and rendering do not enter a number; nor does reading a notebook's
# parameters, since its source and what is injected are inputs of their own.
_OUTSIDE = (
    "__main__.py",
    "cli",
    "batch",
    "book",
    "grid.py",
    "grid_rows.py",
    "kernels.py",
    "notebook_parameters.py",
    "notebooks.py",
)


def digest(value):
    """Hash a JSON-serialisable value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def tree_digest(folder, pattern="**/*", skip=()):
    """Hash the names and bytes of the files below a folder."""
    folder = Path(folder)
    if folder.is_file():
        return sha256_file(folder)
    names = {}
    for path in folder.glob(pattern):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        if path.is_file() and not hidden and parts[0] not in skip:
            names["/".join(parts)] = sha256_file(path)
    return digest(names)


def library_digest():
    """Hash the library modules that can change a number."""
    return tree_digest(Path(__file__).parents[1], "**/*.py", skip=_OUTSIDE)


def lock_digest():
    """Hash the lock file, which pins every package and packaged model weight."""
    lock = ROOT / "requirements.lock"
    return sha256_file(lock) if lock.is_file() else None


def dataset_digest(name):
    """Hash what a dataset name stands for, without reading the data."""
    if own := data_folder(name):
        if not own[1].is_dir():
            raise InputError(f"dataset {str(name)!r}: no such folder")
        return tree_digest(own[1])
    # The longest card key that starts the name: "<key>_<split>" is an alias.
    for key in sorted((p.stem for p in CARDS.glob("*.yml")), key=len, reverse=True):
        if name == key or name.startswith(f"{key}_"):
            shipped = DATA / key
            tree = tree_digest(shipped) if shipped.is_dir() else None
            return digest([sha256_file(CARDS / f"{key}.yml"), tree])
    raise InputError(f"dataset {name!r}: no card and no folder of that name; 'casebook data list' shows the cards")


def model_digest(name):
    """Hash what a model name stands for."""
    parts = re.split("[:=,]", str(name))
    found = [tree_digest(part) for part in parts if part and Path(part).is_dir()]
    return digest([str(name), *found]) if found else str(name)


def environment():
    """Describe the interpreter and machine of a run."""
    import numpy as np  # noqa: F401 - only a loaded library can be asked

    found = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
    # Where each package brings its own, what else is loaded must not matter.
    found.sort(key=lambda p: ("numpy" not in p["filepath"], p["filepath"]))
    names = [f"{p['internal_api']} {p.get('architecture', '')}".strip() for p in found]
    return {
        "python": platform.python_version(),
        "platform": platform.system(),
        "machine": platform.machine(),
        "linear_algebra": names[0] if names else None,
    }
