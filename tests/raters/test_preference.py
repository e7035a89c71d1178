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
    WIN_RATE_UNITS,
    item_flips,
    position_effect,
    preference_lines,
    win_rate,
    win_rates,
)

VOTES = st.sampled_from([-1.0, 0.0, 1.0])
PANELS = hnp.arrays(float, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=VOTES)


# --- votes ------------------------------------------------------------------


def test_table_of_counts(example):
    table = win_rates(example)
    raters = ["rater1", "rater2", "rater3", "rater4"]
    assert list(table["who"]) == [*raters, THESE_RATERS, NEW_RATERS]
    of_all = table.iloc[-1]
    assert of_all[["wins", "losses", "ties", "missing", "n"]].tolist() == [113, 63, 24, 0, 200]
    # Holm by hand: the two smallest p-values are equal, so both count four times.
    assert table["p_holm"].to_list()[:4] == pytest.approx(
        [0.2962064, 0.1319881, 0.0104087, 0.0104087], abs=1e-7
    )
    assert table["p_holm"].iloc[4:].isna().all()


# --- items as units ------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 9), st.integers(1, 3)),
        elements=st.sampled_from([-1.0, 0.0, 1.0, np.nan]),
    )
)
def test_the_exact_sign_flip_is_that_of_all_patterns(table):
    """Every pattern one by one, and every null value that the interval holds."""
    known, found = table[~np.isnan(table).all(axis=1)], item_flips(table)
    if not len(known):
        assert found.pvalue is None and found.interval.reason == "no_units"
        return
    means = np.nanmean(known, axis=1)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(means))))

    def p_of(null):
        return np.mean(np.abs(signs @ (means - null)) >= abs((means - null).sum()) - 1e-9)

    assert found.pvalue == pytest.approx(p_of(0), abs=1e-12)
    interval = found.interval
    if interval.low is None:
        assert len(means) < 6 or p_of(-9) > 0.05 or np.ptp(means) == 0
        return
    assert (not interval.low <= 0 <= interval.high) == (found.pvalue <= 0.05)
    if interval.reason is None:
        assert p_of(interval.low - 1e-6) <= 0.05 < p_of(interval.low + 1e-6)
        assert p_of(interval.high + 1e-6) <= 0.05 < p_of(interval.high - 1e-6)


def test_raters_who_lean_decide_for_themselves_only():
    """Three of four raters lean to one system: certain of them, of nobody else."""
    rng = np.random.default_rng(1)
    votes = np.column_stack([rng.choice([1.0, 1.0, 1.0, -1.0], 50) for _ in range(4)])
    votes[:, 0] = rng.choice([1.0, -1.0, -1.0], 50)
    lines = preference_lines(votes).set_index("scope")["verdict"]
    assert (lines[THESE_RATERS], lines[NEW_RATERS]) == ("better", "undecided")
    assert preference_lines(-votes)["verdict"].tolist() == ["worse", "undecided"]
    # Never surer of new raters than of these: p = 4/64 of the items alone.
    assert preference_lines([[1, 1, 1]] * 5 + [[1, 0, -1]])["p"].tolist() == [0.0625, 0.0625]
    pair = preference_lines(votes[:, :2]).set_index("scope").loc[NEW_RATERS]
    assert pair["reason"] == "fewer_than_three_raters" and np.isnan(pair["low"])
    assert pair["verdict"] == "cannot be measured"
    even = np.tile([[1.0], [-1.0]], (1000, 4))
    wide, narrow = (preference_lines(even, margin=margin)["verdict"] for margin in (0.05, 0.01))
    assert (wide[0], narrow[0]) == ("equivalent", "undecided")


# --- the win rate ------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(PANELS, st.sampled_from(["drop", "half"]), st.randoms())
def test_swapping_the_systems_mirrors_and_order_does_not_matter(votes, ties, random):
    for unit in WIN_RATE_UNITS:
        ours, other = (win_rate(v, unit=unit, ties=ties, n_resamples=200) for v in (votes, -votes))
        if ours.low is None:
            assert other.reason == ours.reason
            continue
        mirrored = (1 - other.estimate, 1 - other.high, 1 - other.low)
        assert (ours.estimate, ours.low, ours.high) == pytest.approx(mirrored, abs=1e-9)
    order = [random.sample(range(size), size) for size in votes.shape]
    tests, *others = (
        item_flips(v, n_resamples=4096).pvalue for v in (votes, -votes, votes[np.ix_(*order)])
    )
    assert others == pytest.approx([tests, tests], rel=1e-9)


def test_raters_of_one_mind_have_no_interval_of_width_zero():
    assert win_rate([[1, 1]] * 6).low == pytest.approx(0.6097, abs=1e-4)  # of a share of six items
    for table, verdict, p in (([[1, 1]] * 8, "better", 2**-7), ([[0, 0]] * 8, "undecided", 1.0)):
        these = preference_lines(table).iloc[0]
        assert these[["verdict", "reason", "p"]].tolist() == [verdict, "no_variation", p]
        assert pd.isna(these["low"])


# --- position ---------------------------------------------------


@given(hnp.arrays(float, (8, 3), elements=VOTES), hnp.arrays(bool, (8, 3)))
def test_swapping_systems_or_sides_mirrors_the_position_effect(votes, left):
    ours, systems, sides = (
        position_effect(*case).set_index("what")
        for case in ((votes, left), (-votes, ~left), (votes, ~left))
    )
    rate = ["value", "low", "high"]
    chosen = "left answer chosen"
    pd.testing.assert_series_equal(ours.loc[chosen], systems.loc[chosen])
    assert ours.loc[chosen, "p"] == pytest.approx(sides.loc[chosen, "p"], nan_ok=True)
    balanced = "win rate, sides balanced"
    mirrored = 1 - systems.loc[balanced, ["value", "high", "low"]].to_numpy(float)
    assert ours.loc[balanced, rate].to_numpy(float) == pytest.approx(mirrored, nan_ok=True)
    at_left = ours.loc["win rate on the left", rate].to_numpy(float)
    at_right = sides.loc["win rate on the right", rate].to_numpy(float)
    assert at_left == pytest.approx(at_right, nan_ok=True)
