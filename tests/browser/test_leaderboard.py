"""The leaderboard in Chromium, from disk: keyboard, address, both directions, downloads, a phone."""

import itertools
import json
import shutil
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest

from casebook import paths
from casebook.book import leaderboard
from casebook.book.results import read_chapters
from casebook.notebook import Chapter
from casebook.paths import ROOT
from casebook.scores import Scores
from casebook.verdicts import NOT_MEASURED, OPPOSITE

HOSTILE = "</script><img src=x onerror='window.ran = 1'>"
PAGE = """<!DOCTYPE html><html lang="en"><head>
<title>Leaderboard</title><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width"><style>:root {
  --pst-color-background: #fff; --pst-color-text-base: #222; --pst-color-text-muted: #48566b;
  --pst-color-border: #c9c9c9; --pst-color-surface: #f3f4f5; --pst-color-primary: #0a7d91 }
@media (prefers-color-scheme: dark) { :root {
  --pst-color-background: #121212; --pst-color-text-base: #ced6dd;
  --pst-color-text-muted: #9ca4af; --pst-color-border: #48566b; --pst-color-surface: #29313d;
  --pst-color-primary: #3fb1c5 } }
body { background: var(--pst-color-background); color: var(--pst-color-text-base) }</style>
<link rel="stylesheet" href="custom.css"><script defer src="tables.js"></script></head>
<body class="bd-article"><main><h1>Leaderboard</h1><div class="leaderboard"></div>
<link rel="stylesheet" href="leaderboard.css">
<script defer src="data.js"></script><script defer src="leaderboard.js"></script>
</main></body></html>"""


def made_scores():
    """Give scores of four systems by two measures."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"BM25": rng.random(60)})
    frame["Dense"] = (frame["BM25"] + rng.normal(0.06, 0.15, 60)).clip(0, 1)
    frame[HOSTILE] = (frame["BM25"] - rng.normal(0.15, 0.1, 60)).clip(0, 1)
    frame["Random order"] = 0.02 * frame["BM25"]
    return {"nDCG@10": frame, "P@1": frame.round()}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Give the page of two chapters, of which one has items, and the contrasts behind it."""
    folder = tmp_path_factory.mktemp("leaderboard")
    for name in ("tables.js", "leaderboard.js", "leaderboard.css", "custom.css"):
        shutil.copy(ROOT / "book" / "assets" / name, folder)
    pair = (HOSTILE, "Random order")
    scores = {}
    for measure, frame in made_scores().items():
        nothing = {"same_input": lambda pairs: {pair: "both read nothing"}, "margin": 0.01}
        scores[measure] = Scores(frame, measure, "smoke", control="Random order", **nothing)
    by_measure = {measure: made.pairs() for measure, made in scores.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "RESULTS", folder / "results")
        for cell in ("first", "second"):
            keep(cell, scores)
        items = {"systems": ["BM25", "Dense"], "measures": ["nDCG@10"]}
        path = folder / "results" / "mine" / "items" / "first.json"
        path.parent.mkdir()
        path.write_text(json.dumps(items))
        pages = leaderboard.leaderboard_pages(read_chapters("mine", ["first", "second"]))
    (folder / "data.js").write_text(pages["leaderboard.js"])
    (folder / "page.html").write_text(PAGE)
    return (folder / "page.html").as_uri(), by_measure


def keep(cell, scores):
    """Keep the leaderboard of a chapter; each level has a control of its own."""
    Chapter("mine", cell, "made").leaderboard(
        [made.estimates().assign(control=0.125) for made in scores.values()],
        [made.pairs() for made in scores.values()],
        "BM25",
        controls=["Random order"],
        groups={"Own systems": [HOSTILE]},
        milliseconds={"Dense": 4.25},
    )


def rows(viewer):
    """Give the table under the forest: cells by system."""
    lines = [line.split("\t") for line in viewer.locator("tbody tr").all_inner_texts()]
    return {system.strip(): [cell.strip() for cell in cells] for system, *cells in lines}


def written(row, counts):
    """Write a contrast and its counts as the page does; nothing of what was not measured."""
    if row["verdict"] == NOT_MEASURED:
        return ["–", NOT_MEASURED, "–", "–", "–"]
    numbers = [f"{row[name]:+z.3f}".replace("-", "−") for name in ("difference", "low", "high")]
    interval = f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"
    return [interval, row["verdict"], *(str(row[name]) for name in counts)]


TURNED = {"difference": "difference", "low": "high", "high": "low"}


def test_every_pair_in_both_directions_is_what_the_chapter_computed(viewer, site):
    address, by_measure = site
    for measure, baseline in itertools.product(by_measure, by_measure["P@1"]["system"].unique()):
        viewer.goto("about:blank")
        viewer.goto(address)
        viewer.get_by_label("Measure").select_option(measure)
        viewer.get_by_label("Baseline").select_option(baseline)
        table = rows(viewer)
        stored = by_measure[measure]
        found = {name: cells[1:3] + cells[4:7] for name, cells in table.items()}
        for row in stored[stored["against"] == baseline].to_dict("records"):
            assert found[row["system"]] == written(row, ["better", "equal", "worse"])
        for row in stored[stored["system"] == baseline].to_dict("records"):
            turned = {name: -row[of] for name, of in TURNED.items()}
            turned["verdict"] = OPPOSITE.get(row["verdict"], row["verdict"])
            assert found[row["against"]] == written(row | turned, ["worse", "equal", "better"])


def test_the_keyboard_alone_chooses_and_the_address_keeps_the_choice(viewer, site):
    address, _ = site
    viewer.goto(address)
    viewer.get_by_label("Data set").focus()
    for key in ("ArrowDown", "Tab", "P", "@", "Tab", "ArrowDown", "Tab", "ArrowDown"):
        viewer.keyboard.press(key)
    chosen = {"data": ["second"], "measure": ["P@1"], "baseline": ["Dense"]}
    chosen["systems"] = ["Own systems"]
    assert parse_qs(viewer.url.partition("#")[2]) == chosen
    said = viewer.locator("output").inner_text()
    assert said.startswith("P@1, 1 system against Dense: ")
    viewer.reload()
    assert viewer.locator("output").inner_text() == said
    assert list(rows(viewer)) == ["Dense", HOSTILE, "Random order"]
    viewer.goto(f"{address}#data=gone&measure=gone&baseline=gone&systems=gone")
    viewer.reload()
    assert viewer.get_by_label("Baseline").input_value() == "BM25"
