"""A corpus in shards is searched by the whole pipeline, with ids and scores of one index."""

import functools
import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_retrieval import HashingEncoder, encode_vectors

from casebook.batch.cluster import Cluster
from casebook.data import load
from casebook.errors import InputError
from casebook.files import Store
from casebook.models.encoders import load_encoder
from casebook.retrieval.encoding import encode_corpus
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.search import EXPANSIONS, PRESETS, BM25Index
from casebook.retrieval.settings import MODES
from casebook.retrieval.sharded import ShardedIndex, search_folder
from casebook.retrieval.shards import DocumentEncoder, ShardStore

CUT = {"max_words": 20, "overlap": 6, "max_passages": 5}
SYSTEMS = [mode for mode in MODES if mode != "bm25_chunked"]
FILTERS = {"year": {"gt": 2010}, "source": "act"}


class RememberingEncoder(HashingEncoder):
    """The encoder of the tests, which hashes each word once."""

    def token_ids(self, texts):
        numbers = [[number_of(word) for word in text.split()] for text in texts]
        return [np.array(text, dtype=np.int64) for text in numbers]


@functools.cache
def number_of(word):
    digest = hashlib.sha256(word.lower().encode()).digest()
    return int.from_bytes(digest[:4]) % HashingEncoder.vocabulary_size


def made_collection(size):
    """Give documents of words with Zipf's frequencies: long ones, copies, one empty, metadata."""
    rng = np.random.default_rng(size)
    words = np.array([f"w{n}" for n in range(300)])
    share = 1 / np.arange(1, 301)
    share /= share.sum()
    rows = []
    for number in range(size):
        length = rng.integers(5, 40) if number % 40 else rng.integers(200, 400)
        text = " ".join(rng.choice(words, length, p=share))
        if number % 7 == 3 and number > 50:
            text = rows[number - 50]["text"]
        source = ("act", "policy", None)[number % 3]
        rows.append({"doc_id": f"d{number}", "text": text, "year": number % 30 + 1995})
        rows[-1] |= {"source": source, "tags": [number % 2]}
    rows[11]["text"] = ""
    rows[13]["text"] = "  Vertragsänderung § 5: “gekündigt” 契約解除 🙂 "
    queries = [" ".join(rng.choice(words, n, p=share)) for n in (1, 5, 40, 150) * 3]
    return pd.DataFrame(rows), [*queries, "契約解除 gekündigt", "zzz", "w1 w1 w2"]


def encoded(documents, place, encoder, size, client=None, **options):
    """Encode documents in shards of a size; give their index."""
    starts = range(0, len(documents), size)
    parts = (documents[start : start + size].reset_index(drop=True) for start in starts)
    store = ShardStore(place)
    encode_corpus(parts, DocumentEncoder(encoder), store, client, tuple(CUT.values()), **options)
    return ShardedIndex(store, encoder, client)


def check_same(one, sharded, queries, mode, **options):
    """Compare all stages, and the first hits, of one system on two indexes."""
    expected = HybridRetriever(one, mode=mode, **CUT).retrieve_many(queries, **options)
    result = HybridRetriever(sharded, mode=mode, **CUT).retrieve_many(queries, **options)
    names = [str(number) for number in range(len(queries))]
    assert list(result.stages) == list(expected.stages)
    for stage in expected.stages:
        assert result.run(names, stage) == expected.run(names, stage), (mode, stage)
    np.testing.assert_array_equal(result.passages, expected.passages)
    for row in (0, 3):
        assert repr(result.hits(row)) == repr(expected.hits(row))


@pytest.fixture(scope="module")
def made():
    documents, queries = made_collection(630)
    return documents, queries, CorpusIndex(documents, RememberingEncoder())


