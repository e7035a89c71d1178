"""Cross-encoders: one model reads query and passage together."""

import importlib
import os
from functools import cached_property

import numpy as np

from casebook.errors import InputError
from casebook.models.weights import locate_model, model_fingerprint

BATCH = 32


class CrossEncoderReranker:
    """Score query and passage pairs by a cross-encoder's logit."""

    def __init__(self, name, texts, allow_download=None):
        self.name = os.fspath(name)
        self.folder = locate_model(name, allow_download)
        self.model_hash = model_fingerprint(self.folder)
        self._texts = list(texts)

    @cached_property
    def _model(self):
        """The loaded model; the first use imports torch."""
        library = importlib.import_module("casebook.models.torch_models")
        model = library.load_cross_encoder(self.folder)
        if model.num_labels != 1:
            raise InputError(
                f"cross-encoder {self.name!r} gives {model.num_labels} scores per pair, a reranker gives 1"
            )
        return model

    def scores(self, queries, candidates):
        """Score candidate passages of every query."""
        candidates = np.asarray(candidates, dtype=np.int64)
        scores = np.full(candidates.shape, -np.inf)
        rows, columns = np.nonzero(candidates >= 0)
        pairs = [
            (queries[row], self._texts[passage]) for row, passage in zip(rows, candidates[rows, columns], strict=True)
        ]
        if pairs:
            library = importlib.import_module("casebook.models.torch_models")
            logits = library.raw_logits(self._model, pairs, BATCH)
            scores[rows, columns] = np.round(logits, 6)
        return scores
