"""Settings of the pipeline, checked once, and the named systems of the ablation: what each mode changes.

A mode is changed or added in `MODES`; a reranker in `casebook.retrieval.rerank.RERANKERS`.
"""

import math
from dataclasses import dataclass, fields

import numpy as np

from casebook.errors import InputError
from casebook.plugins import is_plugin
from casebook.retrieval.rerank import CROSS_ENCODER, RERANKERS
from casebook.stats.samples import check_choice

_PDPABENCH = {"method": "okapi", "stopwords": "en_plus", "stemmer": "porter_extended", "token_pattern": r"[a-z0-9]+"}
#: BM25 settings by name. ``default``: those of bm25s. ``leaderboard``: of the MTEB leaderboard's BM25 baseline.
#: ``okapi_porter``: of the PDPABench authors (rank_bm25's Okapi, tuned); the untuned one is inside their hybrid.
PRESETS = {
    "default": {},
    "leaderboard": {"stemmer": "english"},
    "okapi_porter": _PDPABENCH | {"k1": 1.2, "b": 0.3},
    "okapi_porter_untuned": _PDPABENCH | {"k1": 1.5, "b": 0.75},
}
LISTS = ("bm25", "bm25_stemmed", "dense", "random", "constant")
FUSIONS = ("standardised", "rrf", "weighted_sum")
# Below this trust, encoding a collection would cost minutes and move next to nothing.
LEAST_TRUST = 0.07

_FIRST_STAGE = {"mmr": False, "reranker": None}
_WHOLE = {"chunking": False}
_CONSTANT = {"question_tokens": None, "agreement": None}
_PLAIN = {"lists": ("bm25", "dense"), "fusion": "rrf", **_CONSTANT}

#: Systems by key: what each changes in the settings, and what it is.
MODES = {
    "full": ({}, "all six stages"),
    "bm25": ({"lists": ("bm25",), **_FIRST_STAGE, **_WHOLE}, "BM25 alone on whole documents"),
    "bm25_stemmed": (
        {"lists": ("bm25",), "bm25_preset": "leaderboard", **_FIRST_STAGE, **_WHOLE},
        "BM25 alone with the leaderboard's English stemmer",
    ),
    "bm25_chunked": (
        {"lists": ("bm25",), "bm25_chunks": True, "max_passages": None, **_FIRST_STAGE},
        "BM25 alone on chunks, a document at its best chunk",
    ),
    "dense": ({"lists": ("dense",), **_FIRST_STAGE, **_WHOLE}, "encoder alone on whole documents, cut at its limit"),
    "dense_chunked": ({"lists": ("dense",), **_FIRST_STAGE}, "encoder alone on chunks, a document at its best chunk"),
    "rrf": ({**_PLAIN, **_FIRST_STAGE, **_WHOLE}, "reciprocal rank fusion of bm25 and dense, nothing after it"),
    "rrf_chunked": ({**_PLAIN, **_FIRST_STAGE}, "reciprocal rank fusion of bm25 and dense_chunked, nothing after it"),
    "weighted_sum": (
        {"fusion": "weighted_sum"},
        "the full system with scores scaled to [0, 1] instead of standardised",
    ),
    "constant_weights": (
        _PLAIN,
        "the documented combination: rank fusion of bm25 and dense_chunked, marginal "
        "relevance, reranker, the same weights whatever the query",
    ),
    "fused": (_FIRST_STAGE, "the first stage of the full system: its lists fused, nothing after it"),
    "no_mmr": ({"mmr": False}, "the full system without marginal relevance"),
    "no_reranker": ({"reranker": None}, "the full system without reranker: the order of marginal relevance"),
    "reranker_only": (
        {"first_stage_weight": 0.0, **_CONSTANT},
        "the full system ordered by the reranker alone, without the fused score",
    ),
    "no_chunking": (_WHOLE, "the full system on whole documents, cut at the limit"),
    "random": ({"lists": ("random",), **_FIRST_STAGE}, "control: seeded random order"),
    "constant": ({"lists": ("constant",), **_FIRST_STAGE}, "control: equal scores, so corpus order by the tie rule"),
}

#: What readers call the systems.
NAMES = {
    "full": "Full pipeline",
    "bm25": "BM25",
    "bm25_stemmed": "Stemmed BM25",
    "bm25_chunked": "BM25 on passages",
    "dense": "Dense",
    "dense_chunked": "Dense on passages",
    "rrf": "Rank fusion",
    "rrf_chunked": "Rank fusion on passages",
    "weighted_sum": "Full, scaled scores",
    "constant_weights": "Full, constant weights",
    "fused": "First stage alone",
    "no_mmr": "Full without diversity",
    "no_reranker": "Full without reranker",
    "reranker_only": "Reranker's order alone",
    "no_chunking": "Full without passages",
    "full_tuned": "Full pipeline, tuned",
    "random": "Random order",
    "constant": "Equal scores",
}
#: Systems of one list and one search, which every other has to beat.
SIMPLE = ("bm25", "bm25_stemmed", "bm25_chunked", "dense", "dense_chunked")

