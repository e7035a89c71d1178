"""The ablation: scores, comparisons, tuning, published figures, items, manifests."""

import pandas as pd
import pytest

from casebook.data import load
from casebook.retrieval import ablation
from casebook.retrieval.ablation import run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.scores import Scores
from casebook.sentences import sentence
from casebook.verdicts import NOT_MEASURED


@pytest.fixture(scope="module")
def smoke():
    return load("smoke")


@pytest.fixture(scope="module")
def fast(smoke, hashing):
    """An index of the smoke collection that needs no model."""
    return CorpusIndex(smoke.documents, hashing)


@pytest.fixture(scope="module")
def study(smoke, fast):
    names = ("full", "bm25", "random")
    return run_ablation(
        smoke, {name: HybridRetriever(fast, mode=name, reranker=None) for name in names}
    )


def test_a_switch_that_changed_no_input_is_no_result(smoke, fast):
    """48 documents: marginal relevance drops none of them, so the reranker reads the same."""
    settings = {"full": {}, "with_mmr": {}, "fused": {}, "fused_mmr": {}, "tuned": {"mode": "full"}}
    systems = {
        name: HybridRetriever(fast, **{"mode": name} | own) for name, own in settings.items()
    }
    study = run_ablation(smoke, systems, ["nDCG@10"])
    pairs = [("with_mmr", "full"), ("tuned", "full"), ("fused_mmr", "fused"), ("full", "fused")]
    contrasts = Scores.of(study, "nDCG@10").contrasts(pairs)
    rows = contrasts.set_index("system")
    assert rows.loc[["with_mmr", "tuned"], "verdict"].tolist() == [NOT_MEASURED, NOT_MEASURED]
    assert rows.loc["with_mmr", "reason"] == "both read the same of these questions"
    assert rows.loc["tuned", "reason"] == "both are one system with these settings"
    assert rows.loc[["with_mmr", "tuned"], ["difference", "low", "high", "p"]].isna().all(axis=None)
    assert rows.loc[["fused_mmr", "full"], "difference"].notna().all()
    text = sentence(contrasts.iloc[0])
    assert "cannot be compared with" in text and ", because both read the same" in text


def test_two_encoders_with_the_same_settings_are_two_systems(smoke, fast):
    systems = {"ours": HybridRetriever(fast, mode="dense")}
    systems["theirs"] = HybridRetriever(CorpusIndex(smoke.documents, "minilm"), mode="dense")
    assert run_ablation(smoke, systems, ["nDCG@10"]).same_inputs([("ours", "theirs")]) == {}


def test_without_a_reranker_nothing_is_called_the_documented_combination(smoke, fast):
    named = ablation.systems(fast, smoke, reranker=None)
    assert not {"documented", "documented_rrf", "reranker_only"} & named.keys()
    assert ablation.systems(fast, smoke, rrf_k=60)["documented"].config.rrf_k == 20


def test_a_stage_keeps_the_share_of_relevant_documents_that_it_lists(study):
    kept = ablation.kept_by_stage(study, "full")
    recall = study.scores["R@10"]["full"].loc[kept.index]
    pd.testing.assert_series_equal(kept["First 10"], recall, check_names=False)
    assert (kept["Fused"] >= kept[["BM25", "Dense"]].max(axis=1)).all()
    assert list(ablation.kept_by_stage(study, "bm25")) == ["BM25", "Fused", "First 100", "First 10"]


# Half a unit of the last digit that each source prints.
PRINTED = {"consumer_contracts_qa": 5e-4, "pdpabench": 5e-7}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("key", PRINTED)
def test_published_figures_are_reproduced_to_the_digits_printed(key, mirror, monkeypatch, require):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    require(key)
    index = CorpusIndex(load(key).documents)
    figures = ablation.published_figures(key)
    figures = [figure for figure in figures if figure["kind"] == "reproduced"]
    assert sum(len(figure["values"]) for figure in figures) >= 5
    for figure in figures:
        systems = {"ours": HybridRetriever(index, **figure["settings"])}
        study = run_ablation(load(key, figure["split"]), systems, list(figure["values"]))
        for measure, value in figure["values"].items():
            ours = study.scores[measure]["ours"].mean()
            assert ours == pytest.approx(value, abs=PRINTED[key]), (figure, measure)


def test_the_cut_of_the_pipeline_is_a_baseline_where_documents_are_long(hashing):
    """The pipeline must not win by a cut that plain BM25 can make too."""
    words = [f"word{number}" for number in range(300)]
    texts = [" ".join(words), " ".join(words[:250] * 2), "word1 word2", " ".join(words[:200])]
    documents = pd.DataFrame({"doc_id": list("abcd"), "text": texts})
    long_documents = CorpusIndex(documents[:2], hashing)
    short_documents = CorpusIndex(documents[2:], hashing)
    question = " ".join(words[:200])
    beside = ablation.compared_systems(long_documents, [question])
    without = ablation.compared_systems(short_documents, [question])
    assert set(beside) - set(without) == {"bm25_cut"}
    assert ablation.compared_systems(long_documents, [question], query_words=None) == without
    assert ablation.compared_systems(long_documents, [" ".join(words[:80])]) == without
    compared = ablation.compared_systems(short_documents, [question], ["dense"])
    assert compared == ["full", "bm25", "dense", "random"]
    compared = ablation.compared_systems(long_documents, [question], [])
    assert compared == ["bm25", "bm25_cut", "random"]
    cut = HybridRetriever(long_documents, mode="bm25_cut").retrieve_many([question])
    full = HybridRetriever(long_documents).retrieve_many([question])
    assert cut.run(["q"], "bm25") == full.run(["q"], "bm25")
    whole = HybridRetriever(long_documents, mode="bm25").retrieve_many([question])
    assert cut.run(["q"], "bm25") != whole.run(["q"], "bm25")