@pytest.fixture(scope="module", params=[1, 7])
def indexes(request, made, tmp_path_factory):
    """Give an index in memory and one in 1 or 7 shards."""
    documents, queries, one = made
    size = -(-len(documents) // request.param)
    sharded = encoded(documents, tmp_path_factory.mktemp("shards"), RememberingEncoder(), size)
    assert len(sharded.shards) == request.param
    return one, sharded, queries


@pytest.mark.parametrize("mode", SYSTEMS)
def test_every_stage_is_that_of_one_index(indexes, mode):
    one, sharded, queries = indexes
    check_same(one, sharded, queries, mode)
    check_same(one, sharded, queries, mode, filters=FILTERS)
    rng = np.random.default_rng(0)
    pools = [rng.choice(one.doc_ids, 30, replace=False).tolist() for _ in queries]
    check_same(one, sharded, queries, mode, candidates=pools, filters={"year": {"lt": 2020}})


TREATMENTS = [
    {"query_words": 4, "query_words_from": 1},
    *({"query_expansion": name} for name in EXPANSIONS),
    {"dense_scope": "mean"},
    {"dense_scope": "document", "rerank_tokens": 6},
]


@pytest.mark.parametrize("treatment", TREATMENTS, ids=str)
def test_queries_are_treated_as_by_one_index(indexes, treatment):
    one, sharded, queries = indexes
    for options in ({}, {"filters": FILTERS}):
        results = []
        for index in (one, sharded.with_encoder(RememberingEncoder())):
            retriever = HybridRetriever(index, **CUT, **treatment)
            results.append(retriever.retrieve_many(queries, **options))
        expected, result = results
        names = [str(number) for number in range(len(queries))]
        for stage in expected.stages:
            assert result.run(names, stage) == expected.run(names, stage), stage


def test_collection_and_filters_are_those_of_one_index(indexes):
    one, sharded, _ = indexes
    pd.testing.assert_frame_equal(sharded.documents, one.documents.drop(columns="text"))
    assert list(sharded.texts) == one.texts
    passages, expected = (index.passages(tuple(CUT.values())) for index in (sharded, one))
    assert list(passages.texts) == expected.texts
    assert np.bincount(expected.owner).max() == CUT["max_passages"]
    np.testing.assert_array_equal(passages.vectors[np.arange(len(passages))], expected.vectors)
    with pytest.raises(InputError, match="no column 'month'"):
        HybridRetriever(sharded, mode="bm25").retrieve("w1", filters={"month": 3})


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 7])
def test_twenty_thousand_documents(tmp_path, shards):
    documents, queries = made_collection(20_000)
    sharded = encoded(documents, tmp_path, RememberingEncoder(), -(-20_000 // shards))
    one = CorpusIndex(documents, RememberingEncoder())
    for mode in ("full", "with_mmr", "bm25", "dense"):
        check_same(one, sharded, queries, mode)
    check_same(one, sharded, queries, "full", filters=FILTERS)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 7])
