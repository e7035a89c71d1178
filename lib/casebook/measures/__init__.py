"""Measures: arrays and frames in, numbers out. Imports numpy, scipy and pandas only."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
