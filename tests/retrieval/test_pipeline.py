"""Whole systems: every mode, filters, candidates, controls and attribution."""

import numpy as np
import pandas as pd
import pytest
from casebook.retrieval.stages import Request, first_stage_list
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_retrieval import CHUNKS, QUERIES, READS, retriever

from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.ranked import from_scores, metadata_mask
from casebook.retrieval.settings import MODES, PipelineConfig


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_returns_distinct_documents_in_strict_order(index, mode):
    result = retriever(index, mode).retrieve_many(QUERIES)
    for row in range(len(QUERIES)):
        hits = result.hits(row)
        names = [hit.doc_id for hit in hits]
        assert len(set(names)) == len(names) <= 10
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        if mode in READS:
            assert len(hits) == 10
    filled = result.final.scores[result.final.ids >= 0]
    assert np.isfinite(filled).all()
    for row, length in enumerate(result.final.lengths):
        assert (np.diff(result.final.scores[row, :length]) < 0).all()


@pytest.mark.parametrize("mode", READS)
def test_everything_is_ranked_when_asked_for(index, mode):
    final = retriever(index, mode).retrieve_many(QUERIES, depth=1000).final
    assert (np.sort(final.ids, axis=1) == np.arange(40)).all()


@pytest.mark.parametrize("mode", MODES)
@given(
    low=st.integers(1999, 2041),
    width=st.integers(0, 41),
    sources=st.sets(st.sampled_from(["act", "policy"])),
    k=st.integers(1, 45),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_hit_satisfies_the_filter(index, mode, low, width, sources, k):
    filters = {"year": {"gte": low, "lte": low + width}}
    if sources:
        filters["src"] = sources
    allowed = metadata_mask(index.documents, filters)
    system = retriever(index, mode)
    result = system.retrieve_many(QUERIES[:2], k, filters)
    for name, lists in result.stages.items():
        ids = lists.ids[lists.ids >= 0]
        assert allowed[ids].all(), name
    for row in range(2):
        hits = result.hits(row)
        assert all(low <= hit.metadata["year"] <= low + width for hit in hits)
        if mode in READS:
            assert len(hits) == min(k, allowed.sum())


@pytest.mark.parametrize("mode", MODES)
def test_candidate_pools_are_ranked_whole(index, mode):
    pools = [["d3", "d7", "d11"], ["d0"], [], [f"d{i}" for i in range(40)]]
    result = retriever(index, mode).retrieve_many(QUERIES, candidates=pools)
    for row, pool in enumerate(pools):
        found = result.final.ids[row]
        assert {f"d{i}" for i in found if i >= 0} == set(pool)
    for lists in result.stages.values():
        assert set(lists.ids[1]) <= {0, -1}
        assert set(lists.ids[2]) <= {-1}


def test_candidates_and_filter_both_hold(index):
    result = retriever(index).retrieve_many(["sue"], filters={"year": 2003}, candidates=[["d3", "d4"]])
    assert result.final.ids[0, 0] == 3
    assert result.final.lengths.tolist() == [1]


@pytest.mark.parametrize("mode", MODES)
def test_one_query_gets_what_it_gets_among_many(index, mode):
    system = retriever(index, mode)
    many = system.retrieve_many(QUERIES)
    for row, query in enumerate(QUERIES):
        assert system.retrieve(query) == many.hits(row)


def test_results_do_not_depend_on_what_was_built_before(index, collection, hashing):
    fresh = HybridRetriever(collection, hashing, **CHUNKS).retrieve_many(QUERIES)
    shared = retriever(index).retrieve_many(QUERIES)
    np.testing.assert_array_equal(fresh.final.ids, shared.final.ids)
    for stage in fresh.stages:
        np.testing.assert_array_equal(fresh.stages[stage].scores, shared.stages[stage].scores)


def test_single_list_modes_are_the_lists_themselves(index, hashing):
    result = retriever(index, "dense").retrieve_many(QUERIES)
    vectors = hashing.encode_documents(index.texts).astype(np.float64)
    scores = np.round(hashing.encode_queries(QUERIES) @ vectors.T, 12)
    np.testing.assert_array_equal(result.final.ids, from_scores(scores, 40).ids)
    assert list(result.stages) == ["dense", "fused", "final"]


def test_attribution_names_passage_metadata_and_every_stage(index, collection):
    hit = retriever(index).retrieve(QUERIES[0])[0]
    row = collection.set_index("doc_id").loc[hit.doc_id]
    assert hit.text == row["text"][hit.start : hit.end]
    assert hit.metadata["year"] == row["year"]
    stages = ["bm25", "bm25_stemmed", "dense", "fused", "mmr"]
    stages += ["rerank", "reranked", "final"]
    assert list(hit.scores) == list(hit.ranks) == stages
    assert hit.ranks["final"] == 1
    assert all(v is None or isinstance(v, float) for v in hit.scores.values())


def test_query_without_a_lexical_match(index):
    hits = retriever(index, "full").retrieve("zzz")
    assert len(hits) == 10
    assert {hit.scores["bm25"] for hit in hits} == {None}
    assert retriever(index, "bm25").retrieve("zzz") == []


def test_collection_smaller_than_k(hashing):
    frame = pd.DataFrame({"doc_id": ["a", "b"], "text": ["sue the court", ""]})
    for mode in READS:
        hits = HybridRetriever(frame, hashing, mode=mode).retrieve("sue")
        assert sorted(hit.doc_id for hit in hits) == ["a", "b"]


def test_duplicate_documents_are_both_returned_in_corpus_order(index):
    words = " ".join(index.texts[3].split()[:20])
    for mode in ("dense", "dense_chunked", "rrf", "no_mmr"):
        hits = retriever(index, mode).retrieve(words, top_k=2)
        assert [hit.doc_id for hit in hits] == ["d3", "d7"], mode


def test_controls_do_not_read_the_query(index):
    constant = retriever(index, "constant").retrieve_many(QUERIES).final.ids
    assert (constant == np.arange(40)).all()
    random = [retriever(index, "random", seed=s).retrieve_many(QUERIES) for s in (0, 1)]
    assert (random[0].final.ids != random[1].final.ids).any()
    assert (random[0].final.ids[0] != random[0].final.ids[1]).any()


def test_the_control_lists_are_what_their_names_say(index):
    """Equal scores in the collection's order, and an order drawn for each query."""
    queries = [f"question {number}" for number in range(400)]

    def listed(name):
        request = Request(queries, 40, None, np.ones(400))
        documents, passages = first_stage_list(index, PipelineConfig(), request, name)
        assert (passages == -1).all()
        return documents

    constant, random = listed("constant"), listed("random")
    assert (constant.scores == 0).all() and (constant.ids == np.arange(40)).all()
    assert (np.diff(random.scores, axis=1) < 0).all()
    assert (np.sort(random.ids, axis=1) == np.arange(40)).all()
    # Each document is as often in each place: 10 of 400, three standard errors.
    counts = np.stack([np.bincount(place, minlength=40) for place in random.ids.T])
    assert abs(counts[0] - 10).max() < 15 and 5 < counts.var() < 15
    first = (random.ids[:, :10] == 0).any(axis=1).mean()
    assert first == pytest.approx(0.25, abs=3 * (0.25 * 0.75 / 400) ** 0.5)


def test_run_lists_every_query(index):
    run = retriever(index, "bm25").retrieve_many(QUERIES).run(list("abcd"))
    assert list(run) == list("abcd")
    assert run["d"] == {}
    assert list(run["a"].values())[:2] == [1, 1 / 2]


def test_lists_can_be_empty_of_queries(index):
    result = retriever(index).retrieve_many([])
    assert result.final.shape[0] == 0
