"""Two runs on one page: paired, with intervals, and honest about what is not paired."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from toy_records import rewrite_record, seal

from casebook import paths
from casebook.book.comparison import comparison, differences
from casebook.errors import InputError
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers

CELL = "retrieval_ablation-smoke"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Give two equal runs, old and new, to be changed."""
    smoke = run_dir("smoke")
    for name in ("old", "new"):
        shutil.copytree(smoke, tmp_path / name)
        for cell in (tmp_path / name / "runs").iterdir():
            if cell.name not in (CELL, "rater_agreement-smoke", "audits-smoke"):
                shutil.rmtree(cell)
                (tmp_path / name / "notebooks" / f"{cell.name}.ipynb").unlink()
        monkeypatch.setattr(paths, "RESULTS", tmp_path)
        merge_numbers(name)
    return tmp_path


def change_rows(run, change):
    path = run / "rows" / f"{CELL}.csv.gz"
    rows = pd.read_csv(path)
    change(rows)
    rows.to_csv(path, index=False, compression={"method": "gzip", "mtime": 0})
    seal(run)


def test_equal_runs_have_no_difference(runs):
    found, silent = differences("new", "old")
    assert found.empty
    reasons = {"every row is the same", "one of them kept no rows"}
    unpaired = {cell for cell, why in silent.items() if why not in reasons}
    assert unpaired == {"rater_agreement-smoke"}  # ratings of one item stand in a row
    assert "No number differs" in comparison("new", "old")


def test_a_difference_is_paired_and_its_rows_are_named(runs):
    def worsen(rows):
        where = (rows["system"] == "full") & rows["query_id"].isin(["sq01", "sq03"])
        rows.loc[where, "nDCG@10"] = 0.0

    before = pd.read_csv(runs / "old" / "rows" / f"{CELL}.csv.gz")
    change_rows(runs / "new", worsen)
    found, silent = differences("new", "old")
    assert CELL not in silent
    (line,) = found.itertuples()
    full = before[before["system"] == "full"].set_index("query_id")["nDCG@10"]
    assert (line.cell, line.system, line.measure) == (CELL, "full", "nDCG@10")
    assert line.n == len(full)
    expected = -full[["sq01", "sq03"]].sum() / len(full)
    assert np.isclose(line.difference, expected)
    assert line.low <= line.difference <= line.high <= 0
    page = comparison("new", "old")
    assert "sq01" in page and "sq03" in page and "sq02" not in page


def test_few_clusters_have_an_interval_over_rows_that_the_page_explains(runs):
    def four_groups(rows):
        rows["group"] = rows.groupby("system").cumcount() % 4

    for name in ("old", "new"):
        change_rows(runs / name, four_groups)
    rng = np.random.default_rng(0)

    def worsen(rows):
        full = rows["system"] == "full"
        rows.loc[full, "nDCG@10"] -= rng.uniform(0.1, 0.2, full.sum())

    change_rows(runs / "new", worsen)
    found, _ = differences("new", "old")
    (line,) = found.itertuples()
    assert (line.groups, line.reason) == (4, "interval_by_unit") and line.high < 0
    page = comparison("new", "old")
    assert "with fewer than six clusters intervals are over rows" in page
    assert "it speaks of new rows of these groups" in page and "No interval because" not in page


def test_other_data_are_never_compared(runs):
    path = runs / "new" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["data"] = {"dataset": "another"}
    rewrite_record(path, **record)
    change_rows(runs / "new", lambda rows: rows.__setitem__("nDCG@10", 0.0))
    found, silent = differences("new", "old")
    assert found.empty
    assert silent[CELL] == "other data: incomparable"
    assert "other data: incomparable" in comparison("new", "old")
    with pytest.raises(InputError, match="no such run to compare with"):
        comparison("new", "never")


def test_what_has_no_partner_is_counted_and_named(runs):
    def lose(rows):
        full = rows["system"] == "full"
        rows.loc[full & (rows["query_id"] == "sq01"), "nDCG@10"] = np.nan
        rows.loc[full & (rows["query_id"] == "sq02"), "nDCG@10"] = 0.0
        rows.loc[full & (rows["query_id"] == "sq03"), "query_id"] = "another"
        rows.loc[rows["system"] == "rrf", "system"] = "renamed"

    change_rows(runs / "new", lose)
    found, silent = differences("new", "old")
    (line,) = found[found["measure"] == "nDCG@10"].itertuples()
    lost = found.loc[line.Index, "left out"]
    # sq01 is undefined; sq03 of old and another of new have no partner.
    assert (line.n, lost) == (32, 3)
    assert silent[CELL] == "systems in one run only: renamed, rrf"
    page = comparison("new", "old")
    assert "renamed, rrf" in page and ">undecided<" in page


def test_the_page_counts_what_is_undecided(runs):
    def worsen(rows):
        rows.loc[rows["system"] == "full", "nDCG@10"] = 0.0
        where = (rows["system"] == "dense") & (rows["query_id"] == "sq01")
        rows.loc[where, "nDCG@10"] = 0.0

    change_rows(runs / "new", worsen)
    found, _ = differences("new", "old")
    words = dict(zip(found["system"], found["verdict"], strict=True))
    assert words == {"full": "worse", "dense": "undecided"}
    assert "Of 2 differences: 1 decided, 1 undecided" in comparison("new", "old")


def test_rows_of_one_group_are_resampled_together(runs):
    """Null changes shared by the groups of the questions: at most one false alarm."""
    alarms = 0
    rows = pd.read_csv(runs / "old" / "rows" / f"{CELL}.csv.gz")
    rows = rows[rows["system"] == "full"][["query_id", "system", "nDCG@10"]]
    rows = pd.concat([rows] * 4, ignore_index=True).iloc[:120]
    rows["query_id"] = [f"q{k}" for k in range(120)]
    rows["group"] = np.repeat([f"g{k}" for k in range(15)], 8)
    rows["nDCG@10"] = 0.5
    path = f"rows/{CELL}.csv.gz"
    rows.to_csv(runs / "old" / path, index=False)
    for cell in (runs / "new" / "runs").iterdir():
        if cell.name != CELL:
            shutil.rmtree(cell)
    rng = np.random.default_rng(0)
    for _ in range(40):
        shift = np.repeat(rng.normal(0, 0.1, 15), 8) + rng.normal(0, 0.05, 120)
        rows.assign(**{"nDCG@10": 0.5 + shift}).to_csv(runs / "new" / path, index=False)
        (line,) = differences("new", "old")[0].itertuples()
        alarms += line.verdict != "undecided"
        assert line.groups == 15
    assert alarms <= 6  # 2 expected; of independent questions 22
