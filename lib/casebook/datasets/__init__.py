"""What experiments read: cards, checksummed sources and loaders."""

from casebook.datasets.registry import list_datasets, load

__all__ = ["list_datasets", "load"]
