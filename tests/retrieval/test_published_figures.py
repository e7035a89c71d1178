"""The packaged encoder on real data, against published figures and our own bars."""

import pytest

from casebook.data import load
from casebook.measures.ranking import evaluate
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever

pytestmark = [pytest.mark.data, pytest.mark.slow]


def means(dataset, index, mode, measures):
    queries = dataset.queries
    result = HybridRetriever(index, mode=mode).retrieve_many(queries["text"])
    run = result.run(queries["query_id"].tolist())
    return evaluate(dataset.qrels, run, measures).mean


def test_consumer_contracts_equals_the_public_leaderboard(require):
    """Source: embeddings-benchmark/results, LegalBenchConsumerContractsQA."""
    require("consumer_contracts_qa")
    dataset = load("consumer_contracts_qa")
    index = CorpusIndex(dataset.documents)
    dense = means(dataset, index, "dense", ["nDCG@10", "AP@10", "P@1", "RR@10"])
    assert dense["nDCG@10"] == pytest.approx(0.6560, abs=5e-5)
    assert dense["AP@10"] == pytest.approx(0.58825, abs=5e-6)
    assert dense["RR@10"] == pytest.approx(0.58825, abs=5e-6)
    assert dense["P@1"] == pytest.approx(0.45455, abs=5e-6)
    for mode, expected in {"bm25": 0.673, "bm25_stemmed": 0.711}.items():
        lexical = means(dataset, index, mode, ["nDCG@10"])
        assert lexical["nDCG@10"] == pytest.approx(expected, abs=5e-4)


def test_pdpabench(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    dataset = load("pdpabench_test")
    index = CorpusIndex(dataset.documents)
    # The full system first: its pass over the passages serves the other modes too.
    full = means(dataset, index, "full", ["nDCG@10"])
    assert full["nDCG@10"] >= 0.69
    dense = means(dataset, index, "dense", ["nDCG@10"])
    assert dense["nDCG@10"] == pytest.approx(0.622885, abs=5e-5)
    lexical = means(dataset, index, "bm25", ["nDCG@10"])
    assert lexical["nDCG@10"] == pytest.approx(0.504960, abs=5e-5)
