import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean
from casebook.raters import preference
from casebook.raters.documented import documented_preference
from casebook.raters.preference import (
    NEW_RATERS,
    THESE_RATERS,
    UNITS,
    item_flips,
    item_majority,
    item_means,
    item_tests,
    preference_intervals,
    preference_lines,
    win_rate,
    win_tie_loss_table,
)

PANELS = hnp.arrays(float, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=st.sampled_from([-1.0, 0.0, 1.0]))


def test_documented_figures(example):
    assert documented_preference(example) == {
        "rag_wins": 113,
        "rag_losses": 63,
        "ties": 24,
        "n_effective": 176,
        "p_value_sign_test": 0.00020218969307107758,
        "unmapped_or_missing": 0,
    }


def test_table_of_counts(example):
    table = win_tie_loss_table(example).set_index("rater")
    assert list(table.index) == ["rater1", "rater2", "rater3", "rater4", "pooled"]
    pooled = table.loc["pooled"]
    assert (pooled["ci_low"], pooled["ci_high"]) == pytest.approx((0.5689, 0.7091), abs=5e-5)
    raters = table.drop(index="pooled")
    # Holm by hand: the two smallest p-values are equal, so both count four times.
    assert raters["p_holm"].to_list() == pytest.approx([0.2962064, 0.1319881, 0.0104087, 0.0104087], abs=1e-7)
    assert pooled["p_holm"] is None


def test_items_as_units(example):
    assert item_majority(example).wins == 29
    tests = item_tests(example).set_index("test")
    means = item_means(example)
    peers = {
        "majority sign": stats.binomtest(29, 41).pvalue,
        "t": stats.ttest_1samp(means, 0).pvalue,
        "wilcoxon": stats.wilcoxon(means).pvalue,
        "wilcoxon-pratt": stats.wilcoxon(means, zero_method="pratt").pvalue,
    }
    for name, pvalue in peers.items():
        assert tests.loc[name, "pvalue"] == pytest.approx(pvalue, rel=1e-9)
    assert tests.loc["sign-flip", "pvalue"] == pytest.approx(peers["t"], abs=0.002)
    assert tests.loc["t", "n"] == 50


def test_intervals_widen_with_what_is_drawn(example):
    table = preference_intervals(example).set_index(["ties", "unit"])
    assert list(table.loc["drop"].index) == list(UNITS)
    both = table.loc[("drop", "item and rater")]
    # A bootstrap of both gives [.46, .77]; with four raters that is too narrow.
    assert both["ci_low"] < 0.46 and both["ci_high"] > 0.77
    assert set(table.xs("rater", level="unit")["reason"]) == {"fewer_than_six_clusters"}
    width = (table["ci_high"] - table["ci_low"]).loc["half"]
    assert width["vote"] < width["item"] < width["item and rater"]
    assert table["win_rate"].loc["half"].unique() == [0.625]


def test_intervals_of_one_kind_are_those_of_clusters(example):
    wide = np.hstack([example.to_numpy()] * 2)
    scores = (wide + 1) / 2
    for axis, unit in enumerate(("item", "rater")):
        ours = win_rate(wide, unit=unit, ties="half", n_boot=2_000)
        clusters = np.indices(wide.shape)[axis].ravel()
        peer = bootstrap_mean(scores.ravel(), clusters=clusters, n_boot=2_000)
        assert (ours.low, ours.high) == pytest.approx((peer.low, peer.high))
        assert ours.n == wide.shape[axis]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        float, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 1.0, np.nan])
    )
)
def test_the_exact_sign_flip_is_that_of_all_patterns(table):
    """Every pattern one by one, and every null value that the interval holds."""
    known = table[~np.isnan(table).all(axis=1)]
    found = item_flips(table)
    if not len(known):
        assert found.pvalue is None and found.interval.reason == "no_units"
        return
    means = np.nanmean(known, axis=1)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(means))))

    def p_of(null):
        sums = np.abs(signs @ (means - null))
        return np.mean(sums >= abs((means - null).sum()) - 1e-9)

    assert found.pvalue == pytest.approx(p_of(0), abs=1e-12) and found.error == 0
    interval = found.interval
    if interval.low is None:
        assert len(means) < 6 or p_of(-9) > 0.05
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
    assert drawn.interval.method == "20,000 random sign patterns" and drawn.error > 0
    assert abs(drawn.pvalue - exact.pvalue) < 4 * drawn.error + 1e-4
    for ours, other in zip(
        (drawn.interval.low, drawn.interval.high), (exact.interval.low, exact.interval.high), strict=True
    ):
        assert ours == pytest.approx(other, abs=0.01)
    other = item_flips(votes, n_resamples=20_000, seed=4)
    assert other.pvalue != drawn.pvalue


