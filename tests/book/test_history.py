"""The line of a number through the runs."""

import json
import shutil

import pytest

from casebook import paths
from casebook.book.pages import history
from casebook.paths import run_dir

CELL = "retrieval_ablation-smoke"
KEY = ("retrieval_ablation", "smoke", "full", "nDCG@10")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    for place, name in enumerate(("first", "second", "other")):
        shutil.copytree(run_dir("smoke") / "runs", tmp_path / name / "runs")
        shutil.copytree(run_dir("smoke") / "numbers", tmp_path / name / "numbers")
        path = tmp_path / name / "runs" / CELL / "run.json"
        record = json.loads(path.read_text())
        record["CompletedAtUtc"] = f"2026-01-0{place + 1}T00:00:00Z"
        path.write_text(json.dumps(record))
        path = tmp_path / name / "numbers" / f"{CELL}.json"
        numbers = json.loads(path.read_text())
        numbers[KEY[0]][KEY[1]][KEY[2]][KEY[3]]["value"] = 0.5 + place / 10
        path.write_text(json.dumps(numbers))
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return tmp_path


def test_values_stand_in_order_of_completion(runs):
    assert history(CELL, KEY) == [0.5, 0.6, 0.7]
    assert history(CELL, (*KEY[:3], "none")) == []


def test_runs_on_other_data_are_left_out(runs):
    path = runs / "first" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["data"] = {"dataset": "another"}
    path.write_text(json.dumps(record))
    (runs / "second" / "numbers" / f"{CELL}.json").write_text("{")
    assert history(CELL, KEY) == [0.7]
