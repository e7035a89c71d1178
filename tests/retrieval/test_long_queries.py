"""Long queries and long documents: nothing is cut in silence, nothing costs hours."""

import numpy as np
import pandas as pd
import pytest

from casebook.datasets import load
from casebook.datasets.corpus import RetrievalDataset
from casebook.datasets.registry import resolve
from casebook.datasets.sources import Absent, present
from casebook.estimates import contrasts
from casebook.measures.ranking import evaluate
from casebook.models.rerankers import MaxSimReranker
from casebook.retrieval.ablation import retrieve
from casebook.retrieval.fuse import standardised_sum
from casebook.retrieval.index import MOST_WINDOWS, CorpusIndex, WindowedQueries
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.ranked import from_scores
from casebook.retrieval.settings import PipelineConfig

PARTS = ["bm25", "bm25_stemmed", "bm25_chunked", "dense", "dense_chunked", "rrf"]
PARTS += ["rrf_chunked", "reranker_only"]


def scores(data, systems, encoder=None, **settings):
    index = CorpusIndex(data.documents, encoder, remember_scores=True)
    columns = {}
    for name in systems:
        result = retrieve(data, HybridRetriever(index, mode=name, **settings))
        run = result.run(data.queries["query_id"])
        columns[name] = evaluate(data.qrels, run, ["nDCG@10"]).frame()["nDCG@10"]
    return pd.DataFrame(columns)


def losses(data, frame, system):
    """Parts that a system is significantly below."""
    groups = data.groups and [data.groups[query] for query in frame.index]
    rows = [contrasts(frame, [(system, p)], groups).iloc[0] for p in PARTS]
    return [row.against for row in rows if row.p <= 0.05 and row.difference < 0]


