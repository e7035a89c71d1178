"""Defects of a folder: what is there twice, contradicts itself, or is nowhere."""

import json

import pytest
from beir_folders import write_beir
from cases import failing

from casebook.data.folders import folder_defects

CORPUS = [("d1", "Rent", "The rent is due."), ("d2", "", "No dogs."), ("d3", "Heat", "Ask us.")]
QUERIES = [("q1", "When is the rent due?"), ("q2", "May I have a dog?"), ("q3", "Heating?")]
JUDGED = {"train": [("q1", "d1", 1)], "test": [("q2", "d2", 1), ("q3", "d3", 2)]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a function that writes a folder with some lines more."""
    monkeypatch.chdir(tmp_path)

    def write(documents=(), questions=(), test=(), train=()):
        texts = [{"_id": i, "title": t, "text": x} for i, t, x in [*CORPUS, *documents]]
        asked = [{"_id": i, "text": x} for i, x in [*QUERIES, *questions]]
        judged = {"train": [*JUDGED["train"], *train], "test": [*JUDGED["test"], *test]}
        return write_beir(tmp_path / "lease", texts, asked, judged)

    return write


FAULTS = [
    ({"documents": [("d1", "Rent", "Else.")]}, "documents of one id: 1 of 4, such as d1 = d1"),
    (
        {"documents": [("d4", "RENT", "the  rent is due."), ("d5", "", "no dogs.")]},
        "documents of one text: 2 of 5, such as d4 = d1; d5 = d2",
    ),
    ({"questions": [("q2", "Else?")]}, "questions of one id: 1 of 4, such as q2 = q2"),
    ({"questions": [("q4", "heating?")]}, "questions of one text: 1 of 4, such as q4 = q3"),
    (
        {"train": [("q2", "d1", 1)]},
        "questions of two splits: 1 of 4, such as q2 (train) = q2 (test)",
    ),
    (
        {"test": [("q2", "d9", 1), ("q8", "d1", 1)]},
        "unknown ids: 2 of 5, such as q2 d9 1 (test); q8 d1 1 (test)",
    ),
    (
        {"test": [("q3", "d3", 1)]},
        "pairs judged twice: 1 of 4, such as q3 d3 1 (test) = q3 d3 2 (test)",
    ),
]


def test_each_defect_is_counted_with_examples_and_nothing_else_is(folder):
    def check(lines, expected):
        assert list(folder_defects(folder(**lines))) == [expected]

    assert failing(check, FAULTS) == []
    assert not list(folder_defects(folder()))


def test_the_command_exits_with_2_where_there_is_a_defect(folder, casebook):
    folder()
    assert casebook("data", "check", "./lease")[0] == 0
    # A reader refuses conflicting grades; they are counted all the same.
    folder(test=[("q3", "d3", 1)])
    code, out, err = casebook("data", "check", "./lease", "--json")
    assert code == 2 and err == "casebook: lease: correct your folder\n"
    details = {row["detail"] for row in json.loads(out) if row["status"] == "bad"}
    assert "pairs judged twice: 1 of 4, such as q3 d3 1 (test) = q3 d3 2 (test)" in details
    (folder() / "queries.jsonl").write_text("{}")
    code, out, _ = casebook("data", "check", "./lease")
    assert code == 2 and "queries.jsonl" in out
