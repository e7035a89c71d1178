"""Entailment models: does a premise entail a hypothesis, contradict it, or neither."""

import importlib
import os
from functools import cached_property

import numpy as np

from casebook.errors import InputError
from casebook.models.weights import locate_model, model_fingerprint

CLASSES = ("entailment", "contradiction", "neutral")
BATCH = 32


class EntailmentModel:
    """A cross-encoder with the three classes of natural language inference."""

    def __init__(self, name, allow_download=None):
        self.name = os.fspath(name)
        self.folder = locate_model(name, allow_download)
        self.model_hash = model_fingerprint(self.folder)

    @cached_property
    def _model(self):
        """The loaded model; the first use imports torch."""
        library = importlib.import_module("casebook.models.torch_models")
        return library.load_cross_encoder(self.folder)

    @cached_property
    def _order(self):
        """Column of each class, in the order of ``CLASSES``."""
        labels = self._model.config.id2label
        columns = {str(label).lower(): int(n) for n, label in labels.items()}
        if set(columns) != set(CLASSES):
            raise InputError(
                f"entailment model {self.name!r} has the classes {', '.join(sorted(columns))}, not {', '.join(CLASSES)}"
            )
        return [columns[name] for name in CLASSES]

    def probabilities(self, premises, hypotheses):
        """Judge pairs."""
        order = self._order
        pairs = list(zip(premises, hypotheses, strict=True))
        if not pairs:
            return np.zeros((0, len(CLASSES)))
        library = importlib.import_module("casebook.models.torch_models")
        logits = library.raw_logits(self._model, pairs, BATCH)[:, order]
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
