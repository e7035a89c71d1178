import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from casebook.errors import InputError
from casebook.retrieval.ranked import candidate_mask, metadata_mask
from casebook.retrieval.search import BM25Index, DenseIndex

CASES = pd.DataFrame(
    {
        "year": [1999, 2010, 2015, 2020, None],
        "section": ["Facts", "Held", "Facts", "Order", "Held"],
        "outcome": ["Allowed", "Dismissed", "Allowed", None, "Allowed"],
    }
)
TEXTS = [f"tenant deposit case number {name}" for name in "abcde"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, [0, 1, 2, 3, 4]),
        ({}, [0, 1, 2, 3, 4]),
        ({"outcome": "Allowed"}, [0, 2, 4]),
        ({"year": {"gte": 2010, "lte": 2020}}, [1, 2, 3]),
        ({"year": {"gt": 2010, "lt": 2020}}, [2]),
        ({"section": ["Facts", "Held"]}, [0, 1, 2, 4]),
        ({"section": {"not_in": ["Facts", "Held"]}}, [3]),
        ({"outcome": {"ne": "Allowed"}}, [1]),
        ({"section": "Facts", "year": {"gte": 2000}}, [2]),
        ({"section": []}, []),
    ],
)
def test_conditions(where, expected):
    assert np.flatnonzero(metadata_mask(CASES, where)).tolist() == expected


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"bench": 3}, "no column 'bench'; columns: year, section, outcome"),
        ({"year": {"above": 3}}, "no operator 'above'"),
        ({"year": {"in": 3}}, "needs a list"),
        ({"section": {"gte": 3}}, "cannot compare"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(where, message):
    with pytest.raises(InputError, match=message):
        metadata_mask(CASES, where)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=1),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sets(st.sampled_from("xyz")),
)
def test_mask_equals_the_condition_read_row_by_row(rows, low, high, letters):
    frame = pd.DataFrame(rows, columns=["number", "letter"])
    where = {"number": {"gte": low, "lte": high}, "letter": letters}
    expected = [low <= number <= high and letter in letters for number, letter in rows]
    assert metadata_mask(frame, where).tolist() == expected


@given(st.lists(st.booleans(), min_size=5, max_size=5), st.integers(1, 6))
def test_every_result_of_both_indexes_satisfies_the_filter(allowed, k):
    mask = np.array(allowed)
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    for lists in (
        BM25Index(TEXTS).search(["deposit case", "tenant"], k, mask),
        DenseIndex(vectors).search(vectors[:2], k, mask),
    ):
        assert lists.shape[0] == 2
        assert (lists.lengths == min(k, mask.sum())).all()
        assert mask[lists.ids[lists.ids >= 0]].all()


def test_candidate_pools_become_a_mask_per_query():
    mask = candidate_mask([[0, 2], []], 2, 3)
    assert mask.tolist() == [[True, False, True], [False, False, False]]
    assert candidate_mask(np.array([True, False]), 3, 2).shape == (1, 2)
    assert candidate_mask(None, 3, 2) is None


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (np.array([True]), "does not fit"),
        ([[0]], "1 candidate pools for 2 queries"),
        ([[0], [3]], "query 1 holds a position outside 0..2"),
        ([[-1], []], "query 0 holds a position outside"),
    ],
)
def test_restrictions_that_do_not_fit_are_refused(allowed, message):
    with pytest.raises(InputError, match=message):
        candidate_mask(allowed, 2, 3)
