"""What experiments read: cards, checksummed sources, splits of every kind and their loaders."""

from casebook.data.registry import list_datasets, load

__all__ = ["list_datasets", "load"]
