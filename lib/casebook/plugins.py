"""Objects of a user, by the name ``module:object`` wherever a name of ours may stand."""

import importlib.util
import pkgutil
import sys
from pathlib import Path

from casebook import paths
from casebook.errors import InputError

PREFIXES = ("endpoint", "entailment", "model")  # of names of ours: entailment:FOLDER


def is_plugin(name):
    """Whether a name is like ``my.module:Search``: no name of ours, path or prefix of ours."""
    module, _, target = str(name).partition(":")
    words = [*module.split("."), *target.split(".")]
    return module not in PREFIXES and all(map(str.isidentifier, words))


def plugin(name, *arguments):
    """Import ``module:object``, of one's own folders too; a class is called with the arguments."""
    _see_own_folders()
    value = called(name, pkgutil.resolve_name, name)
    return called(name, value, *arguments) if isinstance(value, type) else value


def _see_own_folders():
    # Jupyter and nbval work in the folder of a notebook, which is not the project's.
    folders = map(str, (Path.cwd(), paths.ROOT))
    sys.path.extend(folder for folder in folders if folder not in sys.path)


def callable_plugin(name, signature, *arguments):
    """Import ``module:object`` and refuse what cannot be called; the message names a signature."""
    value = plugin(name, *arguments)
    if not callable(value):
        raise InputError(
            f"{name}: expected a callable {signature}, found {type(value).__name__}"
        )
    return value


def called(name, function, *arguments):
    """What a plugin returns; what it raises is an error of its user, in one line."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"{name}: raised {type(error).__name__}: {problem}") from error


def source_of(name):
    """The source of a plugin, which is not imported: its file, or the folder of its package."""
    _see_own_folders()
    module = name.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(module)
    if spec is None:
        raise InputError(
            f"{name}: no module {module!r}: give 'module:object' of one that is there"
        )
    return Path((spec.submodule_search_locations or [spec.origin])[0])
