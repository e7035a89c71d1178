import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.estimates import PAIR_COLUMNS, compare_systems
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.power import minimal_detectable_effect
from casebook.stats.tests import effect_sizes, holm, paired_randomization, paired_t, randomised_tukey_hsd, win_tie_loss

OPTIONS = {"n_boot": 1000, "n_resamples": 2000, "seed": 3}


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    skill = np.array([0.3, 0.1, 0.31, 0.32])
    values = rng.random((60, 1)) + rng.normal(scale=0.1, size=(60, 4)) + skill
    return pd.DataFrame(values, columns=["dense", "chance", "bm25", "full"])


def test_systems_table(scores):
    systems = compare_systems(scores, **OPTIONS).systems
    means = scores.mean().sort_values(ascending=False)
    columns = ["system", "mean", "ci_low", "ci_high", "n", "groups", "tie_class", "reason"]
    assert list(systems.columns) == columns
    assert systems["system"].tolist() == means.index.tolist()
    assert systems["mean"].to_numpy() == pytest.approx(means.to_numpy())
    assert systems["system"].iloc[-1] == "chance"
    assert (systems["n"] == 60).all()
    for row in systems.itertuples():
        alone = bootstrap_mean(scores[row.system], n_boot=1000, seed=3)
        assert (row.ci_low, row.ci_high) == pytest.approx((alone.low, alone.high))


def test_tie_classes_follow_max_t(scores):
    result = compare_systems(scores, **OPTIONS)
    labels = result.systems["tie_class"].str.split(",")
    classes = dict(zip(result.systems["system"], map(set, labels), strict=True))
    told_apart = result.pairs["p_max_t"] <= 0.05
    assert told_apart.any()
    assert not told_apart.all()
    for row in result.pairs.itertuples():
        shared = classes[row.system_a] & classes[row.system_b]
        assert bool(shared) != told_apart[row.Index]


def test_pairs_table_holds_what_the_single_procedures_give(scores):
    pairs = compare_systems(scores, **OPTIONS).pairs
    assert list(pairs.columns) == PAIR_COLUMNS
    test = paired_randomization(scores, n_resamples=20_000, seed=3)
    assert tuple(zip(pairs["system_a"], pairs["system_b"], strict=True)) == test.pairs
    error = {"abs": 0.03}  # of 2,000 draws
    assert pairs["p_randomisation"].tolist() == pytest.approx(test.pvalue, **error)
    assert pairs["p_max_t"].tolist() == pytest.approx(test.pvalue_max_t, **error)
    assert pairs["p_holm"].tolist() == holm(pairs["p_randomisation"])
    tukey = randomised_tukey_hsd(scores, 2000, seed=3)
    assert pairs["p_tukey"].tolist() == tukey.pvalue.tolist()
    for row in pairs.itertuples():
        a, b = scores[row.system_a], scores[row.system_b]
        counts = win_tie_loss(a, b)
        assert (row.wins, row.ties, row.losses) == (counts.wins, counts.ties, counts.losses)
        assert row.difference == pytest.approx((a - b).mean())
        assert row.ci_low < row.difference < row.ci_high
        assert row.p_t == paired_t(a, b).pvalue
        assert row.dz == effect_sizes(a, b).dz.estimate
        assert row.mde == pytest.approx(minimal_detectable_effect((a - b).std(), 60, alpha=0.05))


def test_baseline_restricts_the_family(scores):
    result = compare_systems(scores, baseline="chance", **OPTIONS)
    assert result.pairs["system_a"].tolist() == ["dense", "bm25", "full"]
    assert (result.pairs["system_b"] == "chance").all()
    assert (result.pairs["difference"] > 0).all()
    assert result.pairs["p_holm"].tolist() == holm(result.pairs["p_randomisation"])
    assert result.systems["tie_class"].isna().all()


def test_what_is_undefined_says_why(scores):
    twins = scores[["dense"]].assign(twin=scores["dense"])
    result = compare_systems(twins, **OPTIONS)
    [row] = result.pairs.to_dict("records")
    assert row["reason"] == "no_variation"
    assert row["p_randomisation"] == row["p_tukey"] == 1.0
    assert all(np.isnan(row[name]) for name in ("p_t", "p_wilcoxon", "dz", "mde"))
    assert result.systems["tie_class"].tolist() == ["1", "1"]
    single = compare_systems(scores.iloc[:1], **OPTIONS)
    assert (single.systems["reason"] == "fewer_than_six_units").all()
    assert single.systems["ci_low"].isna().all()


def test_one_system_has_no_pairs(scores):
    result = compare_systems(scores[["full"]], **OPTIONS)
    assert result.pairs.empty
    assert list(result.pairs.columns) == PAIR_COLUMNS
    assert result.systems["tie_class"].tolist() == ["1"]


def test_array_and_row_order(scores):
    table = compare_systems(scores.to_numpy(), **OPTIONS)
    assert table.systems["system"].tolist() == [3, 0, 2, 1]
    twice = [compare_systems(scores, **OPTIONS) for _ in range(2)]
    pd.testing.assert_frame_equal(twice[0].pairs, twice[1].pairs)


def test_bad_input_is_refused(scores):
    with pytest.raises(InputError, match="no units"):
        compare_systems(scores.iloc[:0])
    with pytest.raises(InputError, match="1 of 60 units"):
        compare_systems(scores.replace(scores.iloc[5, 0], np.nan))
    with pytest.raises(InputError, match="unknown baseline"):
        compare_systems(scores, baseline="none")
