"""Encoding and searching a collection in shards from the command line."""

import json
import os
import re

import numpy as np
import pytest

from casebook.cli.corpus import _cluster
from casebook.formats.trec import read_run
from casebook.models.load import load_encoder
from casebook.paths import DATA
from casebook.retrieval.dense import DenseIndex

SMOKE = DATA / "smoke"
QRELS = SMOKE / "qrels" / "test.tsv"


def lines(name):
    return [json.loads(line) for line in (SMOKE / name).read_text().splitlines()]


def expected(depth):
    """Give what one index of all vectors finds, by another way than shards."""
    documents, questions = lines("corpus.jsonl"), lines("queries.jsonl")
    encoder = load_encoder(cache=False)
    # In the batches that the shards were encoded in.
    texts = [f"{d['title']} {d['text']}" for d in documents]
    parts = [texts[start : start + 20] for start in range(0, len(texts), 20)]
    vectors = np.concatenate([encoder.encode_documents(part) for part in parts])
    asked = encoder.encode_queries([question["text"] for question in questions])
    lists = DenseIndex(vectors, "flat").search(asked, depth)
    return {
        question["_id"]: {documents[i]["_id"]: s for i, s in zip(ids, row, strict=True)}
        for question, ids, row in zip(questions, lists.ids, lists.scores, strict=True)
    }


@pytest.mark.slow
def test_shards_give_the_run_of_one_index_and_evaluate_reads_it(tmp_path, casebook):
    corpus, run = tmp_path / "corpus", tmp_path / "run.trec"
    encode = ("corpus", "encode", SMOKE, "--out", corpus, "--shard-size", 20)
    code, out, _ = casebook(*encode, "--json")
    made = json.loads(out)
    assert code == 0 and made["shards"] == -(-made["documents"] // 20) > 1
    search = ("corpus", "search", corpus, SMOKE, "--top-k", 10)
    code, out, _ = casebook(*search)
    assert code == 0
    counts = f"{len(expected(10))} queries, up to 10 documents each"
    assert casebook(*search, "--out", run)[:2] == (0, f"{run}: {counts}\n")
    assert out == run.read_text()
    assert {q: dict(row) for q, row in read_run(run).items()} == expected(10)
    code, out, _ = casebook("evaluate", QRELS, run, "-m", "nDCG@10", "--json")
    assert code == 0 and json.loads(out)["measures"]["nDCG@10"]["mean"] > 0.5


def test_an_object_store_gives_the_run_of_a_folder(tmp_path, casebook, object_store):
    small = tmp_path / "small"
    small.mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        first = (SMOKE / name).read_text().splitlines(keepends=True)[:12]
        (small / name).write_text("".join(first))
    runs = []
    for place in (tmp_path / "here", f"{object_store}/corpus"):
        encode = ("corpus", "encode", small, "--out", place, "--shard-size", 6)
        assert casebook(*encode)[0] == 0
        asked = small / "queries.jsonl"
        runs.append(casebook("corpus", "search", place, asked)[1])
    assert runs[0] == runs[1] and runs[0].count("\n") == 12 * 12


@pytest.mark.slow
def test_more_than_one_worker_is_processes_of_their_own():
    with _cluster(2, None) as client:
        pids = set(client.run(os.getpid).values())
    assert len(pids) == 2 and os.getpid() not in pids
    with _cluster(1, None) as client:
        assert client is None


BAD = [
    (["encode", "{dir}/absent", "--out", "{dir}/x"], "no corpus.jsonl"),
    (["encode", "{dir}/broken", "--out", "{dir}/x"], "corpus.jsonl:2: is not JSON"),
    (["encode", "{dir}/empty", "--out", "{dir}/x"], "holds no records"),
    (["encode", "{dir}/good", "--out", "nowhere://x"], "nowhere"),
    (["encode", "{dir}/good", "--out", "{dir}/x", "--encoder", "../no"], "../no"),
    (["encode", "{dir}/good", "--out", "{dir}/file/x"], "file"),
    (["encode", "{dir}/good", "--out", "{dir}/x", "--shard-size", "0"], "shard-size"),
    (["search", "{dir}/x", "{dir}/good"], "not encoded to its end"),
    (["search", "{dir}/damaged", "{dir}/good"], "not encoded to its end"),
    (["search", "{dir}/nameless", "{dir}/good"], "which encoder"),
    (["search", "{dir}/other", "{dir}/good"], "by another model than 'minilm'"),
    (["encode", "{dir}/good", "--out", "s3://no-such-bucket/x"], "s3://no-such-bucket"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_clear_line(
    tmp_path, casebook, arguments, message, monkeypatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    line = '{"_id": "1", "text": "Is a burst pipe covered?"}\n'
    for name, text in {"good": line, "broken": f"{line}{{", "empty": ""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "corpus.jsonl").write_text(text)
        (tmp_path / name / "queries.jsonl").write_text(line)
    index = {"damaged": "{", "nameless": '{"shards": []}'}
    index["other"] = '{"shards": [], "encoder": "minilm", "model": "0"}'
    for name, text in index.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "shards.json").write_text(text)
    (tmp_path / "file").write_text("in the way")
    places = [argument.replace("{dir}", str(tmp_path)) for argument in arguments]
    code, out, err = casebook("corpus", *places)
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1, err
    assert message in err
    assert not re.search("testing", err)
