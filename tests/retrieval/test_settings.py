"""Settings and the named systems."""

import pytest

from casebook.errors import InputError
from casebook.retrieval.settings import (
    MODES,
    SIMPLE,
    UNRERANKED,
    PipelineConfig,
    config_for,
)


@pytest.mark.parametrize(
    "settings",
    [
        *(
            {"top_k": 0},
            {"top_k": 2.5},
            {"top_k": True},
            {"max_passages": 0},
            {"overlap": -1},
            {"seed": -1},
        ),
        *(
            {"mmr_lambda": 1.1},
            {"mmr_lambda": float("nan")},
            {"first_stage_weight": -0.1},
            {"first_stage_weight": 1},
        ),
        *(
            {"rrf_k": 0},
            {"rrf_k": float("inf")},
            {"question_tokens": 0},
            {"pool": 9},
            {"mmr_pool": 9},
        ),
        *({"agreement": (0.5, 0.5)}, {"agreement": (0, 1.1)}, {"max_words": 20, "overlap": 20}),
        *({"lists": ("bm25", "splade")}, {"lists": ()}, {"lists": ("bm25", "bm25")}),
        *({"fusion": "borda"}, {"reranker": "magic"}, {"reranker": "cross-encoder:"}),
        {"reranker": "./folder"},
        *({"bm25_preset": "best"}, {"lamda": 0.5}),
        *(
            {"query_words": 0},
            {"query_words": 2.5},
            {"query_words_from": -1},
        ),
        {"rerank_tokens": 0},
    ],
)
def test_bad_settings_are_one_clear_line_that_names_them(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}|preset|setting|list") as error:
        config_for("full", **settings)
    assert "\n" not in str(error.value)


def test_the_documented_combination_has_its_own_name():
    """COUNTERCASE: rank fusion (k = 20) of BM25 and passages, diversity (0.7), reranker."""
    config = config_for("documented")
    assert (config.lists, config.fusion, config.rrf_k) == (("bm25", "dense"), "rrf", 20)
    assert (config.mmr, config.mmr_lambda, config.reranker, config.chunking) == (
        True,
        0.7,
        "maxsim",
        True,
    )
    assert (config.question_tokens, config.agreement) == (None, None)
    assert (config.mmr_relevance, config.passages_from, config.rerank_words) == (
        "similarity",
        0,
        None,
    )
    assert config_for("documented_rrf") == config.model_copy(update={"mmr_relevance": "fused"})


def test_queries_are_cut_where_their_mean_length_is_as_long_as_said():
    config = config_for("full")
    read = [config.words_read(config.query_words_from + more) for more in (-1, 0)]
    assert read == [None, config.query_words]


def test_baselines_without_a_reranker_are_all_systems_that_have_none():
    without = {mode for mode in MODES if config_for(mode).reranker is None}
    assert set(UNRERANKED) == without - {"random", "constant"}
    assert set(SIMPLE) == {mode for mode in UNRERANKED if len(config_for(mode).lists) == 1}


def test_trust_falls_with_length_and_needs_bm25():
    trust = PipelineConfig(question_tokens=64).semantic_weight([1, 64, 128, 640, 915])
    assert trust.tolist() == [1, 1, 1 / 2, 1 / 10, 0]
    assert (PipelineConfig(question_tokens=None).semantic_weight([9999]) == 1).all()
    assert (PipelineConfig(lists=("dense",)).semantic_weight([9999]) == 1).all()
