"""Settings and the named systems."""

import pytest

from casebook.errors import InputError
from casebook.retrieval.settings import MODES, NAMES, PipelineConfig, config_for, named


@pytest.mark.parametrize(
    "settings",
    [
        *({"top_k": 0}, {"top_k": 2.5}, {"top_k": True}, {"max_passages": 0}, {"overlap": -1}, {"seed": -1}),
        *({"mmr_lambda": 1.1}, {"mmr_lambda": float("nan")}, {"first_stage_weight": -0.1}, {"first_stage_weight": 1}),
        *({"rrf_k": 0}, {"rrf_k": float("inf")}, {"question_tokens": 0}, {"pool": 9}, {"mmr_pool": 9}),
        *({"agreement": (0.5, 0.5)}, {"agreement": (0, 1.1)}, {"max_words": 20, "overlap": 20}),
        *({"lists": ("bm25", "splade")}, {"lists": ()}, {"lists": ("bm25", "bm25")}),
        *({"fusion": "borda"}, {"reranker": "magic"}, {"reranker": "cross-encoder:"}),
        *({"bm25_preset": "best"}, {"lamda": 0.5}),
    ],
)
def test_bad_settings_are_one_clear_line_that_names_them(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}|preset|setting|list") as error:
        config_for("full", **settings)
    assert "\n" not in str(error.value)


def test_settings_at_their_bounds_are_good():
    good = {"top_k": 5, "pool": 5, "mmr_pool": 5, "mmr_lambda": 1, "first_stage_weight": 0, "agreement": (-1, 1)}
    assert config_for("full", **good, overlap=0, max_words=1, max_passages=None, seed=0, question_tokens=0.1).top_k == 5


def test_unknown_mode_names_the_known_ones():
    with pytest.raises(InputError, match="unknown mode 'fulll': choose from full"):
        config_for("fulll")


def test_defaults_are_the_documented_ones():
    config = config_for("full")
    assert config == PipelineConfig()
    assert (config.rrf_k, config.pool, config.mmr_lambda, config.mmr_pool) == (20, 50, 0.7, 50)
    assert (config.max_words, config.overlap, config.max_passages, config.question_tokens) == (130, 40, 16, 64)
    assert (config.first_stage_weight, config.agreement, config.top_k) == (1 / 3, (0.5, 0.8), 10)


def test_the_mode_wins_over_settings_of_the_whole_ablation():
    shared = {"reranker": "maxsim-mean", "rrf_k": 60}
    assert config_for("full", **shared).reranker == "maxsim-mean"
    assert config_for("no_reranker", **shared).reranker is None
    assert config_for("no_reranker", **shared).rrf_k == 60


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


@pytest.mark.parametrize("name", ["cross-encoder/ms-marco-MiniLM-L6-v2", "./folder", "BAAI/bge-reranker-base"])
def test_a_model_as_reranker_needs_no_prefix(name):
    assert PipelineConfig(reranker=name) == PipelineConfig(reranker=f"cross-encoder:{name}")


def test_every_system_has_a_readers_name():
    assert {*MODES} <= {*NAMES} and len({*NAMES.values()}) == len(NAMES)
    assert named("bm25") == "BM25" and named("my.module:search") == "my.module:search"
