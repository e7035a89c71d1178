import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import table
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.frames import (
    compare_systems,
    contrasts,
    estimates,
    tie_classes,
)
from casebook.stats.tests import (
    effect_sizes,
    holm,
    minimal_detectable_effect,
    paired_randomization,
    random_signs,
)

UNEQUAL = np.repeat(np.arange(9), [1, 2, 3, 5, 8, 12, 20, 30, 40])


def two(differences):
    return pd.DataFrame({"new": differences, "old": np.zeros(len(differences))})


def one(differences, clusters=None, **options):
    return contrasts(two(differences), [("new", "old")], clusters, **options).iloc[0]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.sampled_from([6, 9, 25, 60]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
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
    differs = found.pairs["p_adjusted"] <= 0.05
    assert (differs & (np.array(holm(found.pairs["p"])) > 0.05)).any()
    labels = found.systems.set_index("system")["tie_class"].str.split(",").map(set)
    for row, apart in zip(found.pairs.itertuples(), differs, strict=True):
        assert apart == (row.verdict in ("better", "worse"))
        assert apart != bool(labels[row.system] & labels[row.against])


def sign_patterns(groups, n_resamples, seed):
    """All signs but mirror images, or the signs that the library draws and those of the data."""
    if 2 ** (groups - 1) <= n_resamples:
        return np.array([(1, *signs) for signs in itertools.product([1, -1], repeat=groups - 1)])
    drawn = np.concatenate(list(random_signs(groups, n_resamples, seed))).astype(int)
    return np.vstack([np.ones(groups, dtype=int), 2 * drawn - 1])


def adjusted_p(sums, sizes, signs, column, value):
    """The max-T p-value of one column with a value subtracted from it, from its definition."""
    shifted = sums.copy()
    shifted[:, column] -= sizes * value
    units = np.sqrt(np.sum(shifted**2, axis=0))
    units[units == 0] = 1.0
    statistics = np.abs(signs @ shifted) / units
    observed = abs(shifted[:, column].sum()) / units[column]
    return np.mean(statistics.max(axis=1) >= observed - 1e-9)


def check_inversion(differences, clusters=None, n_resamples=10_000, seed=0):
    """Compare every interval of a family with the values of a fine grid that its test does not
    reject; count the intervals."""
    scores = pd.DataFrame(differences)
    of_cluster = scores.groupby(np.arange(len(scores)) if clusters is None else clusters)
    sums = of_cluster.sum().to_numpy()
    sizes = of_cluster.size().to_numpy()
    signs = sign_patterns(len(sums), n_resamples, seed)
    pairs = [(k, "zero") for k in scores]
    table = contrasts(scores.assign(zero=0.0), pairs, clusters, n_resamples=n_resamples, seed=seed)
    reach = np.abs(differences).max() * 1.5 or 1.0
    grid = np.linspace(-reach, reach, 401) + 1e-4 * reach  # off the round values, where p jumps
    for k, row in table.iterrows():
        assert row["p_adjusted"] == pytest.approx(adjusted_p(sums, sizes, signs, k, 0.0))
        if not np.isnan(row["low"]):
            kept = [adjusted_p(sums, sizes, signs, k, value) > 0.05 for value in grid]
            assert kept == ((grid >= row["low"]) & (grid <= row["high"])).tolist()
    return table["low"].notna().sum()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(6, 10),
    st.integers(1, 3),
    st.sampled_from(["ties", "zeros", "continuous"]),
    st.sampled_from([1, 4]),
)
def test_an_interval_is_the_inversion_of_its_test_over_all_patterns(
    seed, groups, columns, kind, largest
):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(groups), rng.integers(1, largest + 1, groups))
    differences = rng.normal(0.3, 1, (len(clusters), columns))
    differences += rng.normal(size=groups)[clusters, None]
    if kind == "ties":
        differences = np.round(differences)
    if kind == "zeros":
        differences = np.where(rng.random(differences.shape) < 0.7, 0.0, np.sign(differences))
    check_inversion(differences, clusters)


@table(itertools.product((1, 3), (True, False)))
def test_an_interval_is_the_inversion_of_its_test_over_drawn_patterns(columns, tied):
    differences = np.random.default_rng(columns).normal(0.2, 1, (15, columns))
    scores = np.round(differences) if tied else differences
    assert check_inversion(scores, n_resamples=800) == columns


def test_few_clusters_have_an_interval_by_unit_that_says_so():
    clusters, d = np.repeat(np.arange(5), 40), 0.02 + np.random.default_rng(7).normal(size=200) / 10
    row, mean = one(d, clusters), estimates(two(d), clusters).iloc[0]
    assert row["reason"] == mean["reason"] == "interval_by_unit"
    assert row["groups"] == mean["groups"] == 5
    assert (row["low"], row["high"]) == (one(d)["low"], one(d)["high"])
    assert (mean["low"], mean["high"]) == tuple(estimates(two(d)).loc[0, ["low", "high"]])


def test_equivalence_needs_a_margin():
    d = np.random.default_rng(8).normal(0, 0.01, 60)
    assert one(d, margin=0.05).verdict == "equivalent"
    assert one(d).verdict == "undecided"
    assert one(d + 1, margin=0.05).verdict == "better"
    assert one(d - 1, margin=0.05).verdict == "worse"


@table(
    [
        ([0.0] * 60, None, ("no difference", "no_unit_differs", 0.0)),
        ([1.0] * 12, None, ("better", "no_variation", 1.0)),
        ([0.0, 1.0] * 6, np.repeat(range(6), 2), ("better", "no_variation", 0.5)),
        ([1.0, 2, 3, 4, 5], list("aabbc"), ("undecided", "fewer_than_six_units", 3.0)),
    ]
)
def test_what_has_no_interval_says_why(differences, clusters, expected):
    row = one(differences, clusters, margin=0.05)
    assert (row["verdict"], row["reason"], row["difference"]) == expected
    assert np.isnan([row["low"], row["high"]]).all()