def test_raters_who_lean_decide_for_themselves_only():
    """Three of four raters lean to one system: certain of them, of nobody else."""
    rng = np.random.default_rng(1)
    votes = np.column_stack([rng.choice([1.0, 1.0, 1.0, -1.0], 50) for _ in range(4)])
    votes[:, 0] = rng.choice([1.0, -1.0, -1.0], 50)
    lines = preference_lines(votes).set_index("scope")
    assert lines.loc[THESE_RATERS, "verdict"] == "preferred"
    assert lines.loc[NEW_RATERS, "verdict"] == "undecided"
    pair = preference_lines(votes[:, :2]).set_index("scope").loc[NEW_RATERS]
    assert pair["reason"] == "fewer_than_three_raters" and np.isnan(pair["ci_low"])


@settings(max_examples=15, deadline=None)
@given(PANELS, st.sampled_from(["drop", "half"]))
def test_swapping_the_systems_mirrors_everything(votes, ties):
    for unit in UNITS:
        ours = win_rate(votes, unit=unit, ties=ties, n_boot=200)
        other = win_rate(-votes, unit=unit, ties=ties, n_boot=200)
        if ours.low is None:
            assert other.reason == ours.reason
            continue
        mirrored = (1 - other.estimate, 1 - other.high, 1 - other.low)
        assert (ours.estimate, ours.low, ours.high) == pytest.approx(mirrored, abs=1e-9)
    tests, swapped = (item_tests(v, n_resamples=4096)["pvalue"].astype(float) for v in (votes, -votes))
    np.testing.assert_allclose(tests, swapped, rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(PANELS, st.randoms())
def test_the_order_of_items_and_raters_does_not_matter(votes, random):
    items, raters = list(range(len(votes))), list(range(votes.shape[1]))
    random.shuffle(items)
    random.shuffle(raters)
    shuffled = votes[np.ix_(items, raters)]
    assert documented_preference(votes) == documented_preference(shuffled)
    assert item_majority(votes) == item_majority(shuffled)
    ours, other = (item_tests(v, n_resamples=4096)["pvalue"].astype(float) for v in (votes, shuffled))
    np.testing.assert_allclose(ours, other, rtol=1e-9)


def test_missing_votes_are_counted_and_change_nothing_else(example):
    padded = example.copy()
    padded["absent"] = np.nan
    padded.loc["empty"] = np.nan
    for unit in ("vote", "item", "rater", "item and rater"):
        ours, other = (win_rate(v, unit=unit, n_boot=500) for v in (example, padded))
        assert ours == other
    table = win_tie_loss_table(padded).set_index("rater")
    assert table.loc["absent", ["wins", "missing", "reason"]].to_list() == [0, 51, "no_units"]
    assert table.loc["absent", "p_holm"] is None


def test_undefined_is_none_with_a_reason():
    one = [[1, 1, -1]]
    assert win_rate(one, unit="item").reason == "fewer_than_six_clusters"
    assert win_rate(one, unit="item and rater").low is None
    assert win_rate([[0, 0], [0, 0]], unit="item", ties="drop").reason == "no_units"
    same = win_rate([[1, 1]] * 6, unit="item")
    assert (same.low, same.high, same.reason) == (1.0, 1.0, "no_variation")
    tied = item_tests([[0, 0], [1, -1]]).set_index("test")
    assert tied.loc["wilcoxon", "reason"] == "all_tied"
    assert tied.loc["majority sign", "reason"] == "no_units"
    with pytest.raises(InputError, match="unknown unit 'items'"):
        win_rate(one, unit="items")
    with pytest.raises(InputError, match="unknown ties"):
        win_rate(one, ties="third")
