"""Runs that exist, of any system: read, refused, counted."""

import gzip
import json
from dataclasses import replace

import pytest
from cases import not_refused

from casebook.data import load
from casebook.retrieval.ablation import retrieve
from casebook.retrieval.pipeline import EVALUATION_DEPTH
from casebook.retrieval.run_files import (
    coverage_of_run,
    coverage_text,
    ranked_run,
    read_runs,
    runs_on,
)

RUN = {"q1": {"d1": 2.0, "d2": 1.5}, "q2": {"d2": 3.0}}
TREC = "q1 Q0 d2 2 1.5 mine\nq1 Q0 d1 1 2 mine\nq2 Q0 d2 1 3.0 mine\n"
# BEIR and ranx write dictionaries as JSON; PyTerrier 0.12 writes result frames as CSV.
FORMS = {
    "mine.run": TREC,
    "mine.txt": TREC,
    "mine": TREC,
    "mine.json": json.dumps(RUN),
    "mine.csv": "qid,docno,rank,score\nq1,d1,0,2.0\nq1,d2,1,1.5\nq2,d2,0,3.0\n",
    "mine.jsonl": "".join(
        json.dumps({"query_id": query, "doc_id": document, "score": score}) + "\n"
        for query, scores in RUN.items()
        for document, score in scores.items()
    ),
}


@pytest.fixture(scope="module")
def smoke():
    return load("smoke")


@pytest.fixture
def write(tmp_path):
    """Give a function that writes a file, compressed if its name says so."""

    def written(name, text):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return written


def test_every_form_gives_the_same_run_under_the_name_of_its_file(write):
    paths = [write(name + ending, FORMS[name]) for name in FORMS for ending in ("", ".gz")]
    assert [path.name for path in paths if read_runs(path) != {"mine": RUN}] == []


NO_RUNS = [
    ("a.run", "", "no data line"),
    ("a.run", "q1 Q0 d1 1 nan a\n", "a.run:1: score 'nan' is not a finite number"),
    ("a.run", TREC + "q1 Q0 d1 9 0.1 a\n", "a.run:4: document 'd1' appears twice"),
    ("a.run", "q1 Q0 d1 1\n", "a.run:1: expected 6 fields"),
    ("a.json", "{", "a.json: is not JSON"),
    ("a.json", "[]", "a.json: has no rows"),
    ("a.json", '"q1"', "a.json: is no list of rows"),
    ("a.json", '["q1"]', "a.json:1: is no object: 'q1'"),
    ("a.json", '{"q1": {}}', "a.json: has no documents with scores"),
    ("a.json", '{"q1": ["d1"]}', "a.json: has no documents with scores"),
    ("a.json", '{"q1": {"d1": NaN}}', "a.json:1: score '' is not a finite number"),
    ("a.json", '{"q1": {"d1": true}}', "a.json:1: score 'true' is not a finite number"),
    ("a.json", '{"q1": {"d1": 1, "d1": 2}}', "a.json: .*key 'd1' stands twice"),
    ("a.csv", "qid,docno,score\nq1,d1,1\nq1,d1,2\n", "a.csv:3: query 'q1', document 'd1' stands"),
    ("a.csv", "qid,docno,score\nq1,d1,\n", "a.csv:2: score '' is not a finite number"),
    ("a.csv", "qid,docno,score\nq1,,1\n", "a.csv:2: document .column 'docno'. is empty"),
    ("a.csv", "qid,place,score\nq1,d1,1\n", "a.csv: has no document .*; it has qid, place"),
    ("a.csv", "q1,d1,1\nq1,d2,2\n", "a.csv: .*type --columns query=COLUMN"),
    ("a.csv", "qid,query,docno,score\n1,a,d1,1\n", "a.csv: query, qid may each be the query"),
    ("ä b.run", TREC, "ä b.run: the name of a run"),
]


def test_a_run_that_is_none_is_one_line_with_file_and_row(write):
    assert not_refused(lambda name, text: read_runs(write(name, text)), NO_RUNS) == []


def test_what_a_run_lacks_has_too_much_or_in_one_place_is_counted(smoke):
    first, second, *_ = smoke.queries["query_id"]
    many = {f"other-{n}": float(n) for n in range(EVALUATION_DEPTH + 5)}
    run = {first: {"home-1": 1.0, "home-2": 1.0}, second: many, "elsewhere": {"home-1": 1.0}}
    row = coverage_of_run(smoke, run)
    assert row == {
        "questions matched": 2,
        "questions missing (each counts as 0)": 32,
        "questions of no use here": 1,
        "questions with tied scores": 1,
        "entries": EVALUATION_DEPTH + 7,
        "entries that name unknown documents": EVALUATION_DEPTH + 5,
        "entries that are not ranked": 5,
    }
    assert coverage_text(row).startswith("questions matched: 2, questions missing (each counts")
    pools = replace(smoke, candidates={key: ["home-2"] for key in smoke.queries["query_id"]})
    assert list(ranked_run(pools, run)[0]) == ["home-2"]
    ranked = retrieve(smoke, run).run(smoke.queries["query_id"])
    assert list(ranked[first]) == ["home-2", "home-1"]  # of equal scores the last id first
    assert len(ranked[second]) == EVALUATION_DEPTH and not ranked[smoke.queries["query_id"][5]]


ELSEWHERE = [
    ({"q1": {"d1": 1}}, "mine has no question of smoke, such as 'sq01'; it has 'q1'"),
    ({"sq01": {"d1": 1, "home-1": 2}}, "names documents that smoke lacks: 1 of 2"),
    ({"sq01": {"home-1": "high"}}, "score 'high' is not a finite number"),
]


def test_runs_that_are_not_of_the_data_are_refused(write, smoke):
    def read(run):
        return runs_on(smoke, write("mine.json", json.dumps(run)), 0.05)

    assert not_refused(read, ELSEWHERE) == []
