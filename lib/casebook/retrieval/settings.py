"""Settings of the pipeline, checked once, and the named systems of the ablation.

The systems stand in ``systems.yml``.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import Field, NonNegativeInt, PositiveInt

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.plugins import is_plugin
from casebook.readers import read_yaml
from casebook.retrieval.rerank import CROSS_ENCODER, LATE_INTERACTION
from casebook.retrieval.search import PRESETS
from casebook.stats.samples import check_choice

_SYSTEMS = read_yaml(Path(__file__).with_name("systems.yml"))
#: Systems by key: what each changes in the settings, and what it is.
MODES = {key: (row.get("settings", {}), row["about"]) for key, row in _SYSTEMS.items()}
#: What readers call the systems.
SYSTEM_NAMES = {key: row["name"] for key, row in _SYSTEMS.items()}
SYSTEM_NAMES["full_tuned"] = "Full pipeline, tuned"
#: What a sentence calls them.
SYSTEM_PHRASES = {key: row.get("phrase", row["name"]) for key, row in _SYSTEMS.items()}
SYSTEM_PHRASES["full_tuned"] = "the tuned pipeline"
#: Collections by key on which the rules of the full pipeline were chosen.
CHOSEN_ON = _SYSTEMS["full"]["chosen_on"]
#: Systems of one list and one search, which every other has to beat.
SIMPLE = ("bm25", "bm25_cut", "bm25_stemmed", "bm25_chunked", "dense", "dense_chunked")
#: Systems without a reranker, which the full pipeline has to beat.
UNRERANKED = (*SIMPLE, "rrf", "rrf_chunked", "fused", "fused_mmr")
#: The full pipeline, and the systems that differ from it in one stage.
ONE_STAGE = (
    "full",
    "fused",
    "with_mmr",
    "no_chunking",
    "weighted_sum",
    "reranker_only",
)
#: COUNTERCASE's combination, which has a reranker.
DOCUMENTED = ("documented", "documented_rrf")
#: The full pipeline with all words of a query, which a chapter compares on its own.
QUERY_TREATMENTS = ("query_whole",)
# Below this weight, encoding a collection would take minutes and change next to nothing.
_SMALLEST_WEIGHT = 0.07

Proportion = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Correlation = Annotated[float, Field(ge=-1, le=1)]
ListName = Literal["bm25", "bm25_stemmed", "dense", "random", "constant"]
Lists = Annotated[tuple[ListName, ...], Field(min_length=1, strict=False)]
Bounds = Annotated[tuple[Correlation, Correlation], Field(strict=False)]


class PipelineConfig(pydantic.BaseModel):
    """Settings of one retrieval system; None switches a rule off."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)

    top_k: PositiveInt = 10
    lists: Lists = ("bm25", "bm25_stemmed", "dense")
    fusion: Literal["standardised", "rrf", "weighted_sum"] = "standardised"
    rrf_k: Positive = 20
    question_tokens: Positive | None = 64  # from which on a query counts as long
    # What BM25 reads of a query: its best words by idf and frequency, where documents average so
    # many words.
    query_words: PositiveInt | None = 80
    query_words_from: NonNegativeInt = 256
    pool: PositiveInt = 50  # documents of each list that are fused
    mmr: bool = False
    mmr_lambda: Proportion = 0.7
    # Relevance in marginal relevance: the fused scores of a query, scaled, or cosines with it.
    mmr_relevance: Literal["fused", "similarity"] = "fused"
    # Documents that the reranker reads; marginal relevance keeps as many.
    mmr_pool: PositiveInt = 50
    # Or cross-encoder:NAME, module:object.
    reranker: str | None = LATE_INTERACTION
    # Longest query in words that late interaction reranks; None: all.
    rerank_words: PositiveInt | None = 100
    # Tokens of a query that late interaction reads, the rarest ones; None: all.
    rerank_tokens: PositiveInt | None = 128
    # Share of the fused score in the final one.
    first_stage_weight: Annotated[float, Field(ge=0, lt=1)] = 1 / 3
    # Correlations with the encoder at which the weight of the reranker begins to rise, and is full.
    agreement: Bounds | None = (0.5, 0.8)
    chunking: bool = True
    # Documents are cut into passages where their median has at least so many words.
    passages_from: NonNegativeInt = 200
    max_words: PositiveInt = 130
    overlap: NonNegativeInt = 40
    max_passages: PositiveInt | None = 16  # the most central ones of a long document
    bm25_chunks: bool = False
    bm25_preset: Literal[tuple(PRESETS)] = "default"
    seed: NonNegativeInt = 0

    def __init__(self, **settings):
        try:
            super().__init__(**settings)
        except pydantic.ValidationError as error:
            raise InputError(first_problem(error)) from error

    @pydantic.field_validator("reranker")
    @classmethod
    def _check_reranker(cls, name):
        if name is None or is_plugin(name):
            return name
        if name.removeprefix(CROSS_ENCODER) in ("", name):
            check_choice(
                "reranker", name, (LATE_INTERACTION, f"{CROSS_ENCODER}NAME", None)
            )
        return name

    @pydantic.model_validator(mode="after")
    def _check_consistency(self):
        low, high = self.agreement or (0, 1)
        checks = {
            "lists must be distinct": len(set(self.lists)) == len(self.lists),
            "agreement must be two rising correlations": low < high,
            "overlap must be below max_words": self.overlap < self.max_words,
            "pool and mmr_pool must be at least top_k": min(self.pool, self.mmr_pool)
            >= self.top_k,
        }
        for rule, holds in checks.items():
            if not holds:
                raise ValueError(rule)
        return self

    @property
    def cut(self):
        """Passages as (max_words, overlap, max_passages); None for whole documents."""
        return (
            (self.max_words, self.overlap, self.max_passages) if self.chunking else None
        )

    @property
    def late_interaction(self):
        """Whether the reranker compares the tokens of the query with those of documents."""
        return self.reranker == LATE_INTERACTION

    @property
    def compares_vectors(self):
        """Whether stages after fusion compare documents with the query by their vectors."""
        return self.mmr or self.reranker is not None

    @property
    def uses_encoder(self):
        return "dense" in self.lists or self.compares_vectors

    def words_read(self, mean_words):
        """Most words that BM25 reads of a query in a collection of this mean length, or None."""
        return self.query_words if mean_words >= self.query_words_from else None

    def semantic_weight(self, tokens):
        """Weight of semantic evidence by length of the query, in [0, 1]; that of words is 1."""
        tokens = np.maximum(np.asarray(tokens), 1)
        if self.question_tokens is None or "bm25" not in self.lists:
            return np.ones(tokens.shape)
        weight = np.minimum(1.0, self.question_tokens / tokens)
        return np.where(weight < _SMALLEST_WEIGHT, 0.0, weight)


def config_for(mode, **settings):
    check_choice("mode", mode, tuple(MODES))
    changes, _ = MODES[mode]
    return PipelineConfig(**{**settings, **changes})
