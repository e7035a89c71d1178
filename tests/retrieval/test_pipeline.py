"""Whole systems: every mode, filters, candidates, controls, attribution, and each stage."""

import numpy as np
import pandas as pd
import pytest
from small_retrieval import QUERIES, READS, retriever

from casebook.data.folders import with_titles
from casebook.errors import InputError
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.ranked import metadata_mask
from casebook.retrieval.settings import MODES


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
    assert np.isfinite(result.final.scores[result.final.ids >= 0]).all()
    for row, length in enumerate(result.final.lengths):
        assert (np.diff(result.final.scores[row, :length]) < 0).all()


@pytest.mark.parametrize(("mode", "k"), [*zip(MODES, [1, 7, 45] * 9, strict=False)])
def test_every_hit_satisfies_the_filter(index, mode, k):
    filters = {"year": {"gte": 2003, "lte": 2030}, "src": {"act"}}
    allowed = metadata_mask(index.documents, filters)
    result = retriever(index, mode).retrieve_many(QUERIES[:2], k, filters)
    for name, lists in result.stages.items():
        assert allowed[lists.ids[lists.ids >= 0]].all(), name
    for row in range(2):
        hits = result.hits(row)
        assert all(2003 <= hit.metadata["year"] <= 2030 for hit in hits)
        if mode in READS:
            assert len(hits) == min(k, allowed.sum())


@pytest.mark.parametrize("mode", MODES)
def test_candidate_pools_are_ranked_whole(index, mode):
    pools = [["d3", "d7", "d11"], ["d0"], [], [f"d{i}" for i in range(40)]]
    assert retriever(index, mode).retrieve_many([]).final.ids.shape[0] == 0
    result = retriever(index, mode).retrieve_many(QUERIES, candidates=pools)
    for row, pool in enumerate(pools):
        found = result.final.ids[row]
        assert {f"d{i}" for i in found if i >= 0} == set(pool)
    for lists in result.stages.values():
        assert set(lists.ids[1]) <= {0, -1}
        assert set(lists.ids[2]) <= {-1}
    both = retriever(index, mode).retrieve_many(
        QUERIES[:1], filters={"year": 2003}, candidates=[["d3", "d4"]]
    )
    assert (both.final.ids[0, 0], both.final.lengths[0]) == (3, 1)


@pytest.mark.parametrize("mode", MODES)
def test_one_query_gets_what_it_gets_among_many(index, mode):
    system = retriever(index, mode)
    many = system.retrieve_many(QUERIES)
    for row, query in enumerate(QUERIES):
        assert system.retrieve(query) == many.hits(row)


def test_a_hit_names_its_passage_and_metadata(index, collection):
    hits = retriever(index).retrieve(QUERIES[0])
    for hit in hits:
        row = collection.set_index("doc_id").loc[hit.doc_id]
        # Whole words: the passage is one of this document.
        assert f" {row['text']} "[hit.start : hit.end + 2] == f" {hit.text} "
        assert hit.metadata["year"] == row["year"]
    assert hits[0].rank == hits[0].scores["final"] == 1
    assert (retriever(index, "dense_chunked").retrieve_many(QUERIES).passages >= 0).all()


def test_passages_are_used_from_a_median_length_on(hashing):
    texts = pd.DataFrame({"doc_id": ["a", "b", "c"], "text": ["one two three"] * 3})
    systems = [HybridRetriever(texts, hashing, passages_from=n) for n in (3, 4)]
    assert [system.config.chunking for system in systems] == [True, False]


