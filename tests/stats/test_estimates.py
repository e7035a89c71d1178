import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.estimates import compare_systems, contrasts, estimates
from casebook.stats.tests import holm

DESIGNS = {
    "6 x 20": np.repeat(np.arange(6), 20),
    "15 x 8": np.repeat(np.arange(15), 8),
    "unequal": np.repeat(np.arange(9), [1, 2, 3, 5, 8, 12, 20, 30, 40]),
}


def two(differences):
    return pd.DataFrame({"new": differences, "old": np.zeros(len(differences))})


def one(differences, clusters=None, **options):
    return contrasts(two(differences), [("new", "old")], clusters, **options).iloc[0]


def test_p_and_interval_are_those_of_all_sign_patterns():
    d = np.random.default_rng(0).normal(0.4, 1, 11)
    signs = np.array(list(itertools.product([-1, 1], repeat=11)))
    p = np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-12)
    row = one(d)
    assert row.p == row.p_adjusted == pytest.approx(p)
    theirs = stats.permutation_test(
        (d, np.zeros(11)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert row.p == pytest.approx(theirs.pvalue)
    # Just inside the bounds a shift is not rejected, just outside it is.
    for bound, inward in ((row.low, 1e-6), (row.high, -1e-6)):
        assert one(d - bound - inward).p > 0.05
        assert one(d - bound + inward).p <= 0.05


def test_clusters_are_turned_as_a_whole():
    rng = np.random.default_rng(1)
    clusters = DESIGNS["unequal"]
    d = rng.normal(size=len(clusters)) + rng.normal(size=9)[clusters]
    sums = np.bincount(clusters, d)
    signs = np.array(list(itertools.product([-1, 1], repeat=9)))
    row = one(d, clusters)
    assert row.p == np.mean(np.abs(signs @ sums) >= abs(sums.sum()) - 1e-12)
    assert row.difference == pytest.approx(d.mean())
    assert (row.n, row.groups) == (121, 9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([6, 9, 25, 60]), st.sampled_from([0.0, 0.3, 1.0]))
def test_interval_test_and_verdict_never_contradict_each_other(seed, k, n, effect):
    rng = np.random.default_rng(seed)
    scores = pd.DataFrame(np.round(rng.normal(size=(n, k + 1)), 1))
    scores[0] += effect
    found = contrasts(scores, [(0, j) for j in range(1, k + 1)], n_resamples=500)
    decided = found["verdict"].isin(["better", "worse"])
    assert decided.tolist() == (found["p_adjusted"] <= 0.05).tolist()
    assert decided.tolist() == ((found["low"] > 0) | (found["high"] < 0)).tolist()
    assert (found["p"] <= found["p_adjusted"]).all()
    turned = contrasts(scores, [(j, 0) for j in range(1, k + 1)], n_resamples=500)
    assert turned["low"].to_numpy() == pytest.approx(-found["high"].to_numpy(), nan_ok=True)
    assert turned["p_adjusted"].tolist() == found["p_adjusted"].tolist()


def test_one_rule_where_holm_and_max_t_disagree():
    """Correlated systems: max-T decides what Holm over all pairs does not."""
    rng = np.random.default_rng(2)
    common = rng.normal(size=(40, 1))
    scores = pd.DataFrame(common + 0.3 * rng.normal(size=(40, 9)))
    scores[0] += 0.25
    found = compare_systems(scores, n_resamples=10_000)
    pairs = found.pairs
    disagree = (np.array(holm(pairs["p_randomisation"])) > 0.05) & (pairs["p_max_t"] <= 0.05)
    assert disagree.any()
    decided = pairs["verdict"].isin(["better", "worse"])
    assert decided.tolist() == (pairs["p_max_t"] <= 0.05).tolist()
    outside = (pairs["ci_low"] > 0) | (pairs["ci_high"] < 0)
    assert decided.tolist() == outside.tolist()
    labels = found.systems.set_index("system")["tie_class"].str.split(",").map(set)
    for row, apart in zip(pairs.itertuples(), decided, strict=True):
        assert apart != bool(labels[row.system_a] & labels[row.system_b])


def test_planned_contrasts_do_not_pay_for_all_pairs():
    rng = np.random.default_rng(6)
    scores = pd.DataFrame(rng.normal(size=(50, 12)))
    scores[0] += 0.6
    planned = compare_systems(scores, pairs=[(0, 1)]).pairs
    every = compare_systems(scores).pairs
    row = every[(every["system_a"] == 0) & (every["system_b"] == 1)].iloc[0]
    assert planned["p_max_t"][0] == planned["p_randomisation"][0]
    assert planned["p_max_t"][0] < row.p_max_t
    assert planned["verdict"][0] == "better" != row.verdict


@pytest.mark.parametrize("design", DESIGNS)
def test_null_with_groups_is_rejected_at_its_level(design):
    clusters, rng = DESIGNS[design], np.random.default_rng(4)
    groups, wrong = clusters.max() + 1, 0
    for seed in range(400):
        d = rng.normal(size=groups)[clusters] + rng.normal(size=len(clusters))
        wrong += one(d, clusters, n_resamples=500, seed=seed).verdict != "undecided"
    # At most .07 in the long run; 400 studies of .05 stay below .085.
    assert wrong / 400 <= 0.085
    naive = stats.ttest_1samp(rng.normal(size=(groups, 400))[clusters], 0).pvalue
    assert np.mean(naive <= 0.05) > 0.3


@pytest.mark.parametrize("n", [20, 50, 200])
def test_null_with_heavy_tails_is_rejected_at_its_level(n):
    rng, wrong = np.random.default_rng(5), 0
    for seed in range(500):
        row = one(rng.standard_t(3, n), n_resamples=500, seed=seed)
        wrong += row.low > 0 or row.high < 0
    assert 0.025 <= wrong / 500 <= 0.08


def test_family_of_contrasts_errs_once_in_twenty_studies():
    rng, wrong, pairs = np.random.default_rng(6), 0, [(k, 0) for k in range(1, 6)]
    for seed in range(300):
        scores = pd.DataFrame(rng.normal(size=(30, 6)))
        found = contrasts(scores, pairs, n_resamples=500, seed=seed)
        wrong += (found["verdict"] != "undecided").any()
    assert wrong / 300 <= 0.085


def test_few_clusters_have_no_interval_and_decide_nothing():
    clusters = np.repeat(np.arange(5), 40)
    d = 1 + np.random.default_rng(7).normal(size=200) / 10
    row = one(d, clusters)
    assert (row.verdict, row.reason) == ("undecided", "fewer_than_six_clusters")
    assert np.isnan([row.low, row.high]).all()
    found = estimates(two(d), clusters).iloc[0]
    assert found.reason == "fewer_than_six_clusters"
    assert np.isnan([found.low, found.high]).all()
    assert found.groups == 5


def test_equivalence_needs_a_margin_and_same_needs_none():
    d = np.random.default_rng(8).normal(0, 0.01, 60)
    assert one(d, margin=0.05).verdict == "equivalent"
    assert one(d).verdict == "undecided"
    same = one(np.zeros(60), margin=0.05)
    assert (same.verdict, same.p, same.low, same.high) == ("same", 1.0, 0.0, 0.0)
    assert one(d + 1, margin=0.05).verdict == "better"
    assert one(d - 1, margin=0.05).verdict == "worse"


def test_control_stands_beside_every_system():
    found = estimates(two(np.arange(8.0)), control="old")
    assert found["control"].tolist() == [0.0, 0.0]
    assert found["reason"].tolist() == [None, "no_variation"]


def test_bad_input_is_refused():
    frame = two(np.arange(8.0))
    with pytest.raises(InputError, match="unknown system 'full'"):
        contrasts(frame, [("new", "full")])
    with pytest.raises(InputError, match="unknown control"):
        estimates(frame, control="random")
    with pytest.raises(InputError, match="no units"):
        contrasts(frame.iloc[:0], [("new", "old")])
    with pytest.raises(InputError, match="1 of 8 units have no cluster"):
        contrasts(frame, [("new", "old")], [None, *"abcdefg"])
    with pytest.raises(InputError, match="1 of 8 units have a missing"):
        estimates(frame.replace(3.0, np.nan))
