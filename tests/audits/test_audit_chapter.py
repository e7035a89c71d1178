"""The chapter on reported tables, of tables of one's own."""

import pytest


@pytest.mark.slow
def test_a_table_of_ones_own_alone_is_answered(chapter, headlines, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("row,accuracy,n,positives\na,0.85,10,5\nb,0.8,10,5\n")
    chapter("08_audits", repeats=2, reported=str(path))
    (tables,) = headlines()
    assert tables["question"] == "Are all reported rows arithmetically possible?"
    assert (tables["value"] + tables["null"], tables["n"]) == (0.5, 2)
