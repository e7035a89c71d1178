"""Forms that were filled in elsewhere: the judgements of all raters in one file."""

import pandas as pd
import pytest

from casebook.raters.read import read_forms
from casebook.raters.unblinding import open_forms

VOTES = ["rater", "item_id", "choice", "factuality_left", "usefulness_right"]
ANSWERS = ["preferred", "factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2"]


@pytest.fixture
def filled(returned):
    """Give the rows of all forms, with the rater's name."""
    tables = [pd.read_excel(path).assign(who=path.stem) for path in returned]
    rows = pd.concat(tables, ignore_index=True)
    return rows.astype(dict.fromkeys(ANSWERS[1:], int))


def as_long_rows(filled, folder):
    """A row per rating; the texts are not in the file."""
    path = folder / "long.csv"
    rows = filled.melt(["who", "prompt_id"], ANSWERS, "criterion", "rating")
    rows.rename(columns={"who": "annotator", "prompt_id": "item"}).to_csv(path, index=False)
    return path


def test_a_file_of_all_raters_is_unblinded_like_workbooks(study, returned, filled, tmp_path):
    expected = open_forms(read_forms(returned), study)
    votes = open_forms(read_forms(as_long_rows(filled, tmp_path)), study)
    assert votes.frame[VOTES].equals(expected.frame[VOTES])
    lost = [defect for defect in votes.defects if defect.effect == "lost"]
    assert votes.registered and [defect for defect in lost if defect.column in ANSWERS] == []
