"""The six retrieval stages and the pipeline that joins them."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
