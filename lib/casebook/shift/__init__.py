"""Shifts of query embeddings: learned, evaluated without leakage, and gated."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
