"""Fact-checking: from a claim to a verdict, and the scoring around it."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
