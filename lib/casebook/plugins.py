"""Objects of the user's own, by the name ``module:object`` wherever a name of ours may stand."""

import contextlib
import importlib
import os
import sys
from pathlib import Path

from casebook.errors import InputError

PREFIXES = ("entailment", "model")  # of names of ours: entailment:FOLDER, model:NAME
CALLER = "CASEBOOK_CALLER"  # set for a kernel, which works in another folder: that of the command's caller


def is_plugin(name):
    """Tell a name like ``my.module:Search`` from a name of ours, a path or a prefix of ours."""
    module, colon, target = str(name).partition(":")
    return (
        bool(colon)
        and module not in PREFIXES
        and all(part.isidentifier() for part in (*module.split("."), *target.split(".")))
    )


def plugin(name):
    """Import ``module:object``; modules in the folder of the command's caller are found as Python finds them.

    They are imported in that folder too, so that files that they open then are found from a kernel as from the command.
    """
    module, _, target = name.partition(":")
    here = os.environ.get(CALLER) or str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        with contextlib.chdir(here) if module not in sys.modules else contextlib.nullcontext():
            found = importlib.import_module(module)
        for part in target.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{name}: {_line(error)}: give 'module:object' of an importable module"
        ) from error
    except (
        Exception,
        SystemExit,
    ) as error:  # whatever the user's module raises while it is imported
        raise InputError(
            f"{name}: importing it raised {type(error).__name__}: {_line(error)}"
        ) from error
    return found


def callable_plugin(name, what):
    """Import ``module:object`` and refuse what cannot be called; ``what`` is its signature, for the message."""
    found = plugin(name)
    if not callable(found):
        raise InputError(f"{name}: expected a callable {what}, found {type(found).__name__}")
    return found


def instance(name, found, what, *arguments):
    """Make an object of a plugin that is a class, and refuse one that cannot be called."""
    made = called(name, found, *arguments)
    if not callable(made):
        raise InputError(
            f"{name}: an object of the class must be a callable {what}: it has no __call__"
        )
    return made


def called(name, found, *arguments):
    """Call a plugin; what it raises is an error of its user, in one line."""
    try:
        return found(*arguments)
    except (Exception, SystemExit) as error:
        raise InputError(f"{name}: raised {type(error).__name__}: {_line(error)}") from error


def numbers_of(given, kind):
    """What a plugin gave as an array of numbers; of what is none, an empty one."""
    import numpy as np  # most commands need no plugin and start faster without

    try:
        return np.asarray(given, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0, kind)


def _line(error):
    return " ".join(str(error).split())


def source_of(name):
    """Give the source of a plugin: its file, or the folder of the package that it is in."""
    plugin(name)
    module = name.partition(":")[0]
    top = sys.modules[module.partition(".")[0]]
    return Path(top.__path__[0] if hasattr(top, "__path__") else sys.modules[module].__file__)
