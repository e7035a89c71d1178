"""Encoding a collection on disk, and searching it, from the command line."""

import json
import os
import time

import numpy as np
import pytest

from casebook.cli.corpus import _cluster
from casebook.data.folders import read_collection, read_questions
from casebook.models.encoders import load_encoder
from casebook.paths import DATA
from casebook.retrieval.encoded import CONTENTS, VECTORS, seal
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.search import DenseIndex
from casebook.trec import read_run

SMOKE = DATA / "smoke"
QRELS = SMOKE / "qrels" / "test.tsv"


def lines(name):
    return [json.loads(line) for line in (SMOKE / name).read_text().splitlines()]


def expected(depth):
    """Give what one index of all vectors finds, made here."""
    documents, questions = lines("corpus.jsonl"), lines("queries.jsonl")
    encoder = load_encoder(cache=False)
    # In the batches of the shards, which here hold whole documents.
    texts = [f"{d['title']} {d['text']}" for d in documents]
    parts = [texts[start : start + 20] for start in range(0, len(texts), 20)]
    vectors = np.concatenate([encoder.encode_documents(part) for part in parts])
    asked = encoder.encode_queries([question["text"] for question in questions])
    lists = DenseIndex(vectors).search(asked, depth)
    return {
        question["_id"]: {documents[i]["_id"]: s for i, s in zip(ids, row, strict=True)}
        for question, ids, row in zip(questions, lists.ids, lists.scores, strict=True)
    }


@pytest.mark.slow
def test_a_corpus_gives_the_run_of_one_index_and_evaluate_reads_it(tmp_path, casebook):
    corpus, run = tmp_path / "corpus", tmp_path / "run.trec"
    encode = ("corpus", "encode", SMOKE, "--out", corpus, "--shard-size", 20)
    code, out, _ = casebook(*encode, "--json")
    made = json.loads(out)
    assert code == 0 and made["shards"] == -(-made["documents"] // 20) > 1
    search = ("corpus", "search", corpus, SMOKE, "--mode", "dense", "--k", 10)
    code, out, _ = casebook(*search)
    assert code == 0
    lists = expected(10)
    counts = f"{len(lists)} queries, up to 10 documents each"
    assert casebook(*search, "--out", run)[:2] == (0, f"{run}: {counts}\n")
    assert out == run.read_text()
    assert {q: dict(row) for q, row in read_run(run).items()} == lists
    code, out, _ = casebook("evaluate", QRELS, run, "-m", "nDCG@10", "--json")
    assert code == 0 and json.loads(out)["measures"]["nDCG@10"]["mean"] > 0.5


def threads_of_libraries(seconds):
    """Give a process and the largest number of threads that a library of its computes with."""
    import threadpoolctl
    import torch

    time.sleep(seconds)  # for which another process is needed
    return os.getpid(), max(
        torch.get_num_threads(), *(pool["num_threads"] for pool in threadpoolctl.threadpool_info())
    )


@pytest.mark.slow
def test_more_than_one_worker_is_processes_of_one_thread_each(monkeypatch):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    with _cluster(2, None) as workers:
        answers = workers.gather([workers.submit(threads_of_libraries, 1) for _ in range(2)])
    pids = {pid for pid, _ in answers}
    assert len(pids) == 2 and os.getpid() not in pids
    assert [threads for _, threads in answers] == [1, 1]
    assert dict(os.environ) == before
    with _cluster(1, None) as workers:
        assert workers is None


@pytest.fixture
def encoded(tmp_path, casebook):
    """Give a small folder, its encoded corpus of two shards, and a function that searches it."""
    small = tmp_path / "small"
    small.mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        first = (SMOKE / name).read_text().splitlines(keepends=True)[:12]
        (small / name).write_text("".join(first))
    place = tmp_path / "corpus"
    encode = ("corpus", "encode", small, "--out", place, "--shard-size", 6)
    assert casebook(*encode)[0] == 0

    def search(*options):
        return casebook("corpus", "search", place, small, *options)

    return encode, place, search


@pytest.mark.parametrize("mode", [None, "bm25_stemmed", "dense_chunked", "documented"])
def test_a_search_gives_the_run_of_an_index_in_memory(encoded, tmp_path, mode):
    encode, _, search = encoded
    data = read_collection(encode[2]), read_questions(encode[2])
    code, out, err = search(*([] if mode is None else ["--mode", mode]), "--k", 4)
    assert (code, err) == (0, "")
    (tmp_path / "run").write_text(out)
    retriever = HybridRetriever(data[0], load_encoder(cache=False), mode=mode or "full")
    result = retriever.retrieve_many(data[1]["text"].tolist(), top_k=4, depth=4)
    stage = {"bm25_stemmed": "bm25", "dense_chunked": "dense"}.get(mode, "final")
    expected = result.run(data[1]["query_id"], stage)
    run = read_run(tmp_path / "run")
    assert set(run) == {query for query, scores in expected.items() if scores}
    for query, scores in run.items():
        best = dict(list(expected[query].items())[:4])
        assert list(scores) == list(best) and scores == pytest.approx(best, abs=1e-6)


FILTERS = {"part": {"gte": 2}, "kind": ["act", "policy"]}


def search_with_metadata(casebook, tmp_path):
    """Encode documents with metadata; give them, and a function that searches."""
    folder = tmp_path / "with_metadata"
    folder.mkdir()
    documents = lines("corpus.jsonl")[:12]
    for number, document in enumerate(documents):
        kind = ("act", "policy", "note")[number % 3]
        document["metadata"] = {"part": number % 4, "kind": kind}
    text = "".join(json.dumps(document) + "\n" for document in documents)
    (folder / "corpus.jsonl").write_text(text)
    questions = (SMOKE / "queries.jsonl").read_text().splitlines(keepends=True)[:5]
    (folder / "queries.jsonl").write_text("".join(questions))
    place = tmp_path / "shards"
    encode = ("corpus", "encode", folder, "--out", place, "--shard-size", 6)
    assert casebook(*encode)[0] == 0

    def search(*options):
        return casebook("corpus", "search", place, folder, *options)

    return folder, search


@pytest.mark.parametrize("mode", ["full", "bm25", "dense"])
def test_filters_give_the_run_of_an_index_in_memory(casebook, tmp_path, mode):
    folder, search = search_with_metadata(casebook, tmp_path)
    code, out, err = search("--mode", mode, "--filters", json.dumps(FILTERS))
    assert (code, err) == (0, "")
    (tmp_path / "run").write_text(out)
    documents, questions = read_collection(folder), read_questions(folder)
    retriever = HybridRetriever(documents, load_encoder(cache=False), mode=mode)
    result = retriever.retrieve_many(questions["text"].tolist(), filters=FILTERS)
    stage = "final" if mode == "full" else mode
    expected = result.run(questions["query_id"], stage)
    run = {query: dict(scores) for query, scores in read_run(tmp_path / "run").items()}
    assert run == {
        query: pytest.approx(scores, abs=1e-6) for query, scores in expected.items() if scores
    }
    allowed = documents["part"].ge(2) & documents["kind"].isin(["act", "policy"])
    names = set(documents.loc[allowed, "doc_id"])
    assert set().union(*run.values()) <= names
    assert mode == "bm25" or all(scores.keys() == names for scores in run.values())


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ("part=2", "--filters: is not JSON"),
        ('{"part": 1, "part": 2}', "key 'part' stands twice"),
        ("[1]", "--filters: is no object of conditions"),
        ("{}", "--filters: is no object of conditions"),
        ('{"court": "Hull"}', "no column 'court'; columns: doc_id, "),
        ('{"part": {"above": 2}}', "no operator 'above'"),
        ('{"part": {"gte": "two"}}', "cannot compare its values with 'two'"),
        ('{"part": 9}', "holds no document that satisfies the filters"),
    ],
)
def test_filters_that_make_no_sense_are_refused(casebook, tmp_path, filters, message):
    _, search = search_with_metadata(casebook, tmp_path)
    code, out, err = search("--mode", "bm25", "--filters", filters)
    assert (code, out) == (1, "") and err.count("\n") == 1 and message in err


