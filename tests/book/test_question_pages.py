"""The pages of single questions: whole, linked, and beside another run's."""

import json
import shutil

import pandas as pd
import pytest

from casebook import paths
from casebook.book import pages
from casebook.book.comparison import comparison
from casebook.book.footers import for_readers
from casebook.book.questions import question_links, question_pages
from casebook.book.scorecard import scorecard
from casebook.paths import run_dir

CELL = "retrieval_ablation-smoke"
PAGE, SCRIPT = f"questions/{CELL}.md", f"questions/{CELL}.js"


def kept(top):
    """Give what a cell keeps of two questions."""
    return {
        "dataset": "smoke",
        "card": "smoke",
        "texts": ["documents", "questions"],
        "systems": ["full", "random"],
        "controls": ["random"],
        "measures": ["nDCG@10"],
        "depth": 10,
        "asked": 34,
        "documents": [["home-1", "Escape of water."], ["home-2", None]],
        "questions": [
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
    path = folder / "questions" / f"{CELL}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found))


def loaded(files):
    script = files[SCRIPT]
    assert script.startswith("window.casebookQuestions = ") and script.isascii()
    return json.loads(script.removeprefix("window.casebookQuestions = ").rstrip(";\n"))


def test_the_page_names_data_and_licence_and_what_is_missing(runs):
    text = question_pages("new", [CELL])[PAGE]
    assert "the 2 of 34 questions" in text
    assert "(../cards/smoke.md), MIT" in text
    assert "alert" not in text  # texts are data, never part of a page
    found = kept([0]) | {"texts": [], "card": None, "asked": 2}
    write(runs / "new", found)
    text = question_pages("new", [CELL])[PAGE]
    assert "All 2 questions" in text and "by their ids" in text


def test_systems_of_another_run_stand_beside(runs):
    files = question_pages("new", [CELL], "old")
    found = loaded(files)
    assert found["systems"] == ["full", "full, old", "random", "random, old"]
    assert found["tested"] == [0]
    (question, _) = found["questions"]
    assert question["top"] == [[0, 1], [1], [1], [1]]
    assert question["scores"] == [[1.0], [1.0], [None], [None]]
    before = kept([0])
    before["documents"] = [["home-9", "Another."]]
    before["questions"] = [before["questions"][0] | {"top": [[0], []]}]
    write(runs / "old", before)
    files = question_pages("new", [CELL], "old")
    first, second = loaded(files)["questions"]
    assert loaded(files)["documents"][2] == ["home-9", "Another."]
    assert first["top"] == [[0, 1], [2], [1], []]
    assert second["top"] == [[0, 1], [], [1], []]
    assert second["scores"] == [[1.0], [None], [None], [None]]
    assert "did not keep 1 of the questions" in files[PAGE]


def test_other_data_or_nothing_kept_is_said(runs):
    path = runs / "old" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["data"] = {"dataset": "another"}
    path.write_text(json.dumps(record))
    files = question_pages("new", [CELL], "old")
    assert loaded(files)["systems"] == ["full", "random"]
    assert "had other data" in files[PAGE]
    (runs / "old" / "questions" / f"{CELL}.json").unlink()
    assert "kept no questions" in question_pages("new", [CELL], "old")[PAGE]


def test_chapter_scorecard_and_flipped_rows_link_to_the_questions(runs):
    assert f"generated/questions/{CELL}.html" in scorecard("new", {CELL: "A chapter"})
    path = runs / "new" / "notebooks" / f"{CELL}.ipynb"
    for_readers(path, "new", CELL)
    assert f"generated/questions/{CELL}.md" in path.read_text()
    links = question_links("new", CELL)
    assert links["a&b #2"] == f"questions/{CELL}.html#q=a%26b+%232"
    path = runs / "new" / "rows" / f"{CELL}.csv.gz"
    rows = pd.read_csv(path)
    first = rows["query_id"].isin(["sq01", "sq03"]) & (rows["system"] == "full")
    rows.loc[first, "nDCG@10"] = 0.0
    rows.to_csv(path, index=False)
    page = comparison("new", "old")
    assert f'<a href="questions/{CELL}.html#q=sq01">sq01</a>' in page
    assert "q=sq03" not in page  # not among the questions that were kept


def test_a_run_that_kept_nothing_has_no_page(runs):
    shutil.rmtree(runs / "new" / "questions")
    assert question_pages("new", [CELL], "old") == {}
    assert "questions/" not in scorecard("new", {CELL: "A chapter"})
    assert PAGE not in pages.generated("new", [CELL])
