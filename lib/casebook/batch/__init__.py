"""The batch: which notebooks must run with which parameters, and their execution."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
