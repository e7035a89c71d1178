"""The page of the grid: what was done, what failed, what never ran."""

import json
import shutil

import pytest

from casebook import paths
from casebook.book.pages import grid_page, scorecard
from casebook.grid import Cell
from casebook.paths import run_dir
from casebook.run import Outcome, Planned, keep, keep_planned

DONE = ["retrieval_ablation-smoke", "query_length-smoke"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a run of two cells that are done, made of the reference run."""
    for kind in ("runs", "rows", "numbers"):
        for path in (run_dir("smoke") / kind).glob("*"):
            if path.name.split(".")[0] in DONE:
                target = tmp_path / "results" / "mine" / kind / path.name
                copy = shutil.copytree if path.is_dir() else shutil.copy
                target.parent.mkdir(parents=True, exist_ok=True)
                copy(path, target)
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    return tmp_path / "results" / "mine"


def row(page, cell):
    return next(line for line in page.splitlines() if f">{cell}<" in line)


def planned(name, **parameters):
    return Planned(Cell(name, "01_retrieval_ablation.ipynb", parameters), {}, "run")


def test_done_failed_and_never_run_stand_in_one_table(run):
    other = planned("other", dataset="<b>", resamples=2000)
    keep_planned("mine", [planned("lost", dataset="/a/b c/own", resamples=9), other])
    lost = Outcome("lost", "cell 3: a < b", 61.0, ("kernel died",), "timed out")
    keep("mine", [lost, Outcome(DONE[0], seconds=12.34)])
    page = grid_page("mine", DONE)
    assert "4 cells: 2 done, 1 failed, 1 not run." in page
    numbers = json.loads((run / "numbers" / f"{DONE[0]}.json").read_text())
    number = numbers["retrieval_ablation"]["smoke"]["full"]["nDCG@10"]
    done, failed, never = (row(page, name) for name in (DONE[0], "lost", "other"))
    low, high = number["ci"]
    for text in (
        f">{number['value']:.3f}</data>",
        f"[{low:.3f}, {high:.3f}]",
        f">{number['n']}</data>",
        f">{number['control']:.3f}</data>",
        ">12</td>",
        "dataset=smoke, resamples=2000",
        f'href="run/notebooks/{DONE[0]}.html"',
        f'href="rows/{DONE[0]}.csv.gz"',
        f'href="runs/{DONE[0]}/run.json"',
    ):
        assert text in done
    assert "failed, timed out<br><small>cell 3: a &lt; b</small>" in failed
    assert ">61</td>" in failed and ">2</td>" in failed and "dataset=own, resamples=9" in failed
    assert ">not run<" in never and "dataset=&lt;b&gt;" in never
    assert "href" not in failed + never and '<th scope="col"></th>' not in page


def test_a_cell_that_failed_again_shows_no_number_of_before(run):
    keep("mine", [Outcome(DONE[0], "boom", 1.0, cause="failed")])
    failed = row(grid_page("mine", DONE), DONE[0])
    assert "<data" not in failed and "href" not in failed
    keep("mine", [Outcome(DONE[0], seconds=1.0)])
    assert "<data" in row(grid_page("mine", DONE), DONE[0])


def test_parameters_that_do_not_differ_are_left_out(run):
    assert "resamples" not in grid_page("mine", DONE)


def test_an_undefined_headline_says_why(run):
    path = run / "numbers" / f"{DONE[0]}.json"
    numbers = json.loads(path.read_text())
    nothing = {"value": None, "ci": [None, None], "reason": "no relevant <p>"}
    numbers["retrieval_ablation"]["smoke"]["full"]["nDCG@10"] |= nothing
    path.write_text(json.dumps(numbers))
    said = "undefined: no relevant &lt;p&gt;"
    assert said in row(grid_page("mine", DONE), DONE[0])
    assert said in scorecard("mine", {DONE[0]: "A chapter"})
