"""Tests and intervals of a preference against published figures, scipy, and counting by hand."""

import itertools

import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from casebook.raters import preference
from casebook.raters.preference import (
    NEW_RATERS,
    THESE_RATERS,
    WIN_RATE_UNITS,
    dependence,
    equivalence,
    item_flips,
    item_means,
    item_tests,
    position_effect,
    preference_intervals,
    preference_lines,
    win_rate,
    win_rates,
    win_tie_loss_table,
)

VOTES = st.sampled_from([-1.0, 0.0, 1.0])
PANELS = hnp.arrays(float, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=VOTES)


# --- votes ------------------------------------------------------------------


def test_table_of_counts(example):
    table = win_tie_loss_table(example).set_index("rater")
    assert list(table.index) == ["rater1", "rater2", "rater3", "rater4", "pooled"]
    pooled = table.loc["pooled"]
    assert pooled[["wins", "losses", "ties", "missing", "n"]].tolist() == [113, 63, 24, 0, 176]
    assert (pooled["low"], pooled["high"]) == pytest.approx((0.5689, 0.7091), abs=5e-5)
    # Holm by hand: the two smallest p-values are equal, so both count four times.
    assert table["p_holm"].to_list()[:4] == pytest.approx(
        [0.2962064, 0.1319881, 0.0104087, 0.0104087], abs=1e-7
    )
    assert pooled["p_holm"] is None


def test_missing_votes_are_counted_and_change_nothing_else(example):
    padded = example.assign(absent=np.nan)
    padded.loc["empty"] = np.nan
    for unit in WIN_RATE_UNITS:
        assert win_rate(example, unit=unit, n_resamples=500) == win_rate(
            padded, unit=unit, n_resamples=500
        )
    table = win_tie_loss_table(padded).set_index("rater")
    assert table.loc["absent", ["wins", "missing", "reason", "p_holm"]].to_list() == [
        0,
        51,
        "no_units",
        None,
    ]


# --- items as units ------------------------------------------------------------------


def test_items_as_units(example):
    tests, means = item_tests(example).set_index("test"), item_means(example)
    assert tests.loc["majority sign", ["statistic", "n"]].tolist() == [29, 41]
    majority = stats.binomtest(29, 41).pvalue
    assert tests.loc["majority sign", "pvalue"] == pytest.approx(majority, rel=1e-9)
    student = stats.ttest_1samp(means, 0).pvalue
    assert tests.loc["sign-flip", "pvalue"] == pytest.approx(student, abs=0.002)


def test_six_items_bound_nothing_at_a_level_that_no_pattern_reaches():
    """All six signs alike come once in 64 patterns on each side."""
    votes = np.array([[1.0], [1.0], [1.0], [-1.0], [1.0], [0.0]])
    assert item_flips(votes, level=0.96).interval.reason is None  # 1/64 is less than 2 %
    found = item_flips(votes, level=0.99).interval
    assert (found.low, found.high, found.reason) == (None, None, "too_few_units_for_the_level")


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


def test_many_items_are_drawn_and_say_how_well(monkeypatch):
    votes = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (80, 3), p=[0.35, 0.25, 0.4])
    exact = item_flips(votes)
    monkeypatch.setattr(preference, "MOST_STEPS", 0)
    drawn = item_flips(votes, n_resamples=20_000, seed=3)
    assert drawn.interval.method == "20,000 random sign patterns"
    error = np.sqrt(exact.pvalue * (1 - exact.pvalue) / 20_000)
    assert abs(drawn.pvalue - exact.pvalue) < 4 * error + 1e-4
    bounds = [(x.interval.low, x.interval.high) for x in (drawn, exact)]
    assert bounds[0] == pytest.approx(bounds[1], abs=0.01)
    assert item_flips(votes, n_resamples=20_000, seed=4).pvalue != drawn.pvalue


