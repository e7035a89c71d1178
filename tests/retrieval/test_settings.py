"""Settings and the named systems."""

import pytest

from casebook.errors import InputError
from casebook.retrieval.settings import MODES, PipelineConfig, config_for


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_k": 0}, "top_k must be a whole number >= 1, got 0"),
        ({"top_k": 2.5}, "top_k must be a whole number"),
        ({"top_k": True}, "top_k must be a whole number"),
        ({"mmr_lambda": 1.1}, r"mmr_lambda must be in \[0, 1\], got 1.1"),
        ({"mmr_lambda": float("nan")}, "mmr_lambda must be in"),
        ({"rrf_k": 0}, "rrf_k must be above 0, got 0"),
        ({"rrf_k": float("inf")}, "rrf_k must be above 0"),
        ({"pool": 5}, r"pool \(5\) must be at least top_k \(10\)"),
        ({"mmr_pool": 9}, r"mmr_pool \(9\) must be at least top_k"),
        ({"fusion": "borda"}, "unknown fusion 'borda': choose from standardised, rrf"),
        ({"reranker": "magic"}, "unknown reranker 'magic'"),
        ({"reranker": "cross-encoder:"}, "name the model"),
        ({"reranker": "some/model"}, "is named cross-encoder:some/model"),
        ({"lists": ("bm25", "splade")}, "unknown list 'splade'"),
        ({"lists": ()}, "lists must be distinct, at least one"),
        ({"lists": ("bm25", "bm25")}, "lists must be distinct"),
        ({"fusion_weights": (1,)}, "1 weights for 3 lists"),
        ({"question_tokens": 0}, "question_tokens must be above 0, got 0"),
        ({"agreement": (0.8, 0.5)}, "agreement must be two rising correlations"),
        ({"max_passages": 0}, "max_passages must be a whole number >= 1"),
        ({"bm25_preset": "best"}, "unknown BM25 preset 'best'"),
        ({"max_words": 20, "overlap": 20}, r"overlap \(20\) must be below max_words"),
        ({"first_stage_weight": 1}, "would ignore the reranker"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"lamda": 0.5}, "unknown setting 'lamda': choose from top_k"),
    ],
)
def test_bad_settings_are_one_clear_line(settings, message):
    with pytest.raises(InputError, match=message) as error:
        config_for("full", **settings)
    assert "\n" not in str(error.value)


def test_unknown_mode_names_the_known_ones():
    with pytest.raises(InputError, match="unknown mode 'fulll': choose from full"):
        config_for("fulll")


def test_defaults_are_the_documented_ones():
    config = config_for("full")
    assert config == PipelineConfig()
    assert (config.rrf_k, config.pool, config.mmr_lambda, config.mmr_pool) == (20, 50, 0.7, 50)
    assert (config.max_words, config.overlap, config.max_passages, config.question_tokens) == (130, 40, 16, 64)
    assert (config.first_stage_weight, config.agreement, config.top_k) == (1 / 3, (0.5, 0.8), 10)


def test_every_mode_is_valid_described_and_different():
    configs = {mode: config_for(mode) for mode in MODES}
    assert len(set(configs.values())) == len(MODES)
    assert all(text and "\n" not in text for _, text in MODES.values())


def test_the_mode_wins_over_settings_of_the_whole_ablation():
    shared = {"reranker": "maxsim-mean", "rrf_k": 60, "fusion_weights": (1, 1, 2)}
    assert config_for("full", **shared).reranker == "maxsim-mean"
    assert config_for("no_reranker", **shared).reranker is None
    assert config_for("no_reranker", **shared).rrf_k == 60
    assert config_for("bm25", **shared).fusion_weights is None


def test_names_in_parameters_are_understood():
    assert PipelineConfig(reranker="none").reranker is None
    assert PipelineConfig(lists="dense").lists == ("dense",)
    assert PipelineConfig(lists=["dense", "bm25"]).lists == ("dense", "bm25")
    assert PipelineConfig(reranker="cross-encoder:a/b").reranker == "cross-encoder:a/b"


def test_trust_falls_with_length_and_needs_bm25():
    trust = PipelineConfig(question_tokens=64).trust([1, 64, 128, 640, 915])
    assert trust.tolist() == [1, 1, 1 / 2, 1 / 10, 0]
    assert (PipelineConfig(question_tokens=None).trust([9999]) == 1).all()
    assert (PipelineConfig(lists=("dense",)).trust([9999]) == 1).all()
