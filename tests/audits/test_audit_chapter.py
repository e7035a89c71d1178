"""The chapter on audits, run on data of which little can be said."""

import pytest

ASKED = "Are more checks of these labels flagged than of sound collections?"


@pytest.fixture
def audited(run_chapter):
    """Give a function that runs the chapter: its headlines by question, and what was said."""

    def run(*parameters):
        code, headlines, said = run_chapter("audits", "repeats=2", "tables=[]", *parameters)
        assert code == 0, said
        return {row["question"]: row for row in headlines}, said

    return run


@pytest.mark.slow
def test_one_question_and_no_reported_table(audited, tmp_path):
    folder = tmp_path / "single"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "The rent is due."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "What is due?"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    headlines, _ = audited("datasets=[./single]")
    assert set(headlines) == {
        ASKED
    }  # the documents' tables are no part of a report on one's own labels
    assert headlines[ASKED]["value"] < 0 and headlines[ASKED]["n"] == 1


@pytest.mark.slow
def test_no_labels_and_a_table_of_ones_own(audited, tmp_path):
    (tmp_path / "mine.csv").write_text("row,accuracy,n,positives\na,0.85,10,5\nb,0.8,10,5\n")
    headlines, said = audited("datasets=[]", "reported=mine.csv")
    assert headlines[ASKED]["value"] is None and "no labels were audited" in said
    tables = headlines["Are the reported accuracies arithmetically possible?"]
    assert (tables["value"], tables["n"]) == (0.5, 2)


@pytest.mark.slow
def test_sound_collections_are_not_compared_with_themselves(audited):
    headlines, said = audited("datasets=[smoke]")
    assert headlines[ASKED]["value"] is None
    assert "the sets audited here set the thresholds themselves" in said
    tables = headlines["Are the reported accuracies arithmetically possible?"]
    assert tables["n"] == 36 and tables["value"] == pytest.approx(13 / 36, abs=1e-6)