def changed(place, **changes):
    """Write other contents of a corpus."""
    path = place / CONTENTS
    contents = json.loads(path.read_text()) | changes
    del contents["seal"]
    path.write_text(json.dumps(contents | {"seal": seal(contents)}))


def test_systems_that_are_not_there_are_refused_and_words_need_no_model(encoded):
    _, place, search = encoded
    code, out, err = search("--mode", "bm25_chunked")
    assert (code, out) == (1, "") and "holds whole documents and passages of 130 words" in err
    code, out, err = search("--mode", "nope")
    assert (code, out) == (1, "") and "choose from" in err
    run = search("--mode", "bm25")
    changed(place, model="0" * 64)
    assert search("--mode", "bm25") == run and run[0] == 0
    code, out, err = search()
    assert (code, out) == (1, "") and "by another model than" in err


def test_a_shard_that_is_missing_cut_or_changed_is_refused_and_encoded_again(casebook, encoded):
    encode, place, search = encoded
    run = search()[1]
    (path,) = place.glob(f"files-*/{VECTORS}")
    whole = path.read_bytes()
    path.write_bytes(whole)  # the same bytes, but newer than the contents
    assert search() == (0, run, "")
    for left in (b"", whole[:-4], None, whole[:-9] + bytes(4) + whole[-5:]):
        path.unlink(missing_ok=True)
        if left is not None:
            path.write_bytes(left)
        code, out, err = search()
        assert (code, out) == (1, "") and err.count("\n") == 1
        assert f"{path}: shard " in err and "gone, or changed since it was encoded" in err
    assert "shard 6-12 is gone" in err
    assert casebook(*encode)[0] == 0
    assert search() == (0, run, "")
    assert path.read_bytes() == whole


BAD = [
    (["encode", "{dir}/absent", "--out", "{dir}/x"], "no such folder"),
    (["encode", "{dir}/broken", "--out", "{dir}/x"], "corpus.jsonl:2: is not JSON"),
    (["encode", "{dir}/good", "--out", "{dir}/file/x"], "file"),
    (["encode", "{dir}/good", "--out", "{dir}/x", "--shard-size", "0"], "shard-size"),
    (["search", "{dir}/absent", "{dir}/good"], "not encoded to its end"),
    (["search", "{dir}/damaged", "{dir}/good"], "is not JSON"),
    (["search", "{dir}/by_hand", "{dir}/good"], "changed by hand"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_clear_line(tmp_path, casebook, arguments, message):
    line = '{"_id": "1", "text": "Is a burst pipe covered?"}\n'
    for name, text in {"good": line, "broken": f"{line}{{"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "corpus.jsonl").write_text(text)
        (tmp_path / name / "queries.jsonl").write_text(line)
    for name, text in {"damaged": "{", "by_hand": '{"files": {}, "model": "0"}'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / CONTENTS).write_text(text)
    (tmp_path / "file").write_text("in the way")
    places = [argument.replace("{dir}", str(tmp_path)) for argument in arguments]
    code, out, err = casebook("corpus", *places)
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1, err
    assert message in err
