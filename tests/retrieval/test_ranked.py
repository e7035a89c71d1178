"""Ranked lists, filters and candidate pools."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from casebook.errors import InputError
from casebook.retrieval.ranked import collapse, from_scores, metadata_mask

tied_scores = st.tuples(st.integers(1, 5), st.integers(1, 12)).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0]))
)


@given(tied_scores, st.integers(1, 15))
def test_from_scores_is_a_stable_sort_cut_at_k(scores, k):
    lists = from_scores(scores, k)
    for row, ids, values in zip(scores, lists.ids, lists.scores, strict=True):
        order = sorted(range(row.size), key=lambda item: (-row[item], item))
        expected = [item for item in order if row[item] > -np.inf][:k]
        assert ids[ids >= 0].tolist() == expected
        assert values[ids >= 0].tolist() == row[expected].tolist()


@given(tied_scores, st.data())
def test_ranks_and_scores_of_agree_with_a_search_by_hand(scores, data):
    lists = from_scores(scores, scores.shape[1])
    wanted = data.draw(arrays(int, (len(scores), 4), elements=st.integers(-1, scores.shape[1] + 3)))
    ranks, values = lists.ranks_of(wanted), lists.scores_of(wanted)
    for row, column in np.ndindex(wanted.shape):
        entries = lists.ids[row, : lists.lengths[row]].tolist()
        if wanted[row, column] in entries:
            place = entries.index(wanted[row, column])
            assert ranks[row, column] == place + 1
            assert values[row, column] == lists.scores[row, place]
        else:
            assert np.isnan(ranks[row, column])
            assert np.isnan(values[row, column])


@given(tied_scores, st.data())
def test_collapse_keeps_each_document_once_at_its_best_chunk(scores, data):
    n_chunks = scores.shape[1]
    owner = data.draw(arrays(int, n_chunks, elements=st.integers(0, 3)))
    lists = from_scores(scores, n_chunks)
    documents, chunks = collapse(lists, owner)
    for row in range(len(scores)):
        entries = lists.ids[row, : lists.lengths[row]]
        best = {}
        for chunk in entries.tolist():
            best.setdefault(int(owner[chunk]), chunk)
        length = documents.lengths[row]
        assert documents.ids[row, :length].tolist() == list(best)
        assert chunks[row, :length].tolist() == list(best.values())
        assert (chunks[row, length:] == -1).all()
        kept = documents.scores[row, :length].tolist()
        assert kept == [scores[row, chunk] for chunk in best.values()]


CASES = pd.DataFrame(
    {
        "year": [1999, 2010, 2015, 2020, None],
        "section": ["Facts", "Held", "Facts", "Order", "Held"],
        "outcome": ["Allowed", "Dismissed", "Allowed", None, "Allowed"],
    }
)


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
        ({"year": {"above": 3}}, "by 'above' with"),
        ({"year": {"in": 3}}, "cannot compare"),
        ({"section": {"gte": 3}}, "cannot compare"),
        ({"year": {"eq": [1999, 2010, 2015, 2020, 2021]}}, "cannot compare"),
        ({"year": {"gt": [1, 2]}}, "cannot compare"),
        ({"year": {"lt": {"gt": 1}}}, "cannot compare"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(where, message):
    with pytest.raises(InputError, match=message):
        metadata_mask(CASES, where)
