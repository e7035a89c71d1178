"""The chapter on reported tables, of tables of one's own."""

import pytest


@pytest.mark.slow
def test_a_table_of_ones_own_alone_is_answered(run_chapter, tmp_path):
    (tmp_path / "mine.csv").write_text("row,accuracy,n,positives\na,0.85,10,5\nb,0.8,10,5\n")
    code, (tables,), said = run_chapter("audits", "repeats=2", "reported=mine.csv")
    assert code == 0, said
    assert tables["question"] == "Are the reported accuracies arithmetically possible?"
    assert (tables["value"], tables["n"]) == (0.5, 2)
