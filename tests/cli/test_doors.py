"""What every command refuses: to write where it reads, nothing, endless numbers."""

import json

import pytest
from cases import failing

from casebook.paths import RESULTS
from casebook.trec import write_run


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give a folder with a case, claims, a run and a small collection, and work there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.txt").write_text(
        "Tan, aged 30, v State. A delay of 40 days; section 302 IPC; a fine."
    )
    (tmp_path / "claims.txt").write_text("The rent is due.\n")
    (tmp_path / "tree.json").write_text("{}")
    (tmp_path / "q").write_text("q1 0 d1 1\n")
    write_run(tmp_path / "r", {"q9": {"d1": 1.0}})
    collection = tmp_path / "mine"
    collection.mkdir()
    corpus = [{"_id": "d1", "text": "water"}, {"_id": "d2", "text": "fire"}]
    (collection / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus))
    (collection / "queries.jsonl").write_text('{"_id": "q", "text": "water"}\n')
    return tmp_path


OVERWRITING = [
    ("mine/corpus.jsonl", "sensitivity run case.txt mine -o mine/corpus.jsonl"),
    ("case.txt", "sensitivity run case.txt smoke --mode bm25 -o case.txt"),
    ("mine/queries.jsonl", "corpus search . mine/queries.jsonl --out mine/queries.jsonl"),
    ("claims.txt", "factcheck run claims.txt --out claims.txt"),
]


def test_no_command_overwrites_what_it_reads(refused, place):
    def check(source, words):
        before = (place / source).read_bytes()
        refused(words)
        assert (place / source).read_bytes() == before

    assert failing(check, OVERWRITING) == []


MEANINGLESS = [
    (["sensitivity", "run", "c.json", "smoke", "-o", ""], "-o: it is empty"),
    (["corpus", "search", "c", "q", "--out="], "--out: it is empty"),
    (["data", "card", ""], "an argument: it is empty"),
    (["gate", "run", "x", "--margin=nan"], "Invalid value for '--margin'"),
    (["factcheck", "ablate", "c", "--corpus", "d", "--rate", "nan"], "value for '--rate'"),
    (
        ["answer", "q", "--app", "m:f", "--out", "o", "--price-in", "inf", "--price-out", "1"],
        "--price-in must be a finite number",
    ),
    (["runs", "decide", "--eps", "1e999"], "--eps must be a finite number"),
    (["runs", "promote", "--reason", "\udcff"], "not text in UTF-8"),
    (["evaluate", "q", "r"], "quer"),
]


def test_what_means_nothing_is_one_clear_line(refused, place):
    assert failing(refused, MEANINGLESS) == []


SECRET = [
    ("http://me:hunter22@host/v1", "CASEBOOK_LLM_URL"),
    ("[{here: 'https://hunter22@host'}]", "parameters are published"),
    ("https://host/v1?version=2&api-key=hunter22", "holds a password or a key"),
]


def test_a_parameter_that_is_published_holds_no_password(refused):
    def check(value, message):
        words = ("run", "blind_study", "--run", "refused", "-p", f"url={value}")
        assert "hunter22" not in refused(words, "casebook: url: ", message)

    before = set(RESULTS.iterdir())
    assert failing(check, SECRET) == []
    assert set(RESULTS.iterdir()) == before


def test_an_interrupted_command_is_one_line(casebook, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("casebook.data.registry.pull", interrupted)
    expected = (130, "", "casebook: interrupted: type the same command again\n")
    assert casebook("data", "pull", "smoke") == expected
