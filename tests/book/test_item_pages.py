"""The pages of single items: whole, linked, and beside another run's."""

import json
import shutil

import pandas as pd
import pytest

from casebook import paths
from casebook.book import pages
from casebook.book.chapters import for_readers
from casebook.book.comparison import comparison
from casebook.book.items import item_links, item_pages
from casebook.book.pages import scorecard
from casebook.paths import run_dir

CELL = "retrieval_ablation-smoke"
PAGE, SCRIPT = f"items/{CELL}.md", f"items/{CELL}.js"


def kept(top):
    """Give what a cell keeps of two questions."""
    return {
        "kind": "questions",
        "dataset": "smoke",
        "card": "smoke",
        "texts": ["documents", "items"],
        "systems": ["full", "random"],
        "controls": ["random"],
        "measures": ["nDCG@10"],
        "depth": 10,
        "asked": 34,
        "documents": [["home-1", "Escape of water."], ["home-2", None]],
        "items": [
            {
                "id": name,
                "text": "</script><script>alert(1)</script>",
                "relevant": [0],
                "scores": [[1.0], [None]],
                "top": [top, [1]],
            }
            for name in ("sq01", "a&b #2")
        ],
    }


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Give two runs that kept questions, old and new."""
    for name, top in (("old", [1]), ("new", [0, 1])):
        shutil.copytree(run_dir("smoke"), tmp_path / name)
        write(tmp_path / name, kept(top))
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return tmp_path


def write(folder, found):
    path = folder / "items" / f"{CELL}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found))


def loaded(files):
    script = files[SCRIPT]
    assert script.startswith("window.casebookItems = ") and script.isascii()
    return json.loads(script.removeprefix("window.casebookItems = ").rstrip(";\n"))


def test_the_page_names_data_and_licence_and_what_is_missing(runs):
    text = item_pages("new", [CELL])[PAGE]
    assert "the 2 of 34 questions" in text
    assert "(../cards/smoke.md), MIT" in text
    assert "alert" not in text  # texts are data, never part of a page
    found = kept([0]) | {"texts": [], "card": None, "asked": 2}
    write(runs / "new", found)
    text = item_pages("new", [CELL])[PAGE]
    assert "All 2 questions" in text and "by their ids" in text


def test_systems_of_another_run_stand_beside(runs):
    files = item_pages("new", [CELL], "old")
    page = loaded(files)
    heads = ["full", "full, old", "random", "random, old"]
    _, ranks, lists = page["layout"]
    assert ranks["heads"] == ["Document", *heads] == ["Document", *lists["heads"][1:]]
    rows, places, top = page["items"][0]["parts"]
    assert rows == [[h, v] for h, v in zip(heads, ["1.000"] * 2 + [None] * 2, strict=True)]
    assert places == [[[0, "relevant"], "1", None, None, None]]
    assert top == [["1", [0, "relevant"], 1, 1, 1], ["2", 1, None, None, None]]
    before = kept([0])
    before["documents"] = [["home-9", "Another."]]
    before["items"] = [before["items"][0] | {"top": [[0], []]}]
    write(runs / "old", before)
    files = item_pages("new", [CELL], "old")
    page = loaded(files)
    assert page["documents"][2] == ["home-9", "Another."]
    first, second = (item["parts"] for item in page["items"])
    assert first[2][0] == ["1", [0, "relevant"], 2, 1, None]
    assert second[2][0] == ["1", [0, "relevant"], None, 1, None]
    assert [row[1] for row in second[0]] == ["1.000", None, None, None]
    assert "did not keep 1 of the questions" in files[PAGE]


def test_other_data_or_nothing_kept_is_said(runs):
    path = runs / "old" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["data"] = {"dataset": "another"}
    path.write_text(json.dumps(record))
    files = item_pages("new", [CELL], "old")
    assert loaded(files)["layout"][1]["heads"] == ["Document", "full", "random"]
    assert "had other data" in files[PAGE]
    (runs / "old" / "items" / f"{CELL}.json").unlink()
    assert "kept no questions" in item_pages("new", [CELL], "old")[PAGE]


def test_chapter_scorecard_and_flipped_rows_link_to_the_questions(runs):
    assert f"generated/items/{CELL}.html" in scorecard("new", {CELL: "A chapter"})
    path = runs / "new" / "notebooks" / f"{CELL}.ipynb"
    for_readers(path, "new", CELL)
    assert f"generated/items/{CELL}.md" in path.read_text()
    links = item_links("new", CELL)
    assert links["a&b #2"] == f"items/{CELL}.html#q=a%26b+%232"
    path = runs / "new" / "rows" / f"{CELL}.csv.gz"
    rows = pd.read_csv(path)
    first = rows["query_id"].isin(["sq01", "sq03"]) & (rows["system"] == "full")
    rows.loc[first, "nDCG@10"] = 0.0
    rows.to_csv(path, index=False)
    page = comparison("new", "old")
    assert f'<a href="items/{CELL}.html#q=sq01">sq01</a>' in page
    assert "q=sq03" not in page  # not among the questions that were kept


def test_a_run_that_kept_nothing_has_no_page(runs):
    shutil.rmtree(runs / "new" / "items")
    assert item_pages("new", [CELL], "old") == {}
    assert "items/" not in scorecard("new", {CELL: "A chapter"})
    assert PAGE not in pages.generated("new", [CELL])


def claim(name, right, missed):
    verdicts = ["SUPPORTED", None]
    passage = {"passage": 0, "about": "SC1", "stance": "supports", "level": "high"}
    return {
        "id": name,
        "text": "<b>Water</b> is covered.",
        "label": "SUPPORTED" if right else "NOT_SUPPORTED",
        "slices": {"hops": "1"},
        "verdicts": verdicts,
        "right": [right, None],
        "stated": [0.75, None],
        "missed": missed,
        "reason": "no_evidence",
        "parts": [{"id": "SC1", "text": None, "verdict": "v", "score": None, "evidence": 2}],
        "decisive": [passage | {"about": "", "probability": None, "met": not missed}],
        "cited": [passage | {"probability": 0.5, "met": not missed}],
    }


def kept_claims():
    """Give what a cell keeps of two claims, the second wrong."""
    return {
        "kind": "claims",
        "dataset": "factcheck_claims",
        "card": "factcheck_claims",
        "texts": ["documents", "items"],
        "systems": ["pipeline", "claim only"],
        "controls": ["claim only"],
        "searched": True,
        "asked": 2,
        "documents": [["smoke:home-1", "Larkfield, Water"]],
        "passages": [[0, 3, 9, "of water"]],
        "items": [claim("c1", True, False), claim("c2", False, True)],
    }


def test_the_page_of_claims_says_what_is_wrong(runs):
    write(runs / "new", kept_claims())
    files = item_pages("new", [CELL])
    page, text = loaded(files), files[PAGE]
    assert "# Claim by claim" in text and "All 2 claims are here" in text
    assert "Water</b>" not in text
    right, wrong = page["items"]
    assert [right["wrong"], wrong["wrong"]] == [False, True]
    tags = [{page["tags"][tag] for tag in item["tags"]} for item in page["items"]]
    assert tags[0] == {"label: SUPPORTED", "hops: 1", "evidence found"}
    assert {"wrong verdict", "evidence not found"} < tags[1]
    facts, verdicts, _, decisive, cited = wrong["parts"]
    assert ["What is wrong", "wrong verdict, evidence not found"] in facts
    assert ["Why no evidence decided", "no evidence"] in facts
    assert verdicts == [["pipeline", ["SUPPORTED", "wrong"], "0.750"], ["claim only", None, None]]
    place = "Larkfield, Water (smoke:home-1, characters 3 to 9)"
    assert decisive == [[["of water", "missed", place], "the claim", "supports"]]
    assert cited[0] == [["of water", None, place], "SC1", "supports", "0.500", "high"]
    write(runs / "old", kept_claims() | {"items": [claim("c1", False, False)]})
    page = loaded(item_pages("new", [CELL], "old"))
    names = [row[0] for row in page["items"][0]["parts"][1]]
    assert names == ["pipeline", "pipeline, old", "claim only", "claim only, old"]
    past = [item["parts"][1][1][1] for item in page["items"]]
    assert past == [["SUPPORTED", "wrong"], None]  # the second was not kept


def edit(name, results):
    return {
        "id": name,
        "case": "case",
        "fact_type": "Section",
        "operation": "replace",
        "old": "IPC-302",
        "new": "<i>",
        "depth": 1,
        "decides": True,
        "change": ["=cites", "-IPC-302", "+<i>"],
        "placebo": None,
        "results": results,
    }


def kept_edits():
    """Give what a cell keeps of three edits: measured, failed, not tried."""
    measured = {
        "error": None,
        "moved": 0.5,
        "placebo_moved": 0.25,
        "left": [[0, 1, 1], [1, 3, 0]],
        "entered": [[2, 2, 0]],
        "new": 1,
        "placebo_new": [0, 2],
        "found": [1, 1],
        "still_found": [None, 0],
        "placebo_found": [[1, 1], [None, 0]],
    }
    control = measured | {"left": None, "entered": None, "found": None}
    return {
        "kind": "edits",
        "dataset": "planted",
        "card": None,
        "texts": [],
        "systems": ["bm25", "random"],
        "controls": ["random"],
        "depth": 10,
        "precedents": True,
        "asked": 5,
        "remark": "2 edits leave it as it was.",
        "documents": [["d1", None], ["d2", None], ["d3", None]],
        "items": [edit("a", [measured, control]), edit("b", [{"error": "no query"}, None]), edit("c", [None, control])],
    }


def test_the_page_of_edits_shows_what_left_and_what_the_placebo_did(runs):
    write(runs / "new", kept_edits())
    files = item_pages("new", [CELL])
    page, text = loaded(files), files[PAGE]
    assert "Here are the 3 of 5 edits" in text and "by their ids" in text
    assert "2 edits leave it as it was." in text
    assert page["wrong"] is None and not any(item["wrong"] for item in page["items"])
    first, failed, untried = (item["parts"] for item in page["items"])
    _, change, placebo, moved, precedents, lists = first
    assert change == ["=cites", "-IPC-302", "+<i>"] and placebo is None
    assert moved[0] == ["bm25", "0.500", "0.250", "1", "0, 2"]
    after = "1, best at rank 1; none"
    assert precedents[0] == ["bm25", "1, best at rank 1", "none", after]
    assert lists == [[[0, "relevant", "rank 1 before"], [2, None, "rank 2 after"]], [[1, None, "rank 3 before"], None]]
    assert failed[3][0][1] == "failed: no query" and failed[5] is None
    assert untried[3][0] == ["bm25", None, None, None, None]
    tags = [{page["tags"][tag] for tag in item["tags"]} for item in page["items"]]
    assert tags[0] - tags[1] == {"bm25 lost every precedent"}
    before = kept_edits()
    before["documents"].reverse()
    write(runs / "old", before)
    page = loaded(item_pages("new", [CELL], "old"))
    lists = page["items"][0]["parts"][5]
    assert page["layout"][5]["heads"] == ["bm25: left", "bm25: entered"]
    assert [row[0] for row in page["items"][0]["parts"][3]][1] == "bm25, old"
