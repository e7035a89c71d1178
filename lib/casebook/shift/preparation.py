"""Prepare a dataset for learning: vectors, division, fingerprint."""

from dataclasses import dataclass, field
from pathlib import Path

from casebook.datasets import load
from casebook.datasets.insurance import read_mini_insurance
from casebook.inference.samples import check_choice
from casebook.paths import data_folder
from casebook.runs.record import library_digest
from casebook.shift.embedded import embed
from casebook.shift.learner import DOCUMENTED, MODES
from casebook.shift.simulators import load_embedder
from casebook.shift.splits import SHARES, divide


@dataclass(frozen=True)
class Setup:
    """What a shift is learned on, and with which settings."""

    dataset: str
    embedder: str = "minilm"
    mode: str = DOCUMENTED
    hard_negatives: int = 1
    by: str = "group"
    seed: int = 0
    noise: float = 0.0

    def __post_init__(self):
        check_choice("mode", self.mode, MODES)  # before any vector is computed


@dataclass(frozen=True)
class Prepared:
    """A dataset with vectors and its division into train, dev and test."""

    data: object
    division: object
    labels: dict = field(repr=False)


def prepare(setup):
    """Load, embed and divide a dataset."""
    encoder = load_embedder(setup.embedder, setup.noise, setup.seed)
    data = embed(load_dataset(setup.dataset), encoder)
    division = divide(data, by=setup.by, seed=setup.seed)
    labels = {
        "Dataset": data.dataset.name,
        "DatasetHash": data.dataset.fingerprint,
        "SplitHash": division.fingerprint,
        "SplitBy": division.by,
        "SplitSizes": {part: len(rows) for part, rows in division.parts.items()},
        "SplitShares": SHARES,
        "Encoder": encoder.name,
        "EncoderHash": encoder.model_hash,
        "Parameters": {"mode": setup.mode, "hard_negatives": setup.hard_negatives, "noise": setup.noise},
        "Seed": setup.seed,
        "CodeHash": library_digest(),
        "Queries": data.account(),
    }
    return Prepared(data, division, labels)


def load_dataset(name):
    """Load a dataset by name, or a folder in BEIR or Mini-Insurance layout."""
    key, folder = data_folder(name) or (None, Path(name))
    if (folder / "policies").is_dir():
        return read_mini_insurance(folder, key=key)
    return load(name)
