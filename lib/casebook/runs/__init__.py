"""Runs: their records, what lies beside them, which is better, and which is promoted."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
