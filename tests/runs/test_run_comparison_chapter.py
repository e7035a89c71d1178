"""The chapter that compares runs: what its history joins, and what it must not print."""

import json
import shutil
import warnings

import matplotlib.pyplot as plt
import nbformat
import pytest
from toy_records import rewrite_record

from casebook import paths

SMOKE = paths.RESULTS / "smoke"
CELL = "query_length-smoke"


def add_report(results, name, day, **labels):
    """Add a report with one chapter, run on some day, with changed labels."""
    for part in ("runs", "headlines", "numbers", "rows"):
        for source in (SMOKE / part).glob(f"{CELL}*"):
            target = results / name / part / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, target)
    path = results / name / "runs" / CELL / "run.json"
    moment = f"2026-01-{day:02d}T00:00:00Z"
    labels = json.loads(path.read_text())["Labels"] | labels
    rewrite_record(
        path, RunId=f"{name}-{day}", StartedAtUtc=moment, CompletedAtUtc=moment, Labels=labels
    )


@pytest.fixture
def chapter(results, capsys):
    """Give a function that executes the chapter in this test's results; a warning is an error."""

    def execute():
        names = {}
        cells = nbformat.read(paths.NOTEBOOKS / "03_run_comparison.ipynb", 4).cells
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for cell in cells:
                if cell.cell_type == "code":
                    exec(cell.source, names)
        plt.close("all")
        assert str(results) not in capsys.readouterr().out
        return names

    return execute


def test_the_history_joins_runs_on_the_same_data_only(results, chapter):
    add_report(results, "first", 1)
    add_report(results, "second", 2)
    add_report(results, "other", 3, DatasetHash="0" * 64)
    names = chapter()
    keys = {run.key for run in names["runs"]}
    assert len(keys) == 2
    repeated = names["repeated"]
    assert len(repeated) and repeated["key"].nunique() == 1
    assert set(repeated.groupby("series")["number"].max()) == {2}
    assert names["figure"] is not None


def test_the_matrix_shows_one_run_of_each_data_set(results, chapter):
    """An older run with more systems does not lend its scores to the newest one."""
    add_report(results, "first", 1)
    add_report(results, "second", 2)
    path = results / "second" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    gone = {name for name in record["Metrics"] if ".bm25" in name.lower()}
    assert gone
    rewrite_record(
        path, Metrics={name: value for name, value in record["Metrics"].items() if name not in gone}
    )
    table = chapter()["datasets_by_systems"]("query_length", {})
    assert not table.empty and not [name for name in table if "bm25" in name]
