"""The scope that each line on a preference states is the one in which it holds."""

import pytest
from preference_levels import CONDITIONS, book_table, false_positive_study

from casebook.raters.preference import NEW_RATERS, THESE_RATERS


@pytest.mark.slow
def test_each_line_holds_in_the_scope_that_it_states():
    study = false_positive_study(studies=200)
    rejected = study.set_index(["condition", "test"])["rejected"].unstack()
    same = ["votes independent", "items differ"]
    assert (rejected.loc[same, THESE_RATERS] <= 0.07).all()
    # Read as a statement on raters at large, the primary line rejects too often.
    assert rejected.loc["raters lean", THESE_RATERS] > 0.10
    assert (rejected[NEW_RATERS] <= 0.07).all()
    assert rejected.loc["items differ", "pooled sign"] > 0.08
    book = book_table(study)
    assert len(book) == len(CONDITIONS) and book.shape[1] == 4
    assert book[book.iloc[:, 0].str.startswith("raters lean (")][THESE_RATERS].item().endswith("*")
