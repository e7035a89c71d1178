import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.frames import PAIR_COLUMNS, compare_systems, contrasts, count_verdicts, estimates, tie_classes
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.tests import (
    effect_sizes,
    holm,
    minimal_detectable_effect,
    paired_randomization,
    paired_t,
    randomised_tukey_hsd,
)

UNEQUAL = np.repeat(np.arange(9), [1, 2, 3, 5, 8, 12, 20, 30, 40])


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
    clusters = UNEQUAL
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
    scores = pd.DataFrame(rng.normal(size=(40, 1)) + 0.3 * rng.normal(size=(40, 9)))
    scores[0] += 0.25
    found = compare_systems(scores, n_resamples=10_000)
    pairs = found.pairs
    assert ((np.array(holm(pairs["p_randomisation"])) > 0.05) & (pairs["p_max_t"] <= 0.05)).any()
    decided = pairs["verdict"].isin(["better", "worse"])
    assert decided.tolist() == (pairs["p_max_t"] <= 0.05).tolist()
    assert decided.tolist() == ((pairs["ci_low"] > 0) | (pairs["ci_high"] < 0)).tolist()
    labels = found.systems.set_index("system")["tie_class"].str.split(",").map(set)
    for row, apart in zip(pairs.itertuples(), decided, strict=True):
        assert apart != bool(labels[row.system_a] & labels[row.system_b])


def test_few_clusters_have_no_interval_and_decide_nothing():
    clusters, d = np.repeat(np.arange(5), 40), 1 + np.random.default_rng(7).normal(size=200) / 10
    row, found = one(d, clusters), estimates(two(d), clusters).iloc[0]
    assert (row.verdict, row.reason, found.reason) == ("undecided", *["fewer_than_six_clusters"] * 2)
    assert np.isnan([row.low, row.high, found.low, found.high]).all()
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda frame: contrasts(frame, [("new", "full")]), "unknown system 'full'"),
        (lambda frame: estimates(frame, control="random"), "unknown control"),
        (lambda frame: contrasts(frame.iloc[:0], [("new", "old")]), "no units"),
        (lambda frame: contrasts(frame, [("new", "old")], [None, *"abcdefg"]), "1 of 8 units have no cluster"),
        (lambda frame: compare_systems(frame, baseline="none"), "unknown baseline"),
        (lambda frame: estimates(frame.replace(3.0, np.nan)), "1 of 8 units have a missing"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call(two(np.arange(8.0)))


# All systems and all pairs beside each other.


@pytest.fixture(scope="module")
def four():
    rng = np.random.default_rng(0)
    values = rng.random((60, 1)) + rng.normal(scale=0.1, size=(60, 4)) + [0.3, 0.1, 0.31, 0.32]
    return pd.DataFrame(values, columns=["dense", "chance", "bm25", "full"])


OPTIONS = {"n_boot": 1000, "n_resamples": 2000, "seed": 3}


def test_comparison_holds_what_the_single_procedures_give(four):
    found = compare_systems(four, **OPTIONS)
    means = four.mean().sort_values(ascending=False)
    assert found.systems["system"].tolist() == means.index.tolist()
    assert found.systems["mean"].to_numpy() == pytest.approx(means.to_numpy())
    for row in found.systems.itertuples():
        alone = bootstrap_mean(four[row.system], n_boot=1000, seed=3)
        assert (row.ci_low, row.ci_high, row.n) == (pytest.approx(alone.low), pytest.approx(alone.high), 60)
    pairs, test = found.pairs, paired_randomization(four, n_resamples=20_000, seed=3)
    assert list(pairs.columns) == PAIR_COLUMNS
    assert tuple(zip(pairs["system_a"], pairs["system_b"], strict=True)) == test.pairs
    assert pairs["p_randomisation"].tolist() == pytest.approx(test.pvalue, abs=0.03)
    assert pairs["p_max_t"].tolist() == pytest.approx(test.pvalue_max_t, abs=0.03)
    assert pairs["p_holm"].tolist() == holm(pairs["p_randomisation"])
    assert pairs["p_tukey"].tolist() == randomised_tukey_hsd(four, 2000, seed=3).pvalue.tolist()
    for row in pairs.itertuples():
        a, b = four[row.system_a], four[row.system_b]
        assert (row.wins, row.losses) == ((a > b).sum(), (a < b).sum())
        assert row.difference == pytest.approx((a - b).mean())
        assert row.ci_low < row.difference < row.ci_high
        assert (row.p_t, row.dz) == (paired_t(a, b).pvalue, effect_sizes(a, b).dz.estimate)
        assert row.mde == pytest.approx(minimal_detectable_effect((a - b).std(), 60, alpha=0.05))


def test_baseline_twins_and_single_systems(four):
    against = compare_systems(four, baseline="chance", **OPTIONS)
    assert against.pairs["system_a"].tolist() == ["dense", "bm25", "full"]
    assert (against.pairs["system_b"] == "chance").all() and (against.pairs["difference"] > 0).all()
    assert against.systems["tie_class"].isna().all()
    twins = compare_systems(four[["dense"]].assign(twin=four["dense"]), **OPTIONS)
    [row] = twins.pairs.to_dict("records")
    assert (row["wins"], row["ties"], row["losses"]) == (0, 60, 0)
    assert (row["reason"], row["p_randomisation"], row["p_tukey"]) == ("no_variation", 1.0, 1.0)
    assert np.isnan([row[name] for name in ("p_t", "p_wilcoxon", "dz", "mde")]).all()
    assert twins.systems["tie_class"].tolist() == ["1", "1"]
    few = compare_systems(four[["dense", "chance"]].iloc[:4], **OPTIONS)
    assert few.pairs["verdict"].tolist() == ["undecided"]  # p cannot be small
    alone = compare_systems(four[["full"]].to_numpy(), **OPTIONS)
    assert alone.pairs.empty and alone.systems["tie_class"].tolist() == ["1"]


@given(st.integers(0, 8), st.randoms(use_true_random=False))
def test_systems_share_a_class_exactly_if_not_told_apart(size, random):
    told_apart = np.zeros((size, size), dtype=bool)
    for i, j in itertools.combinations(range(size), 2):
        told_apart[i, j] = told_apart[j, i] = random.random() < 0.4
    classes = [set(text.split(",")) for text in tie_classes(told_apart)]
    for i, j in itertools.combinations(range(size), 2):
        assert bool(classes[i] & classes[j]) != told_apart[i, j]


def test_ties_are_not_transitive_and_undecided_is_not_equal():
    assert tie_classes([[0, 0, 1], [0, 0, 0], [1, 0, 0]]) == ["1", "1,2", "2"]
    assert tie_classes(1 - np.eye(3)) == ["1", "2", "3"]
    text = count_verdicts(["not tested", "better", "undecided", "same"], "gains")
    assert text == "Of 3 gains: 1 decided, 1 the same throughout, 1 undecided, which is not to say equal."
    text = count_verdicts(["better", "undecided"], "gains")
    assert text == "Of 2 gains: 1 decided, 1 undecided, which is not to say equal."


def test_import_leaves_the_slow_packages_out():
    code = "import sys, casebook.frames, casebook.measures.agreement; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"scipy.stats", "scipy.optimize", "statsmodels", "sklearn"} & set(run.stdout.split())
