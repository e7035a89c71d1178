"""What was promoted, and what changed under a chapter, is said with its grounds."""

import json
import shutil

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from toy_records import rewrite_record, seal

from casebook import paths
from casebook.book.comparison import changes
from casebook.book.results import read_chapters
from casebook.paths import run_dir
from casebook.runs import decide, promotions
from casebook.runs.decide import write_report
from casebook.runs.headlines import Headline
from casebook.runs.outputs import RunOutputs
from casebook.runs.registry import discover, locate

CELL, METRIC = "retrieval_ablation-smoke", "smoke.full.ndcg@10"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Give two runs of one cell: the new one with another lock and a higher score."""
    for name, day in (("old", 1), ("new", 2)):
        for part in ("runs", "numbers"):
            shutil.copytree(run_dir("smoke") / part, tmp_path / name / part)
        edit(tmp_path / name, CompletedAtUtc=f"2026-01-0{day}T00:00:00Z")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    for name, value in (("old", 0.05), ("new", 0.06)):
        RunOutputs(name, CELL).headlines(
            Headline("Helps?", "smoke", "Full", "BM25", "nDCG@10", value, 0.02, 0.08, 34)
        )
        seal(tmp_path / name)
    monkeypatch.setenv("CASEBOOK_ACTOR", "<b>Ada</b>")
    return tmp_path


def edit(folder, **fields):
    path = folder / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"] |= fields.pop("inputs", {})
    rewrite_record(path, **record | fields)


def listing():
    return discover(locate())


def named(found, name):
    return next(run for run in found.runs if run.path == f"{name}/runs/{CELL}")


def tables(page):
    """Read the tables of a page as frames of texts."""
    return [frame(table) for table in BeautifulSoup(page, "html.parser")("table")]


def frame(table):
    head, *rows = ([c.get_text() for c in row(["th", "td"])] for row in table("tr"))
    return pd.DataFrame(rows, columns=head)


def test_without_promotions_the_page_says_so(runs):
    page = changes("new", read_chapters("new", [CELL]))
    assert "No run has been promoted" in page
    assert "## Promotions" not in page


def test_promotions_name_who_why_and_on_what_grounds(runs):
    found = listing()
    promotions.promote(
        found, named(found, "old"), METRIC, "first <i>of all</i>", gate_sha256="ab" * 32
    )
    decided = decide.decide(found, METRIC, run=named(found, "new"), force=True, eps=0)
    evidence = decided["evidence"] | {"improvement": 0.25, "low": None}
    promotions.promote(
        found, named(found, "new"), METRIC, "better", decision=evidence, incomparable=True
    )
    page = changes("new", read_chapters("new", [CELL]))
    assert "<b>Ada" not in page and "<i>of" not in page
    active, log = tables(page)[:2]
    assert len(active) == 1 and len(log) == 2
    latest, first = log.to_dict("records")
    assert latest["Why"] == "better" and first["Why"] == "first <i>of all</i>"
    assert first["Verdict"] == "none: chosen by hand"
    assert latest["Verdict"].endswith("incomparable by force")
    assert "no interval" in latest["Difference from the run before"]
    assert first["Gate (SHA-256)"] == "ab" * 6
    assert first["By"] == "<b>Ada</b>"
    promotions.rollback(locate().root, METRIC, "it was wrong")
    active = tables(changes("new", read_chapters("new", [CELL])))[0]
    assert active.loc[0, "Why"] == "it was wrong"
    assert active.loc[0, "Run"] == first["Run"]


def test_a_damaged_log_is_said_aloud_and_builds(runs):
    found = listing()
    promotions.promote(found, named(found, "old"), METRIC, "x")
    log = runs / "_active" / "history.jsonl"
    log.write_text("not an entry\n" + log.read_text())
    page = changes("new", read_chapters("new", [CELL]))
    assert "is damaged" in page and "line 1" in page
    assert "No run has been promoted" not in page


def test_changed_inputs_and_both_answers_are_shown(runs):
    edit(runs / "new", inputs={"lock": "another", "library": "another"})
    (table,) = tables(changes("new", read_chapters("new", [CELL])))
    row = table.iloc[0]
    assert row["Earlier record"] == "old, 2026-01-01; changed: library, lock"
    assert row["Question"] == "Helps?"
    assert row["Before"] == "Yes: +0.050 [+0.020, +0.080] nDCG@10 against BM25 (34 questions)."
    assert row["Now"] == "Yes: +0.060 [+0.020, +0.080] nDCG@10 against BM25 (34 questions)."
    (table,) = tables(changes("old", read_chapters("old", [CELL])))
    assert table.loc[0, "Earlier record"] == "none"


def test_answers_on_other_data_are_not_compared(runs):
    edit(runs / "old", inputs={"data": {"dataset": "another"}})
    (table,) = tables(changes("new", read_chapters("new", [CELL])))
    assert table.loc[0, "Before"] == "other data: not compared"
    assert table.loc[0, "Earlier record"].endswith("changed: data")


def test_undecided_and_incomparable_decisions_are_listed(runs):
    found = listing()
    promotions.promote(found, named(found, "old"), METRIC, "first")
    same = decide.decide(found, METRIC, run=named(found, "new"))
    assert same["action"] == "KeepActive"
    write_report(found.root, "decision", same)
    edit(runs / "new", inputs={"data": {"dataset": "another"}})
    found = listing()
    other = decide.decide(found, METRIC, run=named(found, "new"))
    assert other["evidence"]["verdict"] == "incomparable"
    write_report(found.root, "decision", other)
    (runs / "_decisions" / "decision_bad.json").write_text("[]")
    table = next(t for t in tables(changes("new", read_chapters("new", [CELL]))) if "verdict" in t)
    assert sorted(table["verdict"]) == sorted(
        [same["evidence"]["verdict"], "incomparable", "unreadable"]
    )
    assert set(table["candidate"]) >= {named(found, "new").run_id}