def halves(key):
    """The first half of each document asks for its second half."""
    texts = load(key).documents["text"].tolist()
    halves = [(text.split(), len(text.split()) // 2) for text in texts]
    asked = [row for row, (_, half) in enumerate(halves) if half >= 30]
    return RetrievalDataset(
        key=f"{key} halves",
        split="all",
        documents=pd.DataFrame(
            {
                "doc_id": [f"d{row}" for row in range(len(halves))],
                "text": [" ".join(words[half:]) for words, half in halves],
            }
        ),
        queries=pd.DataFrame(
            {
                "query_id": [f"q{row}" for row in asked],
                "text": [" ".join(halves[row][0][: halves[row][1]]) for row in asked],
            }
        ),
        qrels={f"q{row}": {f"d{row}": 1} for row in asked},
    )


def here(key):
    try:
        present(resolve(key)[0])
    except Absent:
        return False
    return True


@pytest.mark.parametrize("name", ["smoke", "insurance"])
def test_full_is_not_significantly_below_any_part_on_questions(name):
    data = load(name)
    frame = scores(data, ["full", *PARTS])
    assert losses(data, frame, "full") == []


@pytest.mark.parametrize("name", ["smoke", "insurance"])
def test_full_is_not_significantly_below_any_part_on_long_queries(name):
    data = halves(name)
    frame = scores(data, ["full", *PARTS])
    assert losses(data, frame, "full") == []


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not here("consumer_contracts_qa"), reason="the contracts are not here")
def test_the_same_weights_for_every_query_lose_where_full_does_not():
    data = halves("consumer_contracts_qa")
    frame = scores(data, ["full", "constant_weights", *PARTS])
    assert "rrf_chunked" in losses(data, frame, "constant_weights")
    # Short clauses are better read whole, which is another system than the full one.
    assert set(losses(data, frame, "full")) <= {"rrf"}


def test_what_stands_beyond_the_limit_of_the_encoder_is_read(hashing):
    head = " ".join(f"word{number}" for number in range(hashing.max_tokens - 2))
    tails = ["we ask: a bankrupt tenant", "we ask: a leaking roof"]
    queries = [head, *(f"{head} {tail}" for tail in tails)]
    cut, read = hashing, WindowedQueries(hashing)
    assert (cut.encode_queries(queries)[1] == cut.encode_queries(queries)[2]).all()
    vectors = read.encode_queries(queries)
    np.testing.assert_array_equal(vectors[0], cut.encode_queries(queries)[0])
    assert not np.allclose(vectors[1], vectors[2])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    parts = cut.encode_queries([head, tails[1]]).mean(axis=0)
    np.testing.assert_allclose(vectors[2], parts / np.linalg.norm(parts), atol=1e-6)
    texts = ["a bankrupt tenant", "a leaking roof"]
    lost, _ = MaxSimReranker(cut, texts).scores(queries[2:], [[0, 1]])
    found, _ = MaxSimReranker(read, texts).scores(queries[2:], [[0, 1]])
    assert found[0, 1] - found[0, 0] > lost[0, 1] - lost[0, 0]


def test_windows_of_one_query_are_bounded_and_span_it(hashing):
    seen = []

    class Spy(type(hashing)):
        def encode_queries(self, texts):
            seen.extend(texts)
            return self.encode_documents(texts)

    words = [f"word{number}" for number in range(5000)]
    WindowedQueries(Spy()).encode_queries([" ".join(words)])
    assert len(seen) == MOST_WINDOWS
    assert (seen[0].split()[0], seen[-1].split()[-1]) == (words[0], words[-1])


def test_trust_falls_with_length_and_needs_bm25():
    trust = PipelineConfig(question_tokens=64).trust([1, 64, 128, 640, 915])
    assert trust.tolist() == [1, 1, 1 / 2, 1 / 10, 0]
    assert (PipelineConfig(question_tokens=None).trust([9999]) == 1).all()
    assert (PipelineConfig(lists=("dense",)).trust([9999]) == 1).all()


def test_a_query_of_many_pages_is_left_to_bm25_and_nothing_is_encoded(collection):
    class Counts:
        """Counts tokens; whatever would encode is not there."""

        name, model_hash, max_tokens = "counts", "0" * 64, 64

        def count_tokens(self, texts):
            return np.array([len(text.split()) for text in texts])

    index = CorpusIndex(collection, Counts())
    query = " ".join(collection["text"].iloc[3].split() * 100)
    many = HybridRetriever(index).retrieve_many([query, query + " term5"])
    words = HybridRetriever(index, mode="bm25").retrieve_many([query, query + " term5"])
    np.testing.assert_array_equal(many.final.ids, words.final.ids)
    stages = ["bm25", "bm25_stemmed", "dense", "fused", "mmr", "rerank", "reranked"]
    assert list(many.stages) == [*stages, "final"]
    assert (many.stages["dense"].ids < 0).all()


def test_long_and_short_queries_together_rank_as_alone(index):
    queries = ["may a user cancel", "court sue " * 2000, "privacy data"]
    system = HybridRetriever(index, max_words=20, overlap=6)
    together = system.retrieve_many(queries)
    for row, query in enumerate(queries):
        assert system.retrieve(query) == together.hits(row)


def test_a_long_document_keeps_its_central_passages(hashing):
    about = "the lessee repudiated the tenancy agreement"
    texts = [" ".join([*(f"aside{n}" for n in range(60)), *[about] * 4, *(f"end{n}" for n in range(60))]), "short text"]
    index = CorpusIndex(pd.DataFrame({"doc_id": ["a", "b"], "text": texts}), hashing)
    settings = PipelineConfig(max_words=10, overlap=0, max_passages=3)
    kept = index.passages(settings)
    assert np.bincount(kept.owner).tolist() == [3, 1]
    assert any("tenancy agreement" in text for text in kept.texts)
    assert all(
        text == texts[owner][start:end]
        for text, owner, start, end in zip(kept.texts, kept.owner, kept.start, kept.end, strict=True)
    )
    whole = index.passages(settings.changed(max_passages=None))
    assert len(whole) > len(kept)


def test_standardised_sum_is_the_sum_of_z_scores():
    draw = np.random.default_rng(0)
    raw = draw.normal(5, 2, (2, 3, 30))  # lists, queries, documents
    weights = np.array([[1, 1, 0.5], [1, 0.25, 0]])
    lists = [from_scores(scores, 12) for scores in raw]
    fused = standardised_sum(lists, weights, pool=5, depth=12)
    for row in range(3):
        proposed = set(lists[0].ids[row, :5]) | set(lists[1].ids[row, :5])
        total = dict.fromkeys(proposed, 0.0)
        for scores, entry, weight in zip(raw, lists, weights, strict=True):
            held = dict(zip(entry.ids[row], entry.scores[row], strict=True))
            values = {d: held.get(d, entry.scores[row, -1]) for d in proposed}
            assert all(values[d] == scores[row, d] for d in proposed & set(held))
            mean, spread = np.mean([*values.values()]), np.std([*values.values()])
            for d, value in values.items():
                total[d] += weight[row] * (value - mean) / spread
        found = dict(zip(fused.ids[row], fused.scores[row], strict=True))
        assert sorted(total) == sorted(d for d in found if d >= 0)
        assert all(found[d] == pytest.approx(total[d], abs=1e-8) for d in total)
        assert next(d for d in found if d >= 0) == max(total, key=total.get)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not here("fire2017_irled"), reason="the judgments are not here")
def test_full_on_whole_judgments_is_bm25_in_seconds():
    data = load("fire2017_irled")
    frame = scores(data, ["full", "bm25"])
    assert (frame["full"] == frame["bm25"]).all()
    assert frame["full"].mean() == pytest.approx(0.318, abs=5e-4)
