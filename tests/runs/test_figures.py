"""What stands beside a run's metric comes from the chapter, from rows, or is absent."""

import json
import shutil

import pytest
from toy_records import as_of_another_program

from casebook.runs.registry import reported_number

METRIC = "smoke_long.full.nDCG@10"


@pytest.fixture
def run(tmp_path, smoke_run):
    for name in ("numbers", "rows", "runs"):
        shutil.copytree(smoke_run / name, tmp_path / name)
    as_of_another_program(tmp_path / "runs" / "query_length-smoke" / "run.json")
    return tmp_path / "runs" / "query_length-smoke"


def _numbers(run):
    path = run.parents[1] / "numbers" / f"{run.name}.json"
    return path, json.loads(path.read_text())


def test_a_chapter_says_it_itself(run):
    number = _numbers(run)[1]["query_length"]["smoke_long"]["full"]["nDCG@10"]
    assert number["n"] == 17
    found = reported_number(run, METRIC)
    assert [found["low"], found["high"]] == number["ci"]
    assert {name: found[name] for name in number} == number