def test_raters_who_lean_decide_for_themselves_only():
    """Three of four raters lean to one system: certain of them, of nobody else."""
    rng = np.random.default_rng(1)
    votes = np.column_stack([rng.choice([1.0, 1.0, 1.0, -1.0], 50) for _ in range(4)])
    votes[:, 0] = rng.choice([1.0, -1.0, -1.0], 50)
    lines = preference_lines(votes).set_index("scope")["verdict"]
    assert (lines[THESE_RATERS], lines[NEW_RATERS]) == ("preferred", "undecided")
    assert preference_lines(-votes)["verdict"].tolist() == ["not preferred", "undecided"]
    # Never surer of new raters than of these: p = 4/64 of the items alone.
    assert preference_lines([[1, 1, 1]] * 5 + [[1, 0, -1]])["p"].tolist() == [0.0625, 0.0625]
    pair = preference_lines(votes[:, :2]).set_index("scope").loc[NEW_RATERS]
    assert pair["reason"] == "fewer_than_three_raters" and np.isnan(pair["low"])


# --- the win rate ------------------------------------------------------------------


def test_intervals_widen_with_what_is_drawn(example):
    table = preference_intervals(example).set_index(["ties", "unit"])
    assert list(table.loc["drop"].index) == list(WIN_RATE_UNITS)
    both = table.loc[("drop", "item and rater")]
    # A bootstrap of both gives [.46, .77]; with four raters that is too narrow.
    assert both["low"] < 0.46 and both["high"] > 0.77
    assert set(table.xs("rater", level="unit")["reason"]) == {"fewer_than_six_clusters"}
    width = (table["high"] - table["low"]).loc["half"]
    assert width["vote"] < width["item"] < width["item and rater"]
    assert table["win_rate"].loc["half"].unique() == [0.625]


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
        item_tests(v, n_resamples=4096)["pvalue"].astype(float)
        for v in (votes, -votes, votes[np.ix_(*order)])
    )
    for other in others:
        np.testing.assert_allclose(tests, other, rtol=1e-9)


@pytest.mark.parametrize(
    ("votes", "how", "reason"),
    [
        ([[1, 1, -1]], {"unit": "item"}, "fewer_than_six_clusters"),
        ([[0, 0], [0, 0]], {"unit": "item", "ties": "drop"}, "no_units"),
        ([[1, 1]] * 6, {"unit": "item and rater"}, "fewer_than_three_raters"),
    ],
)
def test_undefined_is_none_with_a_reason(votes, how, reason):
    found = win_rate(votes, **how)
    assert found.reason == reason
    assert (found.low, found.high) == (None, None)


def test_no_interval_has_width_zero():
    """Raters of one mind: the interval of a share of six items, no interval of means that are all
    equal."""
    found = win_rate([[1, 1]] * 6, unit="item")
    assert (found.low, found.high) == pytest.approx((0.6097, 1), abs=1e-4)
    for table, verdict, p in (([[1, 1]] * 8, "preferred", 2**-7), ([[0, 0]] * 8, "undecided", 1.0)):
        these = preference_lines(table).set_index("scope").loc[THESE_RATERS]
        assert (these["verdict"], these["reason"]) == (verdict, "no_variation") and pd.isna(
            these["low"]
        )
        assert these["p"] == p


# --- equivalence, position, dependence ---------------------------------------------------


def panel(share, items, seed=0):
    return np.where(np.random.default_rng(seed).uniform(size=(items, 4)) < share, 1.0, -1.0)


@pytest.mark.parametrize(
    ("share", "items", "verdict"),
    [
        (0.5, 2000, "equivalent"),
        (0.7, 200, "different"),
        (0.3, 200, "different"),
        (0.52, 60, "undecided"),
    ],
)
def test_equivalence_is_that_of_statsmodels_and_the_level_decides(share, items, verdict):
    votes = panel(share, items)
    found = equivalence(votes, n_resamples=1000)
    peer = DescrStatsW((votes.mean(axis=1) + 1) / 2).ttost_mean(0.45, 0.55)[0]
    assert found["verdict"] == verdict and found["p_tost"] == pytest.approx(peer, abs=1e-12)
    if verdict == "undecided":
        levels = [
            equivalence(votes, alpha=factor * peer, n_resamples=100)["verdict"]
            for factor in (1.01, 0.99)
        ]
        assert levels == ["equivalent", "undecided"]


def biased(share, seed=0, shape=(100, 4)):
    """Raters who see no difference and choose the left with probability `share`."""
    rng = np.random.default_rng(seed)
    left = rng.uniform(size=shape) < 0.5
    return np.where((rng.uniform(size=shape) < share) == left, 1.0, -1.0), left


