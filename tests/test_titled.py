"""What a chapter keeps and shows."""

import pandas as pd
import pytest

from casebook import paths
from casebook.errors import InputError
from casebook.titled import Chapter


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return Chapter("scratch", "mine", "my_experiment", "smoke", names={"bm25": "BM25"})


def test_times_are_kept_apart(chapter, tmp_path, capsys):
    frame = pd.DataFrame({"system": ["bm25"], "seconds": [0.5]})
    chapter.show("cost", frame, "Cost", timed=True)
    chapter.show("scores", frame, "Scores")
    kept = {path.name for path in tmp_path.glob("scratch/t*s/*.csv")}
    assert kept == {"mine.cost.csv", "mine.scores.csv"}
    assert (tmp_path / "scratch" / "timings" / "mine.cost.csv").is_file()
    assert "Table: Cost (1 rows)" in capsys.readouterr().out


def test_addresses_of_rows_are_those_of_each_row(chapter):
    rows = pd.DataFrame({"tag": ["a", None, "c"], "system": ["x", "y", "z"]}, index=[7, 8, 9])
    pages = chapter.item_pages(only=rows["tag"], system=rows["system"], change="worse")
    assert pages.to_dict() == {
        7: chapter.item_page(only="a", system="x", change="worse"),
        8: chapter.item_page(system="y", change="worse"),
        9: chapter.item_page(only="c", system="z", change="worse"),
    }
    assert chapter.item_pages(only=rows["tag"].iloc[:0], system="x").empty


def test_what_only_says_how_a_row_is_drawn_is_not_kept(chapter):
    from matplotlib import pyplot

    frame = pd.DataFrame({"row": ["x"], "value": [0.5], "address": ["a.html"], "colour": ["red"]})
    chapter.draw("one", pyplot.figure(), "One", frame)
    path = chapter.outputs.folder / "figures" / "mine.one.csv"
    assert path.read_text().splitlines() == ["row,value", "x,0.500000"]


def test_an_answer_takes_what_depends_on_no_number_from_the_titles(chapter):
    row = {"difference": -0.2, "low": -0.3, "high": -0.1, "n": 9, "verdict": "worse"}
    own = {"measure": "share", "topic": "own"}
    with pytest.raises(
        InputError, match=r"no answer 'agreement' of experiment .my_exp.*: give topic"
    ):
        chapter.answer("Do they agree?", row, "agreement", **own)
