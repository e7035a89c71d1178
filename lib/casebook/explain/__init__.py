"""Explanations in sentences, and whether a faithfulness score tells true ones from wrong ones."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
