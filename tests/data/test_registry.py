"""Names of datasets, folders of the user, and checks."""

import pytest
from cases import not_refused

from casebook.data import load, registry, sources
from casebook.errors import InputError

NAMES = [
    ("..", {}, r"unknown dataset '\.\.'"),
    ("nosuch", {}, "unknown dataset 'nosuch'; known are climate_fever_claims, "),
    ("smoke_odd", {}, "unknown dataset 'smoke_odd'"),
    ("../nosuch", {}, "no such folder"),
    ("my folder=./nosuch", {}, "no such folder"),
    ("./my nosuch", {}, "no such folder"),
    ("./事例", {}, "or call it: NAME=事例"),
    ("smoke", {"split": "odd"}, "unknown split of smoke 'odd': choose from all, dev, test"),
    ("privacy_qa_test", {"split": "dev"}, "split of privacy_qa_test 'dev': choose from test"),
    (
        "factcheck_claims",
        {"kind": "retrieval"},
        "unknown dataset of retrieval data 'factcheck_claims'",
    ),
    ("smoke", {"kind": "votes"}, "of votes data 'smoke': choose from pdpabench_votes$"),
]


def test_wrong_names_splits_and_kinds_are_refused_before_anything_is_read():
    assert not_refused(lambda name, options: load(name, **options), NAMES) == []


def test_check_tells_absent_bad_and_ok_apart(toy, cache, make_card, monkeypatch, tmp_path):
    names = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
    contents = {name: (toy / name).read_bytes() for name in names}
    card = make_card(contents, [{"mirror": "toy"}])
    monkeypatch.setattr(registry, "cards", lambda: {"toy": card})
    assert list(registry.check()["status"]) == ["absent"]
    with pytest.raises(sources.Absent, match="not on this machine"):
        load("toy")
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(tmp_path))
    splits = {"test": {"documents": 3, "queries": 2, "judgements": 4}}
    wrong = make_card(contents, [{"mirror": "toy"}], splits=splits)
    with pytest.raises(InputError, match=r"toy, split test: expected .* 4 judgements, found"):
        registry.read_split(wrong, {name: toy / name for name in names}, "test")
    (row,) = registry.check(["toy"]).to_numpy().tolist()
    assert row == ["toy", "test", "ok", "3 documents, 2 queries, 3 judgements"]
    (toy / "corpus.jsonl").write_text("{}")
    assert list(registry.check()["status"]) == ["bad"]
