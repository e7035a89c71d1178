"""The leaderboard: every pair once, as the chapter reports it; names, times and items beside it."""

import base64
import gzip
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from casebook import paths
from casebook.book.leaderboard import leaderboard_pages
from casebook.book.results import read_chapters
from casebook.errors import InputError
from casebook.notebook import Chapter
from casebook.paths import run_dir
from casebook.scores import Scores

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


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a copy of the smoke run in which one chapter kept a leaderboard, and its contrasts."""
    shutil.copytree(run_dir("smoke"), tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine" / "leaderboard", ignore_errors=True)
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    frame, clusters = scores()
    levels = []
    pairs = []
    for measure, values in {"nDCG@10": frame, "P@1": frame.round()}.items():
        about = {"clusters": pd.Series(clusters, frame.index), "cluster": "groups"}
        about["neutral"] = measure == "P@1"
        made = Scores(values, measure, "smoke", names=NAMES, **about)
        levels.append(made.estimates())
        pairs.append(made.pairs())
    Chapter("mine", CELL, "retrieval_ablation").leaderboard(
        levels,
        pairs,
        "bm25",
        controls=["random"],
        groups={"Own systems": ["own"], "Nobody": []},
        milliseconds={"bm25": 0.25},
        timing="the time of a question",
    )
    return tmp_path / "mine", levels, pairs


def loaded(files):
    script = files["leaderboard.js"]
    packed = base64.b64decode(script.split('"')[1])
    return json.loads(gzip.decompress(packed))


def test_the_page_has_the_numbers_of_the_chapter(run):
    _, levels, pairs = run
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
    systems = levels[0]["system"].tolist()
    for measure, level, frame in zip(chapter["measures"], levels, pairs, strict=True):
        columns = measure["contrasts"]
        assert measure["name"] == level["measure"].iloc[0]
        assert [systems[k] for k in columns["system"]] == frame["system"].tolist()
        assert [systems[k] for k in columns["against"]] == frame["against"].tolist()
        for column in ("difference", "low", "high", "p", "p_adjusted", "better", "equal", "worse"):
            values = pd.Series(columns[column], dtype=float)
            np.testing.assert_allclose(values, frame[column], atol=1e-6)
        words = [columns["verdict"]["words"][k] for k in columns["verdict"]["rows"]]
        assert words == frame["verdict"].tolist()
        assert measure["levels"]["value"] == pytest.approx(level["value"].tolist(), abs=1e-6)


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
