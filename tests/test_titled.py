"""What a chapter keeps and shows."""

from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from casebook import paths
from casebook.errors import InputError
from casebook.readers import read_yaml
from casebook.runs.headlines import Headline
from casebook.titled import TITLES, Chapter
from casebook.verdicts import EFFECTS


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return Chapter("scratch", "mine", "my_experiment", "smoke", names={"bm25": "BM25"})


@pytest.fixture
def files(tmp_path):
    """Give the names of the files of a kind."""

    def names(kind):
        return sorted(path.name for path in (tmp_path / "scratch" / kind).glob("*"))

    return names


def test_times_are_kept_apart(chapter, files, capsys):
    frame = pd.DataFrame({"system": ["bm25"], "seconds": [0.5]})
    chapter.show("cost", frame, "Cost", timed=True)
    chapter.show("scores", frame, "Scores")
    assert (files("timings"), files("tables")) == (["mine.cost.csv"], ["mine.scores.csv"])
    assert "Table: Cost (1 rows)" in capsys.readouterr().out


def test_addresses_of_rows_are_those_of_each_row(chapter):
    rows = pd.DataFrame({"tag": ["a", None, "c"], "system": ["x", "y", "z"]}, index=[7, 8, 9])
    pages = chapter.item_pages(only=rows["tag"], system=rows["system"], change="worse")
    expected = {
        7: chapter.item_page(only="a", system="x", change="worse"),
        8: chapter.item_page(system="y", change="worse"),
        9: chapter.item_page(only="c", system="z", change="worse"),
    }
    assert pages.to_dict() == expected
    assert chapter.item_pages(q=["1", "2"]).tolist() == [
        chapter.item_page(q="1"),
        chapter.item_page(q="2"),
    ]
    assert chapter.item_pages(only=rows["tag"].iloc[:0], system="x").empty


def test_what_only_says_how_a_row_is_drawn_is_not_kept(chapter):
    from matplotlib import pyplot

    frame = pd.DataFrame({"row": ["x"], "value": [0.5], "address": ["a.html"], "colour": ["red"]})
    chapter.draw("one", pyplot.figure(), "One", frame)
    path = chapter.outputs.folder / "figures" / "mine.one.csv"
    assert path.read_text().splitlines() == ["row,value", "x,0.500000"]


COPY_OF_AN_EXPERIMENT = {"experiment": "mine", "titles": "rating_agreement"}


def test_an_answer_takes_what_depends_on_no_number_from_the_titles(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    row = {"difference": -0.2, "low": -0.3, "high": -0.1, "n": 9, "verdict": "worse"}
    row |= {"level": 0.4, "baseline": 0.6}
    fields_given = {"measure": "kappa", "topic": "own"}
    for experiment in ({"experiment": "rating_agreement"}, COPY_OF_AN_EXPERIMENT):
        chapter = Chapter("r", "c", data="smoke", cluster="cases", **experiment)
        answer = chapter.answer("Do they agree?", row, "agreement", **fields_given)
        assert (answer.word, answer.method) == ("below chance", "agreement.html")
        assert (answer.level, answer.baseline, answer.topic) == (0.4, 0.6, "own")
    chapter = Chapter("r", "c", "mine", "smoke")
    with pytest.raises(InputError, match=r"no answer 'agreement' of experiment .mine.: give topic"):
        chapter.answer("Do they agree?", row, "agreement", **fields_given)


def test_fixed_parts_of_answers_are_fields_of_headlines_and_their_words_are_verdicts():
    known = {field.name for field in fields(Headline)}
    titles = read_yaml(Path(TITLES), "titles")
    answers = [
        answer for chapter in titles.values() for answer in chapter.get("answers", {}).values()
    ]
    assert answers
    for answer in answers:
        assert set(answer) <= known
        assert {*answer.get("words", {}), *answer.get("answers", {})} <= set(EFFECTS.values())
