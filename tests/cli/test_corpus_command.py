"""Encoding a collection on disk, and searching it, from the command line."""

import hashlib
import json

import numpy as np
import pytest
from cases import failing

from casebook.data.folders import read_collection, read_questions
from casebook.models.encoders import load_encoder
from casebook.paths import DATA
from casebook.retrieval.pipeline import HybridRetriever
from casebook.trec import read_run

SMOKE = DATA / "smoke"


@pytest.fixture
def encoded(tmp_path, casebook):
    """Give a small folder, its encoded corpus of two shards, and a function that searches it."""
    small = tmp_path / "small"
    small.mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        first = (SMOKE / name).read_text().splitlines(keepends=True)[:12]
        (small / name).write_text("".join(first))
    place = tmp_path / "corpus"
    assert casebook("corpus", "encode", small, "--out", place, "--shard-size", 6)[0] == 0

    def search(*options):
        return casebook("corpus", "search", place, small, *options)

    return small, search


def test_a_search_gives_the_run_of_an_index_in_memory(encoded, tmp_path):
    small, search = encoded
    for mode in ("bm25_stemmed", "dense_chunked", None):
        code, out, err = search(*([] if mode is None else ["--mode", mode]), "--k", 4)
        assert (code, err) == (0, "")
        (tmp_path / "run").write_text(out)
        encoder = load_encoder(cache=False)
        retriever = HybridRetriever(read_collection(small), encoder, mode=mode or "full")
        questions = read_questions(small).set_index("query_id")["text"]
        expected = retriever.retrieve_many([*questions], top_k=4, depth=4).run(questions.index)
        for query, scores in read_run(tmp_path / "run").items():
            best = dict(list(expected[query].items())[:4])
            assert list(scores) == list(best)
            assert scores == pytest.approx(best, abs=1e-6)


@pytest.mark.faults
def test_as_many_processes_as_asked_for_encode(encoded, tmp_path, casebook, monkeypatch):
    """Each writes its own shard, of the vectors that one process writes."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    small, _ = encoded
    place = tmp_path / "two"
    options = ["--workers", 2, "--threads", 1, "--json"]
    code, out, _ = casebook("corpus", "encode", small, "--out", place, *options)
    assert (code, json.loads(out)["shards"]) == (0, 2)
    assert len(list(place.glob("files-*/shards/*.sha256"))) == 2
    one, two = (np.load(next(tmp_path.glob(f"{name}/*/vectors.npy"))) for name in ("corpus", "two"))
    np.testing.assert_allclose(one, two, atol=1e-6)


REFUSED = [
    ("--filters", "part=2", "--filters: is not JSON"),
    ("--filters", '{"part": 1, "part": 2}', "key 'part' stands twice"),
    ("--filters", "[1]", "--filters: is no object of conditions"),
    ("--filters", '{"court": "Hull"}', "no column 'court'; columns: doc_id, "),
    ("--filters", '{"title": {"above": 2}}', "by 'above' with"),
    ("--filters", '{"title": "nope"}', "no document that satisfies the filters"),
    ("--mode", "bm25_chunked", "holds whole documents and passages of 130 words"),
    ("--mode", "nope", "choose from"),
]


def test_searches_that_make_no_sense_are_refused(encoded, tmp_path, refused):
    search = ("corpus", "search", tmp_path / "corpus", encoded[0], "--mode", "bm25")
    rows = [((*search, option, value), message) for option, value, message in REFUSED]
    assert failing(refused, rows) == []


def test_the_record_of_an_encoding_counts_and_hashes(tmp_path, casebook):
    """Documents, passages and dimensions (384: all-MiniLM-L6-v2), and the hash of each file."""
    folder = tmp_path / "three"
    folder.mkdir()
    texts = {"a": "Hail is covered.", "b": "Frost is not.", "c": " ".join(["Rain falls."] * 100)}
    rows = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    code, out, _ = casebook("corpus", "encode", folder, "--out", tmp_path / "made", "--json")
    found = json.loads(out)
    assert code == 0 and (found["documents"], found["dims"]) == (3, 384)
    assert found["passages"] > 3  # the third has 200 words, and a passage at most 130
    for name, digest in found["files"].items():
        (path,) = (tmp_path / "made").glob(f"*/{name}")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