def test_the_control_lists_are_what_their_names_say(index):
    """Equal scores in the collection's order, and an order drawn for each query."""
    queries = [f"question {number}" for number in range(400)]

    def listed(name):
        result = HybridRetriever(index, mode=name).retrieve_many(queries)
        assert (result.passages == -1).all()
        return result.stages[name]

    constant, random = listed("constant"), listed("random")
    assert (constant.scores == 0).all() and (constant.ids == np.arange(40)).all()
    assert (np.diff(random.scores, axis=1) < 0).all()
    assert (np.sort(random.ids, axis=1) == np.arange(40)).all()
    # Each document is as often in each place: 10 of 400, three standard errors.
    assert (
        HybridRetriever(index, mode="random", seed=1).retrieve_many(queries).final.ids != random.ids
    ).any()
    counts = np.stack([np.bincount(place, minlength=40) for place in random.ids.T])
    assert abs(counts[0] - 10).max() < 15 and 5 < counts.var() < 15
    first = (random.ids[:, :10] == 0).any(axis=1).mean()
    assert first == pytest.approx(0.25, abs=3 * (0.25 * 0.75 / 400) ** 0.5)


def test_late_interaction_is_heard_as_far_as_it_agrees_and_the_query_is_short(index):
    """The final score by hand: z of the fused score, and weighted z of that of the reranker."""

    def z(values):
        return (values - values.mean()) / (values.std() or 1)

    system = retriever(index, question_tokens=8, agreement=(0.2, 0.9))
    result = system.retrieve_many(QUERIES[:2])
    passages = index.passages(system.config.cut)
    trust = system.config.semantic_weight(index.encoder.count_tokens(QUERIES[:2]))
    assert 0.3 < trust.min() < 1
    vectors = index.encoder.encode_queries(QUERIES[:2])
    for row in range(2):
        ids = result.stages["fused"].ids[row]
        own = [
            result.stages[name].scores_of(result.stages["fused"].ids)[row]
            for name in ("fused", "rerank")
        ]
        near = [
            np.max(passages.vectors[passages.owner == document] @ vectors[row]) for document in ids
        ]
        heard = np.clip((np.mean(z(np.array(near)) * z(own[1])) - 0.2) / 0.7, 0, 1)
        expected = z(own[0]) / 3 + 2 / 3 * trust[row] * heard * z(own[1])
        found = result.stages["reranked"].scores_of(result.stages["fused"].ids)[row]
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.retrieve(""), "query 0 is blank"),
        (lambda r: r.retrieve_many(["sue", "  "]), "query 1 is blank"),
        (lambda r: r.retrieve_many("sue"), "expected a list of texts"),
        (lambda r: r.retrieve("sue", top_k=0), "at least 1, got 0"),
        (lambda r: r.retrieve("sue", filters={"judge": "x"}), "no column 'judge'"),
    ],
)
def test_bad_requests_are_one_clear_line(index, call, message):
    with pytest.raises(InputError, match=message):
        call(retriever(index))


def test_marginal_relevance_by_similarity_picks_as_its_formula(index, hashing):
    """The document: lambda times the similarity, less the largest one with what was picked."""
    config = {"mmr": True, "mmr_pool": 12, "mmr_lambda": 0.4, "mmr_relevance": "similarity"}
    system = retriever(index, "full", chunking=False, reranker=None, **config)
    stages = system.retrieve_many(QUERIES[:2]).stages
    vectors = hashing.encode_documents(index.texts).astype(float)
    for row, query in enumerate(hashing.encode_queries(QUERIES[:2]).astype(float)):
        pool = [document for document in stages["fused"].ids[row].tolist() if document >= 0]
        picked = []
        while len(picked) < 12:
            left = [document for document in pool if document not in picked]
            redundancy = [max((vectors[d] @ vectors[p] for p in picked), default=0) for d in left]
            gain = 0.4 * (vectors[left] @ query) - 0.6 * np.array(redundancy)
            picked.append(left[int(np.argmax(gain))])
        assert stages["mmr"].ids[row].tolist() == picked


def test_words_of_titles_are_found_by_every_list(hashing):
    words = ["flood", "theft", "storm", "delay", "cancel", "refund", "court", "arbiter"]
    texts = [f"common words about clause {number}" for number in range(8)]
    documents = with_titles(pd.DataFrame({"doc_id": words, "title": words, "text": texts}))
    for mode in ("bm25", "dense", "dense_chunked", "full"):
        system = HybridRetriever(documents, hashing, mode=mode)
        assert [system.retrieve(word)[0].doc_id for word in words] == words