def test_bias_to_the_left_is_found_and_cancels_in_the_balanced_rate():
    effect = position_effect(*biased(0.7))
    assert (
        effect.left_choice.low > 0.6
        and effect.left_test.pvalue < 1e-10
        and effect.difference.low > 0.2
    )
    assert effect.side_balanced.low < 0.5 < effect.side_balanced.high
    none = position_effect(*biased(0.5))
    assert none.left_choice.low < 0.5 < none.left_choice.high
    chosen = round(none.left_choice.estimate * 400)
    assert none.left_test.pvalue == pytest.approx(stats.binomtest(chosen, 400).pvalue)


@given(hnp.arrays(float, (8, 3), elements=VOTES), hnp.arrays(bool, (8, 3)))
def test_swapping_systems_or_sides_mirrors_the_position_effect(votes, left):
    ours, systems, sides = (
        position_effect(*x) for x in ((votes, left), (-votes, ~left), (votes, ~left))
    )
    assert ours.left_choice == systems.left_choice
    if ours.side_balanced.estimate is not None:
        assert ours.side_balanced.estimate == pytest.approx(1 - systems.side_balanced.estimate)
    assert (
        ours.left_test.pvalue == sides.left_test.pvalue
        and ours.win_rate_left == sides.win_rate_right
    )


def test_sides_must_fit_and_all_on_one_side_has_no_balanced_rate():
    effect = position_effect([[1, -1]], [[True, True]])
    assert effect.side_balanced.reason == "no_units" and effect.win_rate_right.estimate is None
    assert effect.left_share == 1.0
    unknown = np.array([[True, None]], dtype=object)
    # A side that is missing where no vote was cast does no harm.
    assert position_effect([[1, np.nan]], unknown).left_choice.n == 1


def dependent(votes, **options):
    return dependence(votes, **options).set_index("measure")


def test_dependence_as_published_and_as_in_pingouin(example):
    table = dependent(example, n_resamples=200)
    icc, effect, effective, mixed = table["value"]
    assert (icc, effect) == pytest.approx((0.19, 1.57), abs=0.005)
    assert effective == pytest.approx(200 / effect)
    assert table["p"].iloc[3] == pytest.approx(0.009, abs=5e-4) and mixed > 0
    long = example.stack().rename("vote").reset_index()  # noqa: PD013 - item, rater and vote
    peer = pingouin.intraclass_corr(long, "item", "rater", "vote")["ICC"].iloc[0]
    assert icc == pytest.approx(peer, abs=1e-9)


def test_icc_of_unequal_groups_recovers_the_truth():
    """Latent shares with variance 1/12 between items and mean 1/6 within: ICC 1/3."""
    rng = np.random.default_rng(0)
    votes = np.where(rng.uniform(size=(20_000, 4)) < rng.uniform(size=(20_000, 1)), 1.0, -1.0)
    votes[rng.uniform(size=votes.shape) < 0.3] = np.nan
    assert dependence(votes, n_resamples=2)["value"].iloc[0] == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("votes", "reason"),
    [
        ([[1], [-1]], "fewer_than_two_raters"),
        ([[1, 1], [1, 1]], "no_variation"),
        ([[1, 1], [-1, -1]] * 4, "small_expected_counts"),
        ([[1, 1], [-1, -1]] * 5, None),
    ],
)
def test_whether_raters_differ_is_said_with_a_reason(votes, reason):
    row = dependence(votes, n_resamples=10).iloc[3]
    assert row["reason"] == reason or (reason is None and pd.isna(row["reason"]))
    assert pd.isna(row["value"]) == (reason in ("fewer_than_two_raters", "no_variation"))


def test_win_rates_of_raters_and_of_both_scopes_are_those_of_the_tests_behind_them(example):
    lines = preference_lines(example, n_resamples=1000)
    table = win_rates(example, lines, n_resamples=1000).set_index("who")
    for rater, votes in example.items():
        wins, losses = int((votes == 1).sum()), int((votes == -1).sum())
        row = table.loc[rater]
        assert row["value"] == pytest.approx((wins + row["ties"] / 2) / 50)
        # Signs of single votes turn independently, so the test of one rater is the binomial one.
        assert row["p"] == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
        assert (row["low"] > 0.5 or row["high"] < 0.5) == (row["p"] <= 0.05)
    both = table.loc[["these raters together", "other raters"], ["value", "low", "high", "p"]]
    assert both.to_numpy() == pytest.approx(lines[["win_rate", "low", "high", "p"]].to_numpy(float))
