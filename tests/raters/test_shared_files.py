"""Forms that were filled in elsewhere: the judgements of all raters in one file."""

import pandas as pd
import pytest
from refusals import not_refused

from casebook.errors import InputError
from casebook.raters.read import read_forms
from casebook.raters.unblinding import open_forms

VOTES = ["rater", "item_id", "choice", "factuality_left", "usefulness_right", "text_left"]
ANSWERS = ["preferred", "factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2"]


@pytest.fixture
def filled(returned):
    """Give the rows of all forms, with the rater's name."""
    tables = [pd.read_excel(path).assign(who=path.stem) for path in returned]
    rows = pd.concat(tables, ignore_index=True)
    return rows.astype(dict.fromkeys(ANSWERS[1:], int))


def as_table(filled, folder):
    """All raters in one CSV, a row per judgement."""
    path = folder / "all.csv"
    filled.rename(columns={"who": "rater"}).to_csv(path, index=False)
    return path


def as_long_rows(filled, folder):
    """A row per rating; the texts are not in the file."""
    path = folder / "long.csv"
    rows = filled.melt(["who", "prompt_id"], ANSWERS, "criterion", "rating")
    rows.rename(columns={"who": "annotator", "prompt_id": "item"}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("shared", [as_table, as_long_rows])
def test_a_file_of_all_raters_is_unblinded_like_workbooks(
    study, returned, filled, tmp_path, shared
):
    expected = open_forms(read_forms(returned), study)
    votes = open_forms(read_forms(shared(filled, tmp_path)), study)
    names = [name for name in VOTES if shared is as_table or name != "text_left"]
    assert votes.frame[names].equals(expected.frame[names])
    lost = [defect for defect in votes.defects if defect.effect == "lost"]
    assert votes.registered and [defect for defect in lost if defect.column in ANSWERS] == []


def test_a_key_in_the_file_and_other_names_of_columns(filled, tmp_path):
    """Raters who share the tasks, and a field that says on which side the system stands."""
    rows = filled[filled["who"] == filled["who"][0]].assign(side=["S1", "S2"] * 6)
    shared = pd.concat([rows.assign(who=name) for name in ("ann", "bob")])
    path = as_table(shared.rename(columns={"preferred": "choice", "who": "person"}), tmp_path)
    columns = {"preferred": "choice", "rater": "person"}
    votes = open_forms(read_forms(path, columns), side_column="side")
    assert votes.raters == ("ann", "bob") and len(votes.frame) == 24
    assert votes.frame["choice"].isin(["RAG", "BASE", "Tie"]).all()
    with pytest.raises(InputError, match=r":2: rater \(column 'person'\) is empty"):
        shared.assign(preferred="S1", who=None).rename(columns={"who": "person"}).to_csv(
            path, index=False
        )
        read_forms(path, {"rater": "person"})


def test_files_without_judgements_are_refused_in_one_line(tmp_path):
    def read(file):
        name, content = file
        (tmp_path / name).write_text(content)
        return read_forms(tmp_path / name)

    refused = [
        (("a.json", "[{}]"), "has no rater"),
        (("a.json", '[{"rater": "ann", "x": 1}]'), "has no item .*rating"),
        (("a.csv", "rater,item,criterion,rating\nann,q1,x,2\n"), "no column 'preferred'"),
    ]
    assert not_refused(read, refused) == []
