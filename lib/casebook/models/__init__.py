"""Encoders and rerankers; the only package that imports torch."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
