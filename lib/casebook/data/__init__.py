"""What experiments read: cards, checksummed sources, splits of every kind and their loaders."""

from casebook.data.registry import list_datasets, load
from casebook.lazy import modules_of

__all__ = ["list_datasets", "load"]

__getattr__ = modules_of(__name__)
