"""A corpus on disk is searched by the whole pipeline, with ids and scores of one in memory."""

from concurrent.futures import Executor, Future

import numpy as np
import pandas as pd
import pytest
from small_retrieval import HashingEncoder

from casebook.errors import InputError
from casebook.retrieval import search
from casebook.retrieval.encoded import EncodedCorpus, encode_corpus
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import MODES

PASSAGES = {"max_words": 20, "overlap": 6, "max_passages": 5}
CUT = {**PASSAGES, "passages_from": 0}
SYSTEMS = [mode for mode in MODES if mode != "bm25_chunked"]
FILTERS = {"year": {"gt": 2010}, "source": "act"}


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


def on_disk(documents, folder, encoder, size=50, client=None):
    """Encode documents in shards of a size; give their index."""
    encode_corpus(documents, encoder, folder, size, client, tuple(PASSAGES.values()))
    return EncodedCorpus(folder, encoder)


def check_same(one, stored, queries, mode, treatment=None, **options):
    """Compare all stages, and the first hits, of one system on two indexes."""
    expected, result = (
        HybridRetriever(index, mode=mode, **CUT, **treatment or {}).retrieve_many(
            queries, **options
        )
        for index in (one, stored)
    )
    names = [str(number) for number in range(len(queries))]
    assert list(result.stages) == list(expected.stages)
    for stage in expected.stages:
        assert result.run(names, stage) == expected.run(names, stage), (mode, stage)
    np.testing.assert_array_equal(result.passages, expected.passages)
    for row in (0, 3):
        assert repr(result.hits(row)) == repr(expected.hits(row))


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.faults), 7])
def indexes(request, tmp_path_factory):
    """Give an index in memory and one on disk, whose vectors are compared in 1 or 7 blocks."""
    documents, queries = made_collection(630)
    one = CorpusIndex(documents, HashingEncoder())
    stored = on_disk(documents, tmp_path_factory.mktemp("encoded"), HashingEncoder(), 100)
    with pytest.MonkeyPatch.context() as patch:
        size = -(-stored.contents["passages"] // request.param)
        patch.setattr(search, "_SCORES_AT_ONCE", size * len(queries))
        yield one, stored, queries


def test_every_stage_is_that_of_an_index_in_memory(indexes):
    one, stored, queries = indexes
    rng = np.random.default_rng(0)
    pools = [rng.choice(one.doc_ids, 30, replace=False).tolist() for _ in queries]
    for mode in SYSTEMS:
        check_same(one, stored, queries, mode)
        check_same(one, stored, queries, mode, filters=FILTERS)
        check_same(one, stored, queries, mode, candidates=pools, filters={"year": {"lt": 2020}})


@pytest.mark.faults
def test_twenty_thousand_documents_with_ties_are_ranked_in_exact_order(tmp_path):
    """A fifth of the documents are copies of others, so that whole blocks of a list are ties."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{n}" for n in range(2000)])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(16_000)]
    texts += [texts[place] for place in rng.integers(0, 400, 4000)]
    documents = pd.DataFrame({"doc_id": [f"d{n}" for n in range(20_000)], "text": texts})
    queries = texts[:6] + [" ".join(rng.choice(words, 3)) for _ in range(4)]
    one = CorpusIndex(documents, HashingEncoder())
    stored = on_disk(documents, tmp_path, HashingEncoder(), None, SlotsHere(7))
    assert stored.contents["shards"] == 7
    for mode in ("bm25", "dense", "fused"):
        check_same(one, stored, queries, mode, depth=100)
    lists = HybridRetriever(one, mode="bm25").retrieve_many(queries[:1]).stages["bm25"]
    assert (np.diff(lists.scores[0]) == 0).sum() > 5


class SlotsHere(Executor):
    """Workers that are none: the work is done where it is asked for."""

    def __init__(self, slots):
        self.slots = lambda: slots

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


class Interrupted(Exception):
    """How an encoder ends in the middle."""


class CountingEncoder(HashingEncoder):
    """Encoder that counts its calls, and ends before one."""

    def __init__(self, last=10_000):
        self.calls = 0
        self.last = last

    def encode_documents(self, texts):
        if len(texts) > 1:  # a single one tells the dimensions
            if self.calls == self.last:
                raise Interrupted
            self.calls += 1
        return super().encode_documents(texts)


def test_an_interrupted_encoding_goes_on_and_a_reader_keeps_what_it_opened(tmp_path):
    documents, queries = made_collection(200)
    with pytest.raises(Interrupted):
        on_disk(documents, tmp_path, CountingEncoder(2))
    with pytest.raises(InputError, match="not encoded to its end"):
        EncodedCorpus(tmp_path)
    encoder = CountingEncoder()
    before = on_disk(documents, tmp_path, encoder)
    assert encoder.calls == before.contents["shards"] - 2 > 2
    check_same(CorpusIndex(documents, encoder), before, queries, "full")
    # Other texts: until they are encoded to their end the former ones are searched.
    others = documents.assign(text=["w1 newword", *documents["text"][1:]])
    with pytest.raises(Interrupted):
        on_disk(others, tmp_path, CountingEncoder(3))
    check_same(CorpusIndex(documents, encoder), EncodedCorpus(tmp_path, encoder), queries, "full")
    encoder = CountingEncoder()
    after = on_disk(others, tmp_path, encoder)
    assert encoder.calls == after.contents["shards"] - 3
    check_same(CorpusIndex(others, encoder), after, [*queries, "newword"], "full")
    check_same(CorpusIndex(documents, encoder), before, queries, "full")
    assert list(tmp_path.glob("files-*")) == [after.folder]
    encoder.model_hash = "1" * 64
    with pytest.raises(InputError, match="was encoded by another model than 'hashing'"):
        HybridRetriever(EncodedCorpus(tmp_path, encoder), **CUT).retrieve("w1")


def test_a_file_that_is_missing_or_changed_is_named_and_written_again(tmp_path):
    documents, queries = made_collection(100)
    stored = on_disk(documents, tmp_path, HashingEncoder())
    one = CorpusIndex(documents, HashingEncoder())
    names = [*stored.contents["files"], "vectors.npy"]
    assert len(names) > 15
    for name in names:
        path = stored.folder / name
        whole = path.read_bytes()
        for damaged in (None, whole[:-3], whole[:-9] + b"!" + whole[-8:]):
            path.unlink(missing_ok=True)
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(InputError, match="gone, or changed since") as caught:
                EncodedCorpus(tmp_path)
            assert str(path) in str(caught.value)
            encoder = CountingEncoder()
            again = on_disk(documents, tmp_path, encoder)
            n_shards = again.contents["shards"]
            expected = 0
            if name.startswith("shards"):
                expected = 1
            elif name == "vectors.npy":
                expected = 1 if damaged and len(damaged) == len(whole) else n_shards
            assert encoder.calls == expected, (name, damaged and len(damaged))
        if name == "vectors.npy":
            assert path.read_bytes() == whole
    check_same(one, EncodedCorpus(tmp_path, HashingEncoder()), queries, "full")


def test_the_shard_that_is_damaged_is_named(tmp_path):
    documents, _ = made_collection(100)
    path = on_disk(documents, tmp_path, HashingEncoder()).folder / "vectors.npy"
    vectors = np.load(path, mmap_mode="r+")
    vectors[57, 3] += 1
    vectors.flush()
    with pytest.raises(InputError, match=rf"{path}: shard 50-100 is gone, or changed"):
        EncodedCorpus(tmp_path)
