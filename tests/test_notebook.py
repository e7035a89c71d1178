"""What a chapter keeps and shows."""

import pandas as pd
import pytest

from casebook import paths
from casebook.notebook import Chapter


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


def test_tables_are_kept_as_they_are(chapter, files):
    frame = pd.DataFrame({"system": ["bm25"], "value": [0.5]})
    for _ in range(2):
        chapter.keep(tables={"left": frame, "right": frame.assign(value=1.0)})
    assert files("tables") == ["mine.left.csv", "mine.right.csv"]
    path = chapter.outputs.folder / "tables" / "mine.left.csv"
    assert path.read_text().splitlines() == ["system,value", "bm25,0.500000"]


def test_times_are_kept_apart(chapter, files, capsys):
    frame = pd.DataFrame({"system": ["bm25"], "seconds": [0.5]})
    chapter.show("cost", frame, "Cost", timed=True)
    chapter.show("scores", frame, "Scores")
    assert (files("timings"), files("tables")) == (["mine.cost.csv"], ["mine.scores.csv"])
    assert "Table: Cost (1 rows)" in capsys.readouterr().out
