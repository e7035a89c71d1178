"""What experiments read: cards, checksummed sources, splits of every kind and their loaders."""

from casebook.lazy import modules_of

__all__ = ["list_datasets", "load"]

__getattr__ = modules_of(__name__, list_datasets="registry", load="registry")