_WHOLE_NUMBERS = {"top_k": 1, "pool": 1, "mmr_pool": 1, "max_words": 1, "max_passages": 1, "overlap": 0, "seed": 0}


@dataclass(frozen=True)
class PipelineConfig:
    """Settings of one retrieval system; None switches a rule off."""

    top_k: int = 10
    lists: tuple = ("bm25", "bm25_stemmed", "dense")
    fusion: str = "standardised"
    rrf_k: float = 20
    question_tokens: float | None = 64  # from which on a query counts as long
    pool: int = 50  # documents of each list that are fused
    mmr: bool = True
    mmr_lambda: float = 0.7
    mmr_pool: int = 50  # documents that marginal relevance keeps
    reranker: str | None = "maxsim"  # or maxsim-mean, pass-through, cross-encoder:NAME, module:object
    first_stage_weight: float = 1 / 3  # share of the fused score in the final one
    agreement: tuple | None = (0.5, 0.8)  # correlations with the encoder: from where, and from where fully, it is heard
    chunking: bool = True
    max_words: int = 130
    overlap: int = 40
    max_passages: int | None = 16  # the most central ones of a long document
    bm25_chunks: bool = False
    bm25_preset: str = "default"
    seed: int = 0

    def __post_init__(self):
        lists = (self.lists,) if isinstance(self.lists, str) else tuple(self.lists)
        object.__setattr__(self, "lists", lists)
        if self.reranker == "none":
            object.__setattr__(self, "reranker", None)
        if "/" in (self.reranker or "") and not self.reranker.startswith(CROSS_ENCODER):
            object.__setattr__(self, "reranker", CROSS_ENCODER + self.reranker)  # a model of the hub, or a folder
        self._check_names()
        self._check_numbers()

    def _check_names(self):
        if not self.lists or len(set(self.lists)) < len(self.lists):
            raise InputError(f"lists must be distinct, at least one; got {self.lists}")
        for name in self.lists:
            check_choice("list", name, LISTS)
        check_choice("fusion", self.fusion, FUSIONS)
        check_choice("BM25 preset", self.bm25_preset, tuple(PRESETS))
        if self.reranker == CROSS_ENCODER:
            raise InputError(f"name the model: reranker {CROSS_ENCODER}NAME")
        if not (self.reranker or "").startswith(CROSS_ENCODER) and not is_plugin(self.reranker):
            check_choice("reranker", self.reranker, (*RERANKERS, None))

    def _check_numbers(self):
        for name, least in _WHOLE_NUMBERS.items():
            value = getattr(self, name)
            if name == "max_passages" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} must be a whole number >= {least}, got {value!r}")
        for name in ("mmr_lambda", "first_stage_weight"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        low, high = self.agreement or (0, 1)
        tokens = self.question_tokens
        checks = [
            (self.first_stage_weight < 1, "first_stage_weight 1 would ignore the reranker: use none"),
            (0 < self.rrf_k < math.inf, f"rrf_k must be above 0, got {self.rrf_k}"),
            (tokens is None or tokens > 0, f"question_tokens must be above 0, got {tokens}"),
            (-1 <= low < high <= 1, f"agreement must be two rising correlations, got {self.agreement}"),
            (self.overlap < self.max_words, f"overlap ({self.overlap}) must be below max_words ({self.max_words})"),
            (self.pool >= self.top_k, f"pool ({self.pool}) must be at least top_k ({self.top_k})"),
            (self.mmr_pool >= self.top_k, f"mmr_pool ({self.mmr_pool}) must be at least top_k ({self.top_k})"),
        ]
        for holds, message in checks:
            if not holds:
                raise InputError(message)

    @property
    def cut(self):
        """How documents are cut into passages: (max_words, overlap, max_passages), or None for whole documents."""
        return (self.max_words, self.overlap, self.max_passages) if self.chunking else None

    @property
    def weights(self):
        """Weight of each list before the length of a query counts; BM25 lists share one."""
        bm25 = [name.startswith("bm25") for name in self.lists]
        return [1 / sum(bm25) if one else 1.0 for one in bm25]

    def trust(self, tokens):
        """How far anything but the very words of queries of so many tokens is believed, in [0, 1]."""
        tokens = np.maximum(np.asarray(tokens), 1)
        if self.question_tokens is None or "bm25" not in self.lists:
            return np.ones(tokens.shape)
        trust = np.minimum(1.0, self.question_tokens / tokens)
        return np.where(trust < LEAST_TRUST, 0.0, trust)


def named(system):
    """Give what readers call a system; one of the user's own keeps its name."""
    return NAMES.get(system, system)


def config_for(mode, **settings):
    """Settings of a named system; what the mode changes wins."""
    check_choice("mode", mode, tuple(MODES))
    changes, _ = MODES[mode]
    for name in settings:
        check_choice("setting", name, tuple(field.name for field in fields(PipelineConfig)))
    return PipelineConfig(**{**settings, **changes})
