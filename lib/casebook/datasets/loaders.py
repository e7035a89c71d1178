"""Which loader reads which card, and whether it finds what the card says."""

import importlib

from casebook.datasets.cards import LOADERS, cards
from casebook.errors import InputError

KINDS = {
    "retrieval": "documents, questions and judgements",
    "claims": "claims",
    "annotations": "annotated records",
    "ratings": "ratings",
    "votes": "votes on pairs of answers",
}


def check_kind(card, kind):
    """Refuse a dataset that holds something else, before anything is read."""
    found = card.kind
    if found != kind:
        fitting = [key for key, other in cards().items() if other.kind == kind]
        raise InputError(
            f"dataset {card.key!r} holds {KINDS[found]}, not {KINDS[kind]}: choose from {', '.join(fitting)}"
        )


def read_split(card, files, split):
    """Run the card's loader and compare the counts."""
    module, function, _ = LOADERS[card.loader]
    module = importlib.import_module(f"casebook.datasets.{module}")
    dataset = getattr(module, function)(card, files, split)
    for name, found in dataset.counts.items():
        expected = getattr(card.splits[split], name)
        if found != expected:
            raise InputError(
                f"{card.key}, split {split}: expected {expected:,} {name}, found "
                f"{found:,}: the files are not the ones of the card"
            )
    if card.fingerprint not in (None, dataset.fingerprint):
        raise InputError(
            f"{card.key}: the content has the fingerprint {dataset.fingerprint}, not "
            f"{card.fingerprint}: these are not the votes, texts or ratings of the card"
        )
    return dataset
