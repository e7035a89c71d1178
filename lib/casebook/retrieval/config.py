"""Settings of the pipeline, checked once, and the named systems of the ablation."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.checks import between, whole_number
from casebook.retrieval.modes import MODES
from casebook.retrieval.sparse import PRESETS
from casebook.stats.samples import check_choice

LISTS = ("bm25", "bm25_stemmed", "dense", "dense2", "random", "constant")
# Lists that also match what is not the same word lose weight as queries grow: by this
# power of the trust in a query.
LOOSE = {"bm25_stemmed": 1.0, "dense": 0.5, "dense2": 0.5}
FUSIONS = ("standardised", "rrf", "weighted_sum")
# Below this, encoding a collection would cost minutes and move next to nothing.
LEAST_TRUST = 0.07
CROSS_ENCODER = "cross-encoder:"
RERANKERS = ("maxsim", "maxsim-mean", "pass-through")


@dataclass(frozen=True)
class PipelineConfig:
    """Settings of one retrieval system."""

    top_k: int = 10
    lists: tuple = ("bm25", "bm25_stemmed", "dense")
    fusion: str = "standardised"
    rrf_k: float = 20
    fusion_weights: tuple | None = None
    question_tokens: float | None = 64
    pool: int = 50
    mmr: bool = True
    mmr_lambda: float = 0.7
    mmr_pool: int = 50
    reranker: str | None = "maxsim"
    first_stage_weight: float = 1 / 3
    agreement: tuple | None = (0.5, 0.8)
    chunking: bool = True
    max_words: int = 130
    overlap: int = 40
    max_passages: int | None = 16
    bm25_chunks: bool = False
    bm25_preset: str = "default"
    seed: int = 0

    def __post_init__(self):
        lists = (self.lists,) if isinstance(self.lists, str) else tuple(self.lists)
        object.__setattr__(self, "lists", lists)
        if self.reranker == "none":
            object.__setattr__(self, "reranker", None)
        for name in ("fusion_weights", "agreement"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_names()
        self._check_numbers()

    def _check_names(self):
        """Refuse names that mean nothing."""
        if not self.lists or len(set(self.lists)) < len(self.lists):
            raise InputError(f"lists must be distinct, at least one; got {self.lists}")
        for name in self.lists:
            check_choice("list", name, LISTS)
        check_choice("fusion", self.fusion, FUSIONS)
        check_choice("BM25 preset", self.bm25_preset, tuple(PRESETS))
        spelled = (self.reranker or "").removeprefix(CROSS_ENCODER)
        if spelled == (self.reranker or "") and "/" in spelled:
            raise InputError(f"a model as reranker is named {CROSS_ENCODER}{spelled}")
        if spelled == (self.reranker or ""):
            check_choice("reranker", self.reranker, (*RERANKERS, None))
        elif not spelled:
            raise InputError(f"name the model: reranker {CROSS_ENCODER}NAME")

    def _check_numbers(self):
        """Refuse numbers out of range."""
        for name in ("top_k", "pool", "mmr_pool", "max_words", "max_passages"):
            if getattr(self, name) is not None or name != "max_passages":
                whole_number(name, getattr(self, name), 1)
        whole_number("overlap", self.overlap, 0)
        whole_number("seed", self.seed, 0)
        between("mmr_lambda", self.mmr_lambda, 0, 1)
        between("first_stage_weight", self.first_stage_weight, 0, 1)
        if self.first_stage_weight == 1:
            raise InputError("first_stage_weight 1 would ignore the reranker: use none")
        if not 0 < self.rrf_k < math.inf:
            raise InputError(f"rrf_k must be above 0, got {self.rrf_k}")
        if self.question_tokens is not None and not self.question_tokens > 0:
            raise InputError(f"question_tokens must be above 0, got {self.question_tokens}")
        low, high = self.agreement or (0, 1)
        if not -1 <= low < high <= 1:
            raise InputError(f"agreement must be two rising correlations, got {self.agreement}")
        if self.overlap >= self.max_words:
            raise InputError(f"overlap ({self.overlap}) must be below max_words ({self.max_words})")
        for name in ("pool", "mmr_pool"):
            if getattr(self, name) < self.top_k:
                raise InputError(f"{name} ({getattr(self, name)}) must be at least top_k ({self.top_k})")
        weights = self.fusion_weights
        if weights is not None and len(weights) != len(self.lists):
            raise InputError(f"{len(weights)} weights for {len(self.lists)} lists")

    def changed(self, **changes):
        """Give a copy with some settings changed."""
        known = tuple(field.name for field in fields(self))
        for name in changes:
            check_choice("setting", name, known)
        return replace(self, **changes)

    @property
    def passage_key(self):
        """What decides the passages that encoder and reranker read: tuple or None."""
        cut = (self.max_words, self.overlap, self.max_passages)
        return cut if self.chunking else None

    @property
    def weights(self):
        """Weight of each list before the length of a query counts: tuple."""
        bm25 = [name.startswith("bm25") for name in self.lists]
        shared = tuple(1 / sum(bm25) if one else 1.0 for one in bm25)
        return self.fusion_weights or shared

    def trust(self, tokens):
        """Say how far anything but the very words of each query is believed."""
        tokens = np.maximum(np.asarray(tokens), 1)
        if self.question_tokens is None or "bm25" not in self.lists:
            return np.ones(tokens.shape)
        trust = np.minimum(1.0, self.question_tokens / tokens)
        return np.where(trust < LEAST_TRUST, 0.0, trust)


def config_for(mode, **settings):
    """Give the settings of a named system."""
    check_choice("mode", mode, tuple(MODES))
    changes, _ = MODES[mode]
    merged = {**settings, **changes}
    if "lists" in changes:
        merged.pop("fusion_weights", None)
    return PipelineConfig().changed(**merged)
