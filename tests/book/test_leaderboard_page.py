"""The leaderboard: every pair once, as the chapter reports it; names, times and items beside it."""

import itertools
import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest

from casebook import paths
from casebook.book.leaderboard import leaderboard_pages
from casebook.book.results import read_chapters
from casebook.errors import InputError
from casebook.frames import all_contrasts, contrasts, estimates
from casebook.paths import run_dir
from casebook.titled import Chapter, number
from casebook.verdicts import OPPOSITE

CELL = "retrieval_ablation-smoke"
NAMES = {"bm25": "BM25", "own": "</script><b>Own"}


def scores(seed=0, n=40):
    """Give scores of four systems on dependent questions, and their clusters."""
    rng = np.random.default_rng(seed)
    base = rng.random(n)
    frame = pd.DataFrame({"bm25": base, "dense": base, "own": base, "random": 0.1 * base})
    frame["dense"] = (base + rng.normal(0.05, 0.1, n)).clip(0, 1)
    frame["own"] = (base + rng.normal(0.2, 0.1, n)).clip(0, 1)
    return frame, [f"c{k // 2}" for k in range(n)]


def test_all_pairs_stand_once_and_planned_ones_as_they_are():
    frame, clusters = scores()
    planned = contrasts(frame, [("own", "bm25")], clusters, margin=0.01)
    table = all_contrasts(frame, clusters, planned=planned, margin=0.01)
    pairs = [frozenset(pair) for pair in zip(table["system"], table["against"], strict=True)]
    assert sorted(map(sorted, pairs)) == sorted(map(list, itertools.combinations(frame, 2)))
    of_family = {name: rows.reset_index(drop=True) for name, rows in table.groupby("family")}
    assert list(of_family) == ["other", "planned"]
    same = pd.testing.assert_frame_equal
    same(of_family["planned"][list(planned)], planned)
    others = [pair for pair in itertools.combinations(frame, 2) if set(pair) != {"own", "bm25"}]
    other = contrasts(frame, others, clusters, margin=0.01)
    same(of_family["other"][list(other)], other)


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_turned_round_is_what_the_other_direction_would_have_said(seed):
    frame, clusters = scores(seed)
    there = all_contrasts(frame, clusters, margin=0.02)
    back = all_contrasts(frame[list(frame)[::-1]], clusters, margin=0.02)
    back = back.set_index(["against", "system"])
    for row in there.to_dict("records"):
        other = back.loc[(row["system"], row["against"])]
        for column, opposite in {"difference": "difference", "low": "high", "high": "low"}.items():
            assert math.isclose(row[column], -other[opposite], abs_tol=1e-9)
        assert row["verdict"] == OPPOSITE.get(other["verdict"], other["verdict"])
        assert (row["better"], row["equal"], row["worse"]) == (
            other["worse"],
            other["equal"],
            other["better"],
        )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a copy of the smoke run in which one chapter kept a leaderboard, and its contrasts."""
    shutil.copytree(run_dir("smoke"), tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine" / "leaderboard", ignore_errors=True)
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    frame, clusters = scores()
    by_measure = {
        "nDCG@10": all_contrasts(frame, clusters, margin=0.01),
        "P@1": all_contrasts(frame.round()),
    }
    levels = {system: {} for system in frame}
    for measure, values in {"nDCG@10": frame, "P@1": frame.round()}.items():
        for row in estimates(values, clusters).to_dict("records"):
            levels[row["system"]][measure] = number(row)
    chapter = Chapter("mine", CELL, "retrieval_ablation", "smoke", cluster="groups", names=NAMES)
    chapter.leaderboard(
        levels,
        by_measure,
        baseline="bm25",
        protocol="40 made questions",
        controls=["random"],
        groups={"Own systems": ["own"], "Nobody": []},
        margins={"nDCG@10": 0.01},
        milliseconds={"bm25": 0.25},
        timing="the time of a question",
        neutral=["P@1"],
    )
    return tmp_path / "mine", levels, by_measure


def loaded(files):
    script = files["leaderboard.js"]
    assert script.startswith("window.casebookLeaderboard = ") and script.isascii()
    return json.loads(script.removeprefix("window.casebookLeaderboard = ").rstrip(";\n"))


def test_the_page_has_the_numbers_of_the_chapter(run):
    _, levels, by_measure = run
    [chapter] = loaded(leaderboard_pages(read_chapters("mine", [CELL, "query_length-smoke"])))[
        "chapters"
    ]
    assert chapter["systems"] == ["BM25", "dense", "</script><b>Own", "random"]
    assert (chapter["baseline"], chapter["controls"]) == (0, [3])
    assert chapter["groups"] == {"Own systems": [2]}
    assert chapter["milliseconds"] == [0.25, None, None, None]
    assert [m.get("words") for m in chapter["measures"]] == [
        None,
        {"better": "higher", "worse": "lower"},
    ]
    systems = list(levels)
    for measure in chapter["measures"]:
        columns = measure["contrasts"]
        frame = by_measure[measure["name"]]
        assert [systems[k] for k in columns["system"]] == frame["system"].tolist()
        assert [systems[k] for k in columns["against"]] == frame["against"].tolist()
        for column in ("difference", "low", "high", "p", "p_adjusted", "better", "equal", "worse"):
            values = pd.Series(columns[column], dtype=float)
            np.testing.assert_allclose(values, frame[column], atol=1e-6)
        words = [columns["verdict"]["words"][k] for k in columns["verdict"]["rows"]]
        assert words == frame["verdict"].tolist()
        for system, value in zip(systems, measure["levels"]["value"], strict=True):
            assert value == pytest.approx(levels[system][measure["name"]]["value"], abs=1e-6)


def test_times_are_kept_apart_and_need_not_be_there(run):
    folder, *_ = run
    path = folder / "timings" / f"{CELL}.leaderboard.csv"
    assert path.read_text().splitlines()[:3] == ["system,milliseconds", "BM25,0.250000", "dense,"]
    path.write_text("system,milliseconds\nBM25,fast\n")
    with pytest.raises(InputError, match="no table of system and milliseconds"):
        leaderboard_pages(read_chapters("mine", [CELL]))
    path.unlink()
    [chapter] = loaded(leaderboard_pages(read_chapters("mine", [CELL])))["chapters"]
    assert chapter["milliseconds"] is None
