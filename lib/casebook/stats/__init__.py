"""Intervals and tests of means over units that may belong together in clusters."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
