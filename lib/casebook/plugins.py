"""Objects of a user, by the name ``module:object`` wherever a name of ours may stand."""

import importlib.util
import pkgutil
import sys
from pathlib import Path

from casebook.errors import InputError

PREFIXES = ("endpoint", "entailment", "model")  # of names of ours: entailment:FOLDER


def is_plugin(name):
    """Tell a name like ``my.module:Search`` from a name of ours, a path or a prefix of ours."""
    module, colon, target = str(name).partition(":")
    return (
        bool(colon)
        and module not in PREFIXES
        and all(part.isidentifier() for part in (*module.split("."), *target.split(".")))
    )


def plugin(name, *arguments):
    """Import ``module:object``, of the working folder too; a class is called with the arguments."""
    _see_working_folder()
    try:
        value = pkgutil.resolve_name(name)
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        raise InputError(
            f"{name}: importing it raised {type(error).__name__}: {_line(error)}: "
            "give 'module:object' of an importable module"
        ) from error
    return called(name, value, *arguments) if isinstance(value, type) else value


def _see_working_folder():
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def callable_plugin(name, signature, *arguments):
    """Import ``module:object`` and refuse what cannot be called; the message names a signature."""
    value = plugin(name, *arguments)
    if not callable(value):
        raise InputError(f"{name}: expected a callable {signature}, found {type(value).__name__}")
    return value


def called(name, function, *arguments):
    """What a plugin returns; what it raises is an error of its user, in one line."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        raise InputError(f"{name}: raised {type(error).__name__}: {_line(error)}") from error


def _line(error):
    return " ".join(str(error).split())


def array_of(value, dtype):
    """What a plugin returned as an array of numbers, an empty one if it is none."""
    import numpy as np  # most commands need no plugin and start faster without

    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0, dtype)


def source_of(name):
    """The source of a plugin, which is not imported: its file, or the folder of its package."""
    _see_working_folder()
    module = name.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(module)
    if spec is None or not (spec.has_location or spec.submodule_search_locations):
        raise InputError(
            f"{name}: no module {module!r}: give 'module:object' of an importable module"
        )
    return Path([*(spec.submodule_search_locations or []), spec.origin][0])
