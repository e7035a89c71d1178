import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.preference import (
    documented_preference,
    item_majority,
    item_tests,
    win_tie_loss_table,
)
from casebook.inference.preference_rates import UNITS, preference_intervals, win_rate
from casebook.inference.votes import item_means

PANELS = hnp.arrays(
    float,
    st.tuples(st.integers(2, 6), st.integers(2, 4)),
    elements=st.sampled_from([-1.0, 0.0, 1.0]),
)


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
    assert (pooled["ci_low"], pooled["ci_high"]) == pytest.approx(
        (0.5689, 0.7091), abs=5e-5
    )
    raters = table.drop(index="pooled")
    # Holm by hand: the two smallest p-values are equal, so both count four times.
    assert raters["p_holm"].to_list() == pytest.approx(
        [0.2962064, 0.1319881, 0.0104087, 0.0104087], abs=1e-7
    )
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
    # Published for the document's votes: raters taken as a sample, [.46, .77].
    both = table.loc[("drop", "item and rater")]
    assert (both["ci_low"], both["ci_high"]) == pytest.approx((0.46, 0.77), abs=0.008)
    width = (table["ci_high"] - table["ci_low"]).loc["half"]
    assert width["vote"] < width["item"] < width["item and rater"]
    assert table["win_rate"].loc["half"].unique() == [0.625]


def test_item_interval_equals_the_clustered_bootstrap(example):
    """Another implementation of the same resampling, with other random numbers."""
    ours = win_rate(example, unit="item", ties="drop", n_boot=20_000)
    long = example.stack()
    long = long[long != 0]
    items = long.index.get_level_values("item")
    peer = bootstrap_mean((long + 1) / 2, clusters=items, n_boot=20_000)
    assert ours.estimate == pytest.approx(peer.estimate, abs=1e-12)
    assert (ours.low, ours.high) == pytest.approx((peer.low, peer.high), abs=0.006)


def test_rater_interval_by_enumeration():
    """Three raters have 27 equally likely resamples: their quantiles are known."""
    votes = np.array([[1, 1, -1], [1, -1, -1], [1, 1, -1], [1, -1, -1]])
    shares = np.array([1.0, 0.5, 0.0])
    grid = np.array(np.meshgrid(*[shares] * 3)).reshape(3, -1).mean(axis=0)
    ours = win_rate(votes, unit="rater", level=0.8, n_boot=40_000)
    expected = np.quantile(grid, [0.1, 0.9], method="inverted_cdf")
    assert (ours.low, ours.high) == pytest.approx(tuple(expected), abs=1e-9)
    assert ours.n == 3


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
    tests, swapped = (
        item_tests(v, n_resamples=4096)["pvalue"].astype(float) for v in (votes, -votes)
    )
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
    ours, other = (
        item_tests(v, n_resamples=4096)["pvalue"].astype(float)
        for v in (votes, shuffled)
    )
    np.testing.assert_allclose(ours, other, rtol=1e-9)


def test_missing_votes_are_counted_and_change_nothing_else(example):
    padded = example.copy()
    padded["absent"] = np.nan
    padded.loc["empty"] = np.nan
    for unit in ("vote", "item", "rater", "item and rater"):
        ours, other = (win_rate(v, unit=unit, n_boot=500) for v in (example, padded))
        assert ours == other
    table = win_tie_loss_table(padded).set_index("rater")
    assert table.loc["absent", ["wins", "missing", "reason"]].to_list() == [
        0,
        51,
        "no_units",
    ]
    assert table.loc["absent", "p_holm"] is None


def test_undefined_is_none_with_a_reason():
    one = [[1, 1, -1]]
    assert win_rate(one, unit="item").reason == "fewer_than_two_units"
    assert win_rate(one, unit="item and rater").low is None
    assert win_rate([[0, 0], [0, 0]], unit="item", ties="drop").reason == "no_units"
    same = win_rate([[1, 1], [1, 1]], unit="item")
    assert (same.low, same.high, same.reason) == (1.0, 1.0, "no_variation")
    tied = item_tests([[0, 0], [1, -1]]).set_index("test")
    assert tied.loc["wilcoxon", "reason"] == "all_tied"
    assert tied.loc["majority sign", "reason"] == "no_units"
    with pytest.raises(InputError, match="unknown unit 'items'"):
        win_rate(one, unit="items")
    with pytest.raises(InputError, match="unknown ties"):
        win_rate(one, ties="third")