def test_what_did_not_happen_is_no_result_and_no_part_of_the_family():
    rng = np.random.default_rng(3)
    scores = pd.DataFrame(rng.normal(size=(30, 3)), columns=["full", "bm25", "split"])
    pairs = [("full", "bm25"), ("full", "split")]
    table = contrasts(scores, pairs, not_measured={("full", "split"): "no claim has two parts"})
    pd.testing.assert_frame_equal(table[:1], contrasts(scores, pairs[:1]))
    assert table.loc[1, "verdict":].tolist() == ["cannot be measured", "no claim has two parts"]
    assert table.loc[1, ["difference", "low", "high", "p", "p_adjusted"]].isna().all()
    nothing = contrasts(scores, pairs[1:], not_measured={pairs[1]: "no claim has two parts"})
    assert nothing["verdict"].tolist() == ["cannot be measured"]


def test_control_stands_beside_every_system():
    found = estimates(two(np.arange(8.0)) + 0.5, control="old")
    assert found["control"].tolist() == [0.5, 0.5]
    assert found["reason"].tolist() == [None, "no_variation"]


@table(
    [
        (lambda frame: contrasts(frame, [("new", "full")]), "unknown system 'full'"),
        (lambda frame: estimates(frame, control="random"), "unknown control"),
        (lambda frame: contrasts(frame.iloc[:0], [("new", "old")]), "no units"),
        (
            lambda frame: contrasts(frame, [("new", "old")], [None, *"abcdefg"]),
            "1 of 8 units have no cluster",
        ),
        (lambda frame: compare_systems(frame, baseline="none"), "unknown baseline"),
        (lambda frame: estimates(frame.replace(3.0, np.nan)), "1 of 8 units have a missing"),
    ]
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


OPTIONS = {"n_resamples": 2000, "seed": 3}


def test_comparison_holds_what_the_single_procedures_give(four):
    found = compare_systems(four, **OPTIONS)
    means = estimates(four, **OPTIONS).sort_values("value", ascending=False, ignore_index=True)
    same = ["system", "value", "low", "high", "n"]
    pd.testing.assert_frame_equal(found.systems[same], means[same], check_dtype=False)
    pairs, test = found.pairs, paired_randomization(four, n_resamples=20_000, seed=3)
    assert tuple(zip(pairs["system"], pairs["against"], strict=True)) == test.pairs
    assert pairs["p"].tolist() == pytest.approx(test.pvalue, abs=0.03)
    assert pairs["p_adjusted"].tolist() == pytest.approx(test.pvalue_max_t, abs=0.03)
    assert pairs["p_holm"].tolist() == holm(pairs["p"])
    for row in pairs.itertuples():
        a, b = four[row.system], four[row.against]
        assert (row.wins, row.losses) == ((a > b).sum(), (a < b).sum())
        assert row.low < row.difference < row.high
        assert row.difference == pytest.approx((a - b).mean())
        assert row.dz == effect_sizes(a, b).dz.estimate
        assert row.mde == pytest.approx(minimal_detectable_effect((a - b).std(), 60, alpha=0.05))


def test_baseline_twins_and_single_systems(four):
    against = compare_systems(four, baseline="chance", **OPTIONS)
    assert against.pairs["system"].tolist() == ["dense", "bm25", "full"]
    assert (against.pairs["against"] == "chance").all() and (against.pairs["difference"] > 0).all()
    assert against.systems["tie_class"].isna().all()
    twins = compare_systems(four[["dense"]].assign(twin=four["dense"]), **OPTIONS)
    [row] = twins.pairs.to_dict("records")
    assert (row["wins"], row["ties"], row["losses"]) == (0, 60, 0)
    assert (row["reason"], row["p"]) == ("no_unit_differs", 1.0)
    assert np.isnan([row[name] for name in ("dz", "mde")]).all()
    assert twins.systems["tie_class"].tolist() == ["1", "1"]
    few = compare_systems(four[["dense", "chance"]].iloc[:4], **OPTIONS)
    assert few.pairs["verdict"].tolist() == ["undecided"]  # p cannot be small
    alone = compare_systems(four[["full"]].to_numpy(), **OPTIONS)
    assert alone.pairs.empty and alone.systems["tie_class"].tolist() == ["1"]


@given(st.integers(0, 7), st.randoms(use_true_random=False))
def test_classes_are_the_largest_sets_without_a_difference(size, random):
    differ = np.zeros((size, size), dtype=bool)
    for pair in itertools.combinations(range(size), 2):
        differ[pair] = differ[pair[::-1]] = random.random() < 0.4
    subsets = [
        set(members)
        for count in range(1, size + 1)
        for members in itertools.combinations(range(size), count)
        if not differ[np.ix_(members, members)].any()
    ]
    largest = sorted(sorted(one) for one in subsets if not any(one < other for other in subsets))
    expected = [
        ",".join(str(k) for k, members in enumerate(largest, 1) if system in members)
        for system in range(size)
    ]
    assert tie_classes(differ) == expected


def test_ties_are_not_transitive_and_undecided_is_not_equal():
    assert tie_classes([[0, 0, 1], [0, 0, 0], [1, 0, 0]]) == ["1", "1,2", "2"]
    assert tie_classes(1 - np.eye(3)) == ["1", "2", "3"]


def test_import_leaves_the_slow_packages_out():
    code = "import sys, casebook.frames, casebook.measures.agreement; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"scipy.stats", "scipy.optimize", "statsmodels", "sklearn"} & set(run.stdout.split())
