"""Counterfactual sensitivity: edit one fact of a case at a time and see what retrieval does."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
