"""The pages of single items: whole, linked, and beside another run's."""

import json
import shutil

import pandas as pd
import pytest
from toy_records import rewrite_record, seal

from casebook import paths
from casebook.book import pages
from casebook.book.chapters import for_readers
from casebook.book.comparison import comparison
from casebook.book.items import item_links, item_pages
from casebook.paths import run_dir
from casebook.tables import FACTS

CELL = "retrieval_ablation-smoke"
PAGE = f"items/{CELL}.md"


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


def loaded(files, cell=CELL):
    script = files[f"items/{cell}.js"]
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
    assert "all 2 questions" in text and "by their ids" in text


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
    before["items"] = [before["items"][0] | {"relevant": [], "top": [[0], []]}]
    write(runs / "old", before)
    files = item_pages("new", [CELL], "old")
    page = loaded(files)
    assert page["documents"][2] == ["home-9", "Another."]
    first, second = (item["parts"] for item in page["items"])
    assert first[2][0] == ["1", [0, "relevant"], 2, 1, None]
    assert second[2][0] == ["1", [0, "relevant"], None, 1, None]
    assert [row[0] for row in second[0]] == ["full", "random"]
    assert "did not keep 1 of the questions" in files[PAGE]


def test_other_data_or_nothing_kept_is_said(runs):
    path = runs / "old" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["data"] = {"dataset": "another"}
    rewrite_record(path, **record)
    files = item_pages("new", [CELL], "old")
    assert loaded(files)["layout"][1]["heads"] == ["Document", "full", "random"]
    assert "used other data" in files[PAGE]
    (runs / "old" / "items" / f"{CELL}.json").unlink()
    assert "kept no questions" in item_pages("new", [CELL], "old")[PAGE]


def test_chapter_and_changed_rows_link_to_the_questions(runs):
    path = runs / "new" / "notebooks" / f"{CELL}.ipynb"
    for_readers(path, "new", CELL, "A chapter")
    assert f"generated/items/{CELL}.md" in path.read_text()
    links = item_links("new", CELL)
    assert links["a&b #2"] == f"items/{CELL}.html#q=a%26b+%232"
    path = runs / "new" / "rows" / f"{CELL}.csv.gz"
    rows = pd.read_csv(path)
    first = rows["query_id"].isin(["sq01", "sq03"]) & (rows["system"] == "full")
    rows.loc[first, "nDCG@10"] = 0.0
    rows.to_csv(path, index=False)
    for name in ("old", "new"):
        seal(runs / name)
    page = comparison("new", "old")
    assert f'<a href="items/{CELL}.html#q=sq01">sq01</a>' in page
    assert "q=sq03" not in page  # not among the questions that were kept


def test_a_run_that_kept_nothing_has_no_page(runs):
    shutil.rmtree(runs / "new" / "items")
    assert item_pages("new", [CELL], "old") == {}
    assert PAGE not in pages.generated("new", [CELL])


def smoke(cell, run="smoke"):
    """Give what a cell of the reference run, or a copy of it, kept, and the page that is made of
    it."""
    kept = json.loads((run_dir(run) / "items" / f"{cell}.json").read_text())
    return kept, loaded(item_pages(run, [cell]), cell)


@pytest.mark.parametrize(
    "path", sorted((run_dir("smoke") / "items").glob("*.json")), ids=lambda path: path.stem
)
def test_every_kind_of_items_fills_the_parts_of_its_page(path):
    kept, page = smoke(path.stem)
    assert [one["id"] for one in page["items"]] == [one["id"] for one in kept["items"]]
    used = {tag for one in page["items"] for tag in one["tags"]}
    assert used == set(range(len(page["tags"]))) and page["tags"] == sorted(page["tags"])
    for one in page["items"]:
        assert len(one["parts"]) == len(page["layout"]) and len(one["keys"]) == len(page["orders"])
        for part, content in zip(page["layout"], one["parts"], strict=True):
            width = {"facts": 2, "table": len(part.get("heads", ()))}.get(part["part"])
            assert not content or width is None or {len(row) for row in content} == {width}
    if page["wrong"] is None:
        assert not any(one["wrong"] for one in page["items"])


def test_the_page_of_claims_says_what_is_wrong():
    kept, page = smoke("factcheck_confusion-smoke")
    names = {True: "right", False: "wrong"}
    for claim, one in zip(kept["items"], page["items"], strict=True):
        facts, verdicts, parts, decisive, cited = one["parts"]
        assert one["wrong"] is (claim["right"][0] is False)
        tags = {page["tags"][tag] for tag in one["tags"]}
        assert ("wrong verdict" in tags) is one["wrong"]
        assert ("evidence not found" in tags) is (claim["missed"] is True)
        assert ("evidence found" in tags) is (claim["missed"] is False)
        problems = sorted(tags & {"wrong verdict", "evidence not found"}, reverse=True)
        assert ["What is wrong", ", ".join(problems) or "nothing"] in facts
        assert [row[0] for row in verdicts] == kept["systems"]
        assert verdicts[0][1] == [claim["verdicts"][0], names[claim["right"][0]]]
        assert len(parts or ()) == len(claim["parts"]) and len(cited or ()) == len(claim["cited"])
        marks = [row[0][1] for row in decisive or ()]
        assert marks == ["found" if role["met"] else "missed" for role in claim["decisive"]]
        stances = [row[2] for row in cited or ()]
        assert stances == [role["stance"] for role in claim["cited"]]


def test_the_page_of_edits_shows_what_left_and_what_the_placebo_did(runs):
    cell = "counterfactual_sensitivity-smoke"
    kept, page = smoke(cell, "old")
    for edit, one in zip(kept["items"], page["items"], strict=True):
        _, change, placebo, moved, precedents, lists = (one["parts"] + [None] * 6)[:6]
        result = edit["results"][0]
        assert (change, placebo) == (edit["change"], edit["placebo"])
        assert moved[0][:2] == [kept["systems"][0], f"{result['moved']:.3f}"]
        assert moved[0][3] == str(result["new"])
        assert len(lists or ()) == max(len(result["left"]), len(result["entered"]))
        if result["left"]:
            place, rank, wanted = result["left"][0]
            assert lists[0][0] == [place, "relevant" if wanted else None, f"rank {rank} before"]
        if result["found"][1]:
            assert precedents[0][1] == f"{result['found'][1]}, best at rank {result['found'][0]}"
        tags = {page["tags"][tag] for tag in one["tags"]}
        assert FACTS[edit["fact_type"]] in tags and one["text"].startswith(FACTS[edit["fact_type"]])
        assert ("bm25 lost every precedent" in tags) is (
            bool(result["found"][1]) and not result["still_found"][1]
        )
    kept["items"][0]["results"][0] = {"error": "no query"}
    path = runs / "new" / "items" / f"{cell}.json"
    path.write_text(json.dumps(kept | {"asked": 999, "texts": [], "card": None}))
    files = item_pages("new", [cell], "old")
    assert (
        "of 999 edits" in files[f"items/{cell}.md"] and "by their ids" in files[f"items/{cell}.md"]
    )
    moved = loaded(files, cell)["items"][0]["parts"][3]
    assert moved[0][1] == "failed: no query" and moved[1][0] == "bm25, old"
