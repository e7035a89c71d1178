"""Tests and intervals of a preference against published figures, scipy, and counting by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from casebook.raters.preference import (
    NEW_RATERS,
    THESE_RATERS,
    items_mean,
    preference_lines,
    win_rates,
)

VOTES = st.sampled_from([-1.0, 0.0, 1.0])
PANELS = hnp.arrays(float, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=VOTES)


def test_table_of_counts(example):
    table = win_rates(example)
    raters = ["rater1", "rater2", "rater3", "rater4"]
    assert list(table["who"]) == [*raters, THESE_RATERS, NEW_RATERS]
    of_all = table.iloc[-1]
    assert of_all[["wins", "losses", "ties", "missing", "n"]].tolist() == [113, 63, 24, 0, 200]
    # Holm by hand: the two smallest p-values are equal, so both count four times.
    expected = [0.2962064, 0.1319881, 0.0104087, 0.0104087]
    assert table["p_holm"].to_list()[:4] == pytest.approx(expected, abs=1e-7)
    assert table["p_holm"].iloc[4:].isna().all()


def test_one_rater_is_decided_by_the_corrected_test():
    votes = pd.DataFrame({"Anna": 6 * [1.0], "Boris": 3 * [1.0, -1.0], "Clara": 3 * [1.0, -1.0]})
    assert win_rates(votes)[["p", "p_holm", "verdict"]].iloc[0].tolist() == [
        1 / 32,
        3 / 32,
        "undecided",
    ]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 9), st.integers(1, 3)),
        elements=st.sampled_from([-1.0, 0.0, 1.0, np.nan]),
    )
)
def test_the_primary_test_is_that_of_all_sign_patterns_of_items(table):
    """Every pattern one by one, and every null value that the interval holds."""
    known = table[~np.isnan(table).all(axis=1)]
    if not len(known):
        return
    found = items_mean(table)
    means = np.nanmean(known, axis=1)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(means))))

    def p_of(null):
        return np.mean(np.abs(signs @ (means - null)) >= abs((means - null).sum()) - 1e-9)

    assert found["p"] == pytest.approx(p_of(0), abs=1e-12)
    if np.isnan(found["low"]):
        assert found["reason"]
        return
    assert (not found["low"] <= 0 <= found["high"]) == (found["p"] <= 0.05)
    assert p_of(found["low"] - 1e-6) <= 0.05 < p_of(found["low"] + 1e-6)
    assert p_of(found["high"] + 1e-6) <= 0.05 < p_of(found["high"] - 1e-6)


def test_raters_who_lean_decide_for_themselves_only():
    """Three of four raters lean to one system: certain of them, of nobody else."""
    rng = np.random.default_rng(1)
    votes = np.column_stack([rng.choice([1.0, 1.0, 1.0, -1.0], 50) for _ in range(4)])
    votes[:, 0] = rng.choice([1.0, -1.0, -1.0], 50)
    assert preference_lines(votes)["verdict"].tolist() == ["better", "undecided"]
    assert preference_lines(-votes)["verdict"].tolist() == ["worse", "undecided"]
    # Never surer of new raters than of these: p = 4/64 of the items alone.
    assert preference_lines([[1, 1, 1]] * 5 + [[1, 0, -1]])["p"].tolist() == [0.0625, 0.0625]
    pair = preference_lines(votes[:, :2]).iloc[1]
    assert pair["reason"] == "fewer_than_three_raters"
    assert np.isnan(pair["low"])
    assert pair["verdict"] == "cannot be measured"
    even = np.tile([[1.0], [-1.0]], (1000, 4))
    verdicts = [preference_lines(even, margin=margin)["verdict"][0] for margin in (0.05, 0.01)]
    assert verdicts == ["equivalent", "undecided"]


@settings(max_examples=15, deadline=None)
@given(PANELS, st.randoms())
def test_swapping_the_systems_mirrors_and_order_does_not_matter(votes, random):
    ours = preference_lines(votes)
    other = preference_lines(-votes)
    mirrored = 1 - other[["value", "high", "low"]]
    np.testing.assert_allclose(ours[["value", "low", "high"]], mirrored, atol=1e-9)
    order = [random.sample(range(size), size) for size in votes.shape]
    again = preference_lines(votes[np.ix_(*order)])
    for lines in (other, again):
        np.testing.assert_allclose(lines["p"], ours["p"], rtol=1e-9)


def test_raters_of_one_mind_have_no_interval_of_width_zero():
    for table, verdict, p in (
        ([[1, 1]] * 8, "better", 2**-7),
        ([[0, 0]] * 8, "no difference", 1.0),
    ):
        these = preference_lines(table).iloc[0]
        assert these[["verdict", "p"]].tolist() == [verdict, p]
        assert pd.isna(these["low"])
