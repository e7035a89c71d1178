import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.raters.preference import VoteCounts, check_votes, count_votes, item_means, preference_scores, vote_matrix

ROWS = [("b", "r1", "X"), ("b", "r2", "Tie"), ("a", "r2", "Y"), ("a", "r1", None)]


def table(rows=ROWS):
    return pd.DataFrame(rows, columns=["item", "rater", "preference"])


def test_matrix_has_items_and_raters_in_order():
    votes = vote_matrix(table(), win="X", loss="Y")
    assert list(votes.index) == ["a", "b"]
    assert list(votes.columns) == ["r1", "r2"]
    np.testing.assert_array_equal(votes, [[np.nan, -1], [1, 0]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("c", "r1", "tie"), "item c, r1: preference 'tie' is none of X, Y, Tie"),
        (("b", "r1", "Y"), "item b: r1 votes more than once"),
    ],
)
def test_defects_are_named(row, message):
    with pytest.raises(InputError, match=message):
        vote_matrix(table([*ROWS, row]), win="X", loss="Y")


def test_missing_column():
    with pytest.raises(InputError, match="lack the column 'preference'"):
        vote_matrix(table().drop(columns="preference"), win="X", loss="Y")


def test_counts_add_up():
    votes = np.array([[1, 0, -1], [1, np.nan, 1]])
    assert count_votes(votes) == VoteCounts(3, 1, 1, 1)


def test_scores_and_item_means():
    votes = np.array([[1, 0, -1], [1, np.nan, 1], [np.nan] * 3])
    np.testing.assert_array_equal(preference_scores(votes)[0], [1, 0.5, 0])
    np.testing.assert_array_equal(preference_scores(votes, "drop")[0], [1, np.nan, 0])
    np.testing.assert_array_equal(item_means(votes), [0, 1])


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([[2, 0]], "not 2"),
        ([["x", 0]], "votes must be 1, 0, -1 or missing"),
        ([1, 0], "items x raters"),
        ([[np.nan]], "there are no votes"),
        (np.empty((0, 3)), "there are no votes"),
        ([[np.inf, 0]], "not inf"),
    ],
)
def test_what_is_no_vote(votes, message):
    with pytest.raises(InputError, match=message):
        check_votes(votes)
