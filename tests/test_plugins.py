"""Modules of the user's own, imported by a command and by a kernel."""

import json
import sys

import pytest
from cases import failing

from casebook.plugins import plugin

OWN = """
class Fails:
    def __init__(self, *arguments):
        raise ValueError("two\\nlines")

class Leaves:
    def __init__(self, *arguments):
        raise SystemExit(0)

def search_fails(queries, k): raise KeyError("gone")
def nan(queries, k): return [["d1", "d2"]] * len(queries), [[1.0, float("nan")]] * len(queries)
def infinite(queries, k): return [["d1", "d2"]] * len(queries), [[float("inf"), 1.0]] * len(queries)
def twice(queries, k): return [["d1", "d1"]] * len(queries), [[2.0, 1.0]] * len(queries)
def nowhere(queries, k): return [["d9"]] * len(queries), [[2.0]] * len(queries)
def uneven(queries, k): return [["d1", "d2"]] * len(queries), [[2.0]] * len(queries)
def words(texts): return ["a"] * len(texts)
def flat(texts): return [1.0] * len(texts)
def encoder_fails(texts): raise IndexError("no model")
"""
CASE = {"case_id": "c1", "sections_cited": ["IPC-302"], "parties": {"petitioner_type": "Minor"}}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with plug-ins that fail, a case and a small collection."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    (tmp_path / "claims.txt").write_text("The rent is due.\n")
    (tmp_path / "case.json").write_text(json.dumps(CASE))
    (tmp_path / "docs").mkdir()
    texts = {
        "d1": "minor section 302 petitioner",
        "d2": "rent due landlord",
        "d3": "section 34 appeal",
    }
    lines = [json.dumps({"_id": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "docs" / "corpus.jsonl").write_text("\n".join(lines))
    return name


SEARCHES = ["sensitivity", "run", "case.json", "./docs", "--k", "2", "--mode"]
CHECKS = ["factcheck", "run", "claims.txt", "--corpus", "./docs"]


RAISED = "raised ValueError: two lines"
NOT_SCORED = "is no document, is given twice or has no finite score"
ENCODER = [*SEARCHES, "dense", "--encoder"]
FAILURES = [
    (SEARCHES, "Fails", RAISED),
    (SEARCHES, "Leaves", "raised SystemExit"),
    (SEARCHES, "missing", "raised AttributeError"),
    (SEARCHES, "search_fails", "raised KeyError: 'gone'"),
    (SEARCHES, "nan", NOT_SCORED),
    (SEARCHES, "infinite", NOT_SCORED),
    (SEARCHES, "twice", NOT_SCORED),
    (SEARCHES, "nowhere", NOT_SCORED),
    (SEARCHES, "uneven", "expected two lists"),
    (ENCODER, "Fails", RAISED),
    (ENCODER, "words", "could not convert"),
    (ENCODER, "flat", "finite vectors"),
    (ENCODER, "encoder_fails", "raised IndexError: no model"),
    ([*CHECKS, "--stance"], "Fails", RAISED),
    (["evaluate", "docs/corpus.jsonl", "claims.txt", "-m"], "Fails", ""),
    (["corpus", "encode", "docs", "--out", "made", "--encoder"], "Fails", RAISED),
]


def test_whatever_a_plug_in_raises_or_gives_is_one_line(casebook, own):
    """F61, F62: constructors gave a traceback; NaN scores and a document twice were counted."""

    def check(words, plug, message):
        code, out, err = casebook(*words, f"{own}:{plug}")
        assert (code, out) == (1, ""), err
        line = err.splitlines()[-1]  # below notes on the collection
        assert line.startswith("casebook: ") and "Traceback" not in err and message in line

    assert failing(check, FAILURES) == []


def test_a_module_of_the_project_is_found_from_a_folder_of_it(own, tmp_path, monkeypatch):
    # Jupyter and nbval work in the folder of a notebook.
    monkeypatch.setattr("casebook.paths.ROOT", tmp_path)
    monkeypatch.chdir(tmp_path / "docs")
    assert plugin(f"{own}:flat")(["a"]) == [1.0]
