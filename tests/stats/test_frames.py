import itertools

import numpy as np
import pandas as pd
import pytest
from cases import table
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.frames import (
    contrasts,
    estimates,
    pair_sizes,
    tie_classes,
)
from casebook.scores import Scores
from casebook.stats.tests import (
    minimal_detectable_effect,
    paired_randomization,
    sign_patterns,
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


# Signs of the patterns that the library makes, and those of the data.
def all_signs(groups, n_resamples, seed):
    patterns = np.concatenate(list(sign_patterns(groups, n_resamples, seed))).astype(int)
    if 2 ** (groups - 1) <= n_resamples:  # but mirror images
        found = {tuple(min(signs, 1 - signs, key=tuple)) for signs in patterns}
        assert len(found) == len(patterns) == 2 ** (groups - 1) - 1
        assert all(0 < signs.sum() < groups for signs in patterns)
    return np.vstack([np.ones(groups, dtype=int), 2 * patterns - 1])


# The max-T p-value of one column with a value subtracted from it, from its definition.
def adjusted_p(sums, sizes, signs, column, value):
    shifted = sums.copy()
    shifted[:, column] -= sizes * value
    units = np.sqrt(np.sum(shifted**2, axis=0))
    units[units == 0] = 1.0
    statistics = np.abs(signs @ shifted) / units
    observed = abs(shifted[:, column].sum()) / units[column]
    return np.mean(statistics.max(axis=1) >= observed - 1e-9)


# Compare every interval of a family with the values of a fine grid that its test does not reject;
# count the intervals.
def check_inversion(differences, clusters=None, n_resamples=10_000, seed=0):
    scores = pd.DataFrame(differences)
    of_cluster = scores.groupby(np.arange(len(scores)) if clusters is None else clusters)
    sums = of_cluster.sum().to_numpy()
    sizes = of_cluster.size().to_numpy()
    signs = all_signs(len(sums), n_resamples, seed)
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


def test_bad_input_is_refused():
    frame = two(np.arange(8.0))
    calls = {
        "unknown system 'full'": lambda: contrasts(frame, [("new", "full")]),
        "unknown control": lambda: estimates(frame, control="random"),
        "no units": lambda: contrasts(frame.iloc[:0], [("new", "old")]),
        "8 units have no cluster": lambda: contrasts(frame, [("new", "old")], [None, *"abcdefg"]),
        "8 units have a missing": lambda: estimates(frame.replace(3.0, np.nan)),
    }
    for message, call in calls.items():
        with pytest.raises(InputError, match=message):
            call()


# All systems and all pairs beside each other.


def test_a_ranking_and_its_pairs_are_what_the_single_procedures_give():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(40, 1)) + 0.3 * rng.normal(size=(40, 9)))
    frame[0] += 0.25
    frame.columns = list("abcdefghi")
    scores = Scores(frame, "points", "exam", n_resamples=10_000, seed=3)
    pairs = scores.pairs()
    test = paired_randomization(frame, n_resamples=20_000, seed=3)
    assert pairs["p"].tolist() == pytest.approx(test.pvalue, abs=0.03)
    assert pairs["p_adjusted"].tolist() == pytest.approx(test.pvalue_max_t, abs=0.03)
    ranking = scores.ranking(pairs).set_index("system")
    assert ranking["value"].tolist() == pytest.approx(sorted(frame.mean(), reverse=True))
    classes = ranking["tie_class"].str.split(",").map(set)
    sizes = pair_sizes(frame, zip(pairs["system"], pairs["against"], strict=True), 0.05, None)
    for row, size in zip(pairs.itertuples(), sizes.itertuples(), strict=True):
        assert (row.p_adjusted > 0.05) == bool(classes[row.system] & classes[row.against])
        difference = frame[row.system] - frame[row.against]
        assert (row.better, row.worse) == ((difference > 0).sum(), (difference < 0).sum())
        assert size.dz == pytest.approx(difference.mean() / difference.std())
        detectable = minimal_detectable_effect(difference.std(), 40, alpha=0.05)
        assert size.mde == pytest.approx(detectable)
    equal = pair_sizes(pd.DataFrame({"a": [0.4] * 35, "b": [0.3] * 35}), [("a", "b")], 0.05, None)
    assert equal.isna().all(axis=None)  # differences that do not vary


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
    pairs = pd.DataFrame(np.argwhere(np.triu(differ)), columns=["system", "against"])
    assert tie_classes(range(size), pairs.assign(p_adjusted=0.05), 0.05) == expected
