"""Objects of the user's own, by the name ``module:object`` wherever a name of ours may stand."""

import importlib
import sys
from pathlib import Path

from casebook.errors import InputError


def is_plugin(name):
    """Tell a name like ``my.module:Search`` from a name of ours, a path or a prefix of ours."""
    module, colon, target = str(name).partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *target.split(".")))


def plugin(name):
    """Import ``module:object``; modules in the current folder are found as Python finds them."""
    module, _, target = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
        for part in target.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name}: {error}: give 'module:object' of an importable module") from error
    return found
