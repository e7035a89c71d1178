"""Chunks, fusion, marginal relevance and reranking, each by what it did."""

import numpy as np
import pandas as pd
import pytest
from small_retrieval import QUERIES, retriever

from casebook.errors import InputError
from casebook.retrieval import pipeline as costs
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever


def test_chunked_document_stands_at_its_best_chunk(index, hashing):
    result = retriever(index, "dense_chunked").retrieve_many(QUERIES[:2])
    passages = index.passages(result.config)
    similarity = hashing.encode_queries(QUERIES[:2]) @ hashing.encode_documents(passages.texts).T.astype(np.float64)
    assert len(passages) > len(index)
    for row in range(2):
        for hit in result.hits(row):
            own = np.flatnonzero(passages.owner == int(hit.doc_id[1:]))
            assert hit.scores["dense"] == pytest.approx(similarity[row, own].max(), abs=1e-6)
            assert hit.text == passages.texts[own[similarity[row, own].argmax()]]


def test_oversampling_finds_documents_hidden_by_long_ones(hashing):
    long = " ".join(["sue court"] * 400)
    texts = [long, *(f"word{i} clause" for i in range(12))]
    frame = pd.DataFrame({"doc_id": [f"x{i}" for i in range(13)], "text": texts})
    system = HybridRetriever(frame, hashing, mode="dense_chunked", pool=5, top_k=5)
    hits = system.retrieve("sue court", top_k=13)
    assert len({hit.doc_id for hit in hits}) == 13
    assert hits[0].doc_id == "x0"


def test_fusion_is_reciprocal_rank_fusion_of_the_lists(index):
    result = retriever(index, "rrf", pool=15).retrieve_many(QUERIES[:2])
    for row in range(2):
        for hit in result.hits(row):
            parts = [
                1 / (20 + hit.ranks[name])
                for name in ("bm25", "dense")
                if hit.ranks[name] is not None and hit.ranks[name] <= 15
            ]
            assert hit.scores["fused"] == pytest.approx(sum(parts))


def test_below_the_pool_the_list_goes_on_in_fused_order(index):
    system = retriever(index, pool=10, mmr_pool=10)
    result = system.retrieve_many(QUERIES[:1], top_k=30)
    fused = [i for i in result.stages["fused"].ids[0] if i >= 0]
    head = set(result.final.ids[0, :10])
    assert head == set(result.stages["reranked"].ids[0])
    rest = [i for i in fused if i not in head]
    assert result.final.ids[0, 10 : 10 + len(rest)].tolist() == rest
    assert len(result.hits(0)) == 30


def test_marginal_relevance_may_drop_and_the_reranker_only_permutes(index):
    result = retriever(index, mmr_pool=12, mmr_lambda=0.2).retrieve_many(QUERIES)
    stages = result.stages
    for row in range(len(QUERIES)):
        kept = set(stages["mmr"].ids[row])
        assert kept <= set(stages["fused"].ids[row])
        assert kept == set(stages["reranked"].ids[row]) == set(stages["rerank"].ids[row])
    assert stages["mmr"].scores[:, 0].tolist() == [0.2] * len(QUERIES)


def test_duplicates_are_pushed_down_by_marginal_relevance(index):
    def ranks(mode, **changes):
        hits = retriever(index, mode, top_k=40, **changes).retrieve(index.texts[3], top_k=40)
        return {hit.doc_id: hit.rank for hit in hits}

    wide = {"pool": 50, "mmr_pool": 50, "chunking": False}
    plain = ranks("rrf_chunked", **wide)
    diverse = ranks("no_reranker", mmr_lambda=0.1, **wide)
    assert (plain["d3"], plain["d7"]) == (1, 2)
    assert diverse["d3"] == 1
    assert diverse["d7"] > 10


def test_pass_through_keeps_the_order_and_scores_by_position(index):
    through = retriever(index, reranker="pass-through").retrieve_many(QUERIES)
    without = retriever(index, "no_reranker").retrieve_many(QUERIES)
    np.testing.assert_array_equal(through.final.ids, without.final.ids)
    assert through.stages["rerank"].scores[0, :3].tolist() == [1, 1 / 2, 1 / 3]


def test_reranker_alone_is_the_order_of_its_own_scores(index):
    result = retriever(index, "reranker_only").retrieve_many(QUERIES)
    np.testing.assert_array_equal(result.stages["rerank"].ids, result.stages["reranked"].ids)


def test_cross_encoder_reads_the_nearest_passage(index, monkeypatch):
    seen = {}

    class Longest:
        def __init__(self, name, texts):
            seen["name"], self.texts = name, texts

        def scores(self, queries, candidates):
            lengths = np.array([len(text) for text in self.texts])
            return np.where(candidates >= 0, lengths[candidates], -np.inf)

    monkeypatch.setattr("casebook.retrieval.index.CrossEncoderReranker", Longest)
    system = retriever(
        CorpusIndex(index.documents, index.encoder()), reranker="cross-encoder:some/model", first_stage_weight=0.0
    )
    hits = system.retrieve(QUERIES[0])
    sizes = [len(hit.text) for hit in hits]
    assert seen["name"] == "some/model"
    assert sizes == sorted(sizes, reverse=True)
    assert [hit.scores["rerank"] for hit in hits] == sizes


def test_second_encoder_gives_a_third_list(collection, hashing):
    system = HybridRetriever(collection, hashing, second_encoder=hashing, lists=["bm25", "dense", "dense2"])
    stages = system.retrieve_many(QUERIES).stages
    np.testing.assert_array_equal(stages["dense"].ids, stages["dense2"].ids)
    with pytest.raises(InputError, match="dense2 needs a second_encoder"):
        HybridRetriever(collection, hashing, lists=["bm25", "dense2"])


def test_wall_and_processor_time_stand_in_their_own_columns(monkeypatch):
    ticks = {"wall": 0.0, "processor": 100.0}
    monkeypatch.setattr(costs.time, "perf_counter", lambda: ticks["wall"])
    monkeypatch.setattr(costs, "cpu_seconds", lambda: ticks["processor"])
    clock = costs.StageClock()
    for wall, processor in ((5.0, 2.0), (1.0, 1.5)):
        with clock.stage("bm25"):
            ticks["wall"] += wall
            ticks["processor"] += processor
        ticks["processor"] += 50.0  # between stages: nobody's
    table = clock.table()
    assert table.loc["bm25", ["wall_s", "cpu_s"]].tolist() == [6.0, 3.5]
    with clock.stage("rerank"):
        ticks["processor"] += 3.0
    assert clock.table().loc["rerank", ["wall_s", "cpu_s"]].tolist() == [0.0, 3.0]


def test_costs_are_recorded_for_every_stage(index):
    found = retriever(index).retrieve_many(QUERIES).costs
    stages = ["filter", "encode queries", "index", "bm25", "bm25_stemmed", "dense"]
    assert found.index.tolist() == [*stages, "fusion", "mmr", "rerank"]
    assert (found >= 0).all().all()
    assert (np.diff(found["peak_mb"]) >= 0).all()
    assert found["peak_mb"].iloc[0] > 10
