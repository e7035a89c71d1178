"""The page of the grid: what was done, what failed, what never ran."""

import shutil
from pathlib import Path

import pytest
from toy_records import seal

from casebook import paths
from casebook.batch.execute import Outcome
from casebook.batch.grid import Cell
from casebook.batch.plan import Planned
from casebook.batch.run_folder import write_outcomes, write_planned
from casebook.book.pages import grid_page
from casebook.book.results import read_chapters
from casebook.paths import run_dir
from casebook.runs.headlines import Headline
from casebook.runs.outputs import RunOutputs

DONE = ["retrieval_ablation-smoke", "query_length-smoke"]
ANSWER = Headline("Does it <help>?", "smoke", "Full", "BM25", "nDCG@10", 0.05, 0.02, 0.08, 34)


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
    RunOutputs("mine", DONE[0]).headlines(ANSWER)
    seal(tmp_path / "results" / "mine")
    return tmp_path / "results" / "mine"


def row(page, cell):
    return next(line for line in page.splitlines() if f">{cell}<" in line)


def planned(name, **parameters):
    return Planned(Cell(name, "01_retrieval_ablation.ipynb", parameters), {}, "run")


def test_done_failed_and_never_run_stand_in_one_table(run):
    other = planned("other", dataset="<b>", n_resamples=2000)
    write_planned(
        "mine",
        [planned("lost", dataset="/a/b c/own", n_resamples=9, cases=["/a/mine.jsonl"]), other],
    )
    lost = Outcome("lost", "cell 3: a < b", 61.0, ("kernel died",), "timed out")
    write_outcomes("mine", [lost, Outcome(DONE[0], seconds=12.34)])
    page = grid_page("mine", read_chapters("mine", DONE))
    assert "4 configurations: 2 done, 1 failed, 1 not run." in page
    done, failed, never = (row(page, name) for name in (DONE[0], "lost", "other"))
    for text in (
        "Does it &lt;help&gt;? Yes: +0.050 [+0.020, +0.080] nDCG@10 against BM25",
        ">12</td>",
        "dataset=smoke, n_resamples=2000",
        f'href="run/notebooks/{DONE[0]}.html"',
        f'href="rows/{DONE[0]}.csv.gz"',
        f'href="runs/{DONE[0]}/run.json"',
    ):
        assert text in done
    assert "failed, timed out<br><small>cell 3: a &lt; b</small>" in failed
    assert (
        ">61</td>" in failed
        and ">2</td>" in failed
        and "cases=[mine.jsonl], dataset=own, n_resamples=9" in failed
    )
    assert ">not run<" in never and "dataset=&lt;b&gt;" in never
    assert "href" not in failed + never and '<th scope="col"></th>' not in page


def test_a_cell_that_failed_again_shows_no_number_of_before(run):
    write_outcomes("mine", [Outcome(DONE[0], "boom", 1.0, cause="failed")])
    failed = row(grid_page("mine", read_chapters("mine", DONE)), DONE[0])
    assert "Does it" not in failed and "href" not in failed
    write_outcomes("mine", [Outcome(DONE[0], seconds=1.0)])
    assert "Does it" in row(grid_page("mine", read_chapters("mine", DONE)), DONE[0])


def test_parameters_that_do_not_differ_are_left_out(run):
    assert "resamples" not in grid_page("mine", read_chapters("mine", DONE))


def test_a_failure_names_no_folder_of_its_author(run):
    item = planned("lost", dataset="own=/a/b c/own", n_resamples=9)
    why = f"/a/b c/own/queries.jsonl: row 3; {Path.home()}/x.csv"
    write_planned("mine", [item])
    write_outcomes("mine", [Outcome("lost", why, 1.0, cause="failed")], [item])
    assert "own/queries.jsonl: row 3; ~/x.csv" in row(
        grid_page("mine", read_chapters("mine", DONE)), "lost"
    )
    for path in run_dir("mine").glob("[!.]*.json"):
        assert "/a/b c" not in path.read_text()