def test_the_packaged_encoder(tmp_path, shards):
    """One text at a time: other texts in a batch alter the last places of a vector."""
    data = load("smoke")
    documents = data.documents[["doc_id", "text"]].head(40)
    documents = pd.concat([documents, documents.assign(doc_id="copy of " + documents["doc_id"])])
    encoder = load_encoder(cache=False, batch_size=1)
    sharded = encoded(documents, tmp_path, encoder, -(-len(documents) // shards))
    one = CorpusIndex(documents, encoder)
    queries = data.queries["text"].tolist()[:12]
    for mode in ("full", "dense_chunked", "dense"):
        check_same(one, sharded, queries, mode)


@settings(deadline=None, max_examples=30)
@given(
    texts=st.lists(st.text("ab é", min_size=1, max_size=12).map(lambda t: t + " aa"), min_size=1),
    size=st.integers(1, 9),
    preset=st.sampled_from(["default", "leaderboard"]),
)
def test_bm25_of_any_cut_is_that_of_one_index(tmp_path_factory, texts, size, preset):
    documents = pd.DataFrame({"doc_id": [str(n) for n in range(len(texts))], "text": texts})
    sharded = encoded(documents, tmp_path_factory.mktemp("store"), RememberingEncoder(), size)
    queries = ["aa ab", "ba ba aa", "bbb", "aaé aa"]
    lists = sharded.passages().bm25(preset).search(queries, 5)
    expected = BM25Index(texts, **PRESETS[preset]).search(queries, 5)
    np.testing.assert_array_equal(lists.ids, expected.ids)
    np.testing.assert_array_equal(lists.scores, expected.scores)


def test_clusters_miss_nothing_where_all_are_probed_and_little_where_some_are(made, tmp_path):
    documents, queries, one = made
    exact = encoded(documents, tmp_path, RememberingEncoder(), 210, clusters=8)
    names = [str(number) for number in range(len(queries))]

    def probed(probe, **options):
        index = ShardedIndex(tmp_path, RememberingEncoder(), probe=probe)
        retriever = HybridRetriever(index, mode="dense_chunked", **CUT)
        return retriever.retrieve_many(queries, depth=10, **options)

    for options in ({}, {"filters": FILTERS}):
        retriever = HybridRetriever(exact, mode="dense_chunked", **CUT)
        expected = retriever.retrieve_many(queries, depth=10, **options)
        shared = {}
        for probe in (1, 4, 8):
            result = probed(probe, **options)
            pairs = zip(result.final.ids, expected.final.ids, strict=True)
            shared[probe] = np.mean([len({*a} & {*b}) / 10 for a, b in pairs])
            # What is found has the score of exact search.
            scores = expected.run(names, "dense")
            for query, found in result.run(names, "dense").items():
                for document in found.keys() & scores[query].keys():
                    assert found[document] <= scores[query][document]
        assert 0.2 < shared[1] < shared[4] <= shared[8]
        np.testing.assert_allclose(
            result.stages["dense"].scores[:, :10],
            expected.stages["dense"].scores[:, :10],
            atol=1e-6,
        )
    check_same(one, exact, queries, "full")
    encoded(documents, tmp_path, RememberingEncoder(), 210)
    with pytest.raises(InputError, match="no clusters to probe"):
        ShardedIndex(tmp_path, RememberingEncoder(), probe=1)


def test_what_shards_do_not_hold_is_said(indexes):
    _, sharded, _ = indexes
    with pytest.raises(InputError, match="holds whole documents and passages of 20 words"):
        HybridRetriever(sharded).retrieve("w1")
    with pytest.raises(InputError, match="words of whole documents, not of passages"):
        HybridRetriever(sharded, bm25_chunks=True, **CUT).retrieve("w1")
    with pytest.raises(InputError, match="BM25 of the presets default, leaderboard, not okapi"):
        HybridRetriever(sharded, mode="bm25", bm25_preset="okapi_porter").retrieve("w1")


class Interrupted(Exception):
    """How an encoder ends in the middle."""


class CountingEncoder(RememberingEncoder):
    """Encoder that counts its calls, and ends before one."""

    def __init__(self, last=10_000):
        self.calls = 0
        self.last = last

    def encode_documents(self, texts):
        if self.calls == self.last:
            raise Interrupted
        self.calls += 1
        return super().encode_documents(texts)


def test_an_interrupted_encoding_goes_on_and_only_what_changes_is_encoded_again(tmp_path):
    documents, queries = made_collection(200)
    with pytest.raises(Interrupted):
        encoded(documents, tmp_path, CountingEncoder(2), 50)
    with pytest.raises(InputError, match="not encoded to its end"):
        ShardedIndex(tmp_path, RememberingEncoder())
    encoder = CountingEncoder()
    sharded = encoded(documents, tmp_path, encoder, 50)
    assert encoder.calls == 2
    files = set(Store(tmp_path).names())
    assert len(files) == 4 * 3 * 2 + 1
    # Other words in one document: idf of all lists changes, vectors of its shard alone.
    documents.loc[60, "text"] = "w1 newword"
    encoder = CountingEncoder()
    sharded = encoded(documents, tmp_path, encoder, 50)
    assert encoder.calls == 1
    assert len(set(Store(tmp_path).names()) & files) == len(files) - 2 * 3
    check_same(CorpusIndex(documents, encoder), sharded, [*queries, "newword"], "full")
    # Another long document: which passages of the others are central depends on its words.
    documents.loc[61, "text"] = " ".join(f"w{n % 7} w{n}" for n in range(250))
    sharded = encoded(documents, tmp_path, CountingEncoder(), 50)
    check_same(CorpusIndex(documents, encoder), sharded, queries, "full")


def test_a_file_that_is_missing_or_changed_is_named(tmp_path):
    documents, _ = made_collection(100)
    sharded = encoded(documents, tmp_path, RememberingEncoder(), 50)
    for part, end in (("documents", "bin"), ("passages", "bin"), ("vectors", "npy")):
        path = tmp_path / f"{sharded.shards[1][part]['name']}.{end}"
        whole = path.read_bytes()
        for damaged in (b"", whole[:-3], whole[:-9] + bytes(9), None):
            path.unlink(missing_ok=True)
            if damaged is not None:
                path.write_bytes(damaged)
            if damaged == whole:
                continue
            index = ShardedIndex(tmp_path, RememberingEncoder())
            with pytest.raises(InputError, match="gone, or changed") as caught:
                HybridRetriever(index, **CUT).retrieve("w1 w2")
            assert str(path) in str(caught.value)
        encoder = CountingEncoder()
        encoded(documents, tmp_path, encoder, 50)
        assert path.read_bytes() == whole and encoder.calls == (part == "vectors")


def test_a_list_of_vectors_alone_is_still_searched_by_dense(tmp_path):
    data = load("smoke")
    documents = data.documents
    encode = DocumentEncoder("minilm")
    store = ShardStore(tmp_path / "old")
    about = {"encoder": "minilm", "model": encode.weights_hash, "ids": list(documents["doc_id"])}
    encode_vectors(documents["text"].tolist(), encode, store, 40, metadata=about)
    folder = tmp_path / "questions"
    folder.mkdir()
    rows = data.queries[["query_id", "text"]].rename(columns={"query_id": "_id"}).head(5)
    lines = [json.dumps(row) for row in rows.to_dict("records")]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    run = search_folder(store.url, folder, 10, "dense")
    retriever = HybridRetriever(documents, encode.encoder, mode="dense")
    expected = retriever.retrieve_many(rows["text"].tolist(), top_k=10, depth=10)
    for query, scores in expected.run(rows["_id"], "dense").items():
        best = dict(list(scores.items())[:10])
        assert run[query] == pytest.approx(best, abs=1e-5)
    with pytest.raises(InputError, match=r"vectors of whole documents alone.*encode it again"):
        search_folder(store.url, folder, 10)


@pytest.mark.slow
def test_a_cluster_gives_the_files_and_lists_of_one_process(tmp_path):
    from distributed import Client, LocalCluster

    documents, queries = made_collection(300)
    encoded(documents, tmp_path / "here", RememberingEncoder(), 50)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as dask,
        Client(dask) as client,
    ):
        cluster = Cluster(client, dask.scheduler_address)
        sharded = encoded(documents, tmp_path / "there", RememberingEncoder(), 50, cluster)
        check_same(CorpusIndex(documents, RememberingEncoder()), sharded, queries, "full")
    for path in (tmp_path / "here").iterdir():
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()


@pytest.mark.slow
def test_an_object_store(object_store):
    documents, queries = made_collection(150)
    sharded = encoded(documents, f"{object_store}/corpus", RememberingEncoder(), 50)
    check_same(CorpusIndex(documents, RememberingEncoder()), sharded, queries, "full")
    name = f"{sharded.shards[2]['vectors']['name']}.npy"
    other = f"{object_store}/other"
    sharded = encoded(documents, other, RememberingEncoder(), 50)
    Store(other).write(name, bytes(100))
    with pytest.raises(InputError, match=f"{other}/{name}: gone, or changed"):
        HybridRetriever(sharded, **CUT).retrieve("w1")
