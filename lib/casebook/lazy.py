"""Packages whose modules are imported when they are first named, as a command's help needs none."""

import sys
from importlib import import_module
from importlib.util import find_spec


def modules_of(package, **functions):
    """The ``__getattr__`` of a package: ``raters.forms`` imports ``casebook.raters.forms``.

    ``functions`` are names of functions that the package offers itself, with their modules.
    """

    def attribute(name):
        if name in functions:
            return getattr(import_module(f"{package}.{functions[name]}"), name)
        if find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return attribute


def module_without(name, absent):
    """Import a module as if another one, which it would load, were not installed."""
    if absent in sys.modules:
        return import_module(name)
    sys.modules[absent] = None
    try:
        return import_module(name)
    finally:
        del sys.modules[absent]
