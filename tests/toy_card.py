"""A small data card, for tests that load one, pull its files or spoil it."""

import hashlib


def toy_card(contents, sources, **changes):
    """Give the fields of a card for files of known content, some of them changed."""
    fields = {
        "key": "toy",
        "title": "Toy",
        "description": "A toy.",
        "licence": {"name": "MIT", "non_commercial": False},
        "citation": "Nobody (2024).",
        "loader": "beir",
        "sources": sources,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
        "splits": {"test": {"documents": 3, "queries": 2, "judgements": 3}},
        "default_split": "test",
    }
    return fields | changes
