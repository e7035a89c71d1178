"""Intervals against scipy and statsmodels, published digits, simulated coverage; bad samples."""

import numpy as np
import pandas as pd
import pytest
from cases import table
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from casebook.errors import InputError
from casebook.stats.intervals import (
    bootstrap_mean,
    bounds_text,
    clustered_wilson,
    percentile_interval,
    resampled_counts,
    wilson,
)
from casebook.stats.samples import score_matrix

SAMPLES = {
    "skewed": np.random.default_rng(1).exponential(size=40),
    "offset": 1e6 + np.random.default_rng(2).normal(size=60),
    "discrete": np.random.default_rng(3).choice([0, 1 / 3, 1 / 2, 1], size=50),
}


def bounds(interval):
    return interval.low, interval.high


def test_bounds_of_draws_are_their_quantiles():
    draws = np.linspace(0, 1, 1001)
    for reason in (None, "of a value that is not there"):
        interval = percentile_interval(0.5, draws, 30, reason=reason)
        assert bounds(interval) == pytest.approx((0.025, 0.975))


# Means.


@table([(name,) for name in SAMPLES])
def test_interval_is_the_hull_of_scipys_t_and_bca(name):
    sample = SAMPLES[name]
    ours = bootstrap_mean(sample, n_resamples=20_000, level=0.9)
    options = {
        "n_resamples": 20_000,
        "confidence_level": 0.9,
        "batch": 1000,
        "rng": np.random.default_rng(0),
    }
    bca = stats.bootstrap((sample,), np.mean, method="BCa", **options).confidence_interval
    student = stats.ttest_1samp(sample, 0).confidence_interval(0.9)
    # Means of the discrete sample lie on a lattice of step 1 / (6 * 50).
    tolerance = 0.05 * sample.std() / np.sqrt(len(sample)) + (1 / 300 if name == "discrete" else 0)
    assert ours.estimate == pytest.approx(sample.mean(), rel=1e-14)
    assert ours.low == pytest.approx(min(bca.low, student.low), abs=tolerance)
    assert ours.high == pytest.approx(max(bca.high, student.high), abs=tolerance)
    assert (ours.n, ours.level, ours.reason) == (len(sample), 0.9, None)
    student = stats.ttest_1samp(sample[:19], 0).confidence_interval(0.95)
    assert bounds(bootstrap_mean(sample[:19])) == pytest.approx((student.low, student.high))
    twenty = stats.ttest_1samp(SAMPLES["skewed"][:20], 0).confidence_interval(0.95)
    assert bootstrap_mean(SAMPLES["skewed"][:20]).high > twenty.high * 1.001


def test_whole_clusters_are_drawn():
    values = np.random.default_rng(7).normal(size=30)
    copied = bootstrap_mean(np.repeat(values, 4), clusters=np.repeat(np.arange(30), 4))
    assert bounds(copied) == pytest.approx(bounds(bootstrap_mean(values)))
    # Of unequal size: the ratio estimator, and Kish's (sum m)^2 / sum m^2 clusters.
    sizes = np.random.default_rng(8).integers(1, 9, 19)
    clusters = np.repeat(np.arange(19), sizes)
    values = np.random.default_rng(9).normal(size=19)[clusters] + clusters % 2
    found = bootstrap_mean(values, clusters=clusters)
    sums = np.bincount(clusters, values - values.mean())
    reach = stats.t.ppf(0.975, sizes.sum() ** 2 / np.sum(sizes**2) - 1) * np.sqrt(np.sum(sums**2))
    assert found.estimate == pytest.approx(values.mean(), rel=1e-12)
    assert np.ptp(bounds(found)) / 2 == pytest.approx(reach / sizes.sum(), rel=0.12)


@table(
    [
        ([], None, None, "no_units"),
        ([0.0, 0.0, 0.0, 0.0, 1.0], None, 0.2, "fewer_than_six_units"),
        ([0.25, 0.75, 0.5], list("abb"), 0.5, "fewer_than_six_units"),
        ([2.0] * 6, None, 2.0, "no_variation"),
        ([0.37] * 12, list("abcdef") * 2, 0.37, "no_variation"),
    ]
)
def test_what_has_no_interval_says_why(values, clusters, estimate, reason):
    mean = bootstrap_mean(values, clusters=clusters)
    assert (mean.estimate, *bounds(mean), mean.reason) == (
        pytest.approx(estimate) if values else None,
        None,
        None,
        reason,
    )


def test_wilsons_interval_joins_the_hull_of_a_share():
    for successes, n in [(0, 12), (12, 12), (1, 12), (11, 12), (3, 50), (30, 396)]:
        ones = bootstrap_mean([1] * successes + [0] * (n - successes))
        low, high = proportion_confint(successes, n, method="wilson")
        assert ones.low <= low + 1e-12, (successes, n)
        assert ones.high >= high - 1e-12, (successes, n)
    # A share that all clusters agree on counts clusters; equal values that are no shares have no interval.
    clusters = np.repeat(range(8), 5)
    ones = bootstrap_mean([1] * 40, clusters=clusters)
    assert bounds(ones) == pytest.approx(proportion_confint(8, 8, method="wilson"))
    ranks = bootstrap_mean([0] * 40, clusters=clusters, shares=False)
    assert (*bounds(ranks), ranks.reason) == (None, None, "no_variation")


# Statistics, and tables of counts.


def test_resampled_tables_have_the_moments_of_resampled_clusters():
    rng = np.random.default_rng(0)
    clusters, cells = rng.integers(0, 15, 100), rng.integers(0, 3, 100)
    (table, *draws), units = resampled_counts(cells, 4, clusters, n_resamples=20_000)
    draws = np.array(draws)
    by_cluster = np.zeros((15, 4))
    np.add.at(by_cluster, (clusters, cells), 1)
    assert table.tolist() == by_cluster.sum(axis=0).tolist()
    assert units == 15
    assert draws.mean(axis=0) == pytest.approx(by_cluster.sum(axis=0), rel=0.01)
    assert draws.var(axis=0) == pytest.approx(15 * by_cluster.var(axis=0), rel=0.05)
    assert (resampled_counts([0, 0, 2, 1, 2, 2], 3, n_resamples=50)[0].sum(axis=1) == 6).all()
    assert resampled_counts([0, 1] * 3, 2, list("aabbcc"))[0].tolist() == [[3, 3]]


# Shares.

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
# Newcombe (1998), method 3, with the digits of R.
NEWCOMBE = {
    (81, 263): (0.255288519878, 0.366209576983),
    (15, 148): (0.0623863995307, 0.160487241723),
}
NEWCOMBE |= {(0, 20): (0.0, 0.161125158053), (1, 29): (0.00611321429276, 0.171755218793)}


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_shares_equal_statsmodels(a, level):
    peer = proportion_confint(*a, alpha=1 - level, method="wilson")
    assert bounds(wilson(*a, level=level)) == pytest.approx(peer, abs=1e-12)
    ours, mirror = wilson(*a), wilson(a[1] - a[0], a[1])
    assert bounds(mirror) == pytest.approx((1 - ours.high, 1 - ours.low))


def test_shares_as_published_and_halves():
    for counts, expected in NEWCOMBE.items():
        assert bounds(wilson(*counts)) == pytest.approx(expected, abs=1e-12), counts
    assert wilson(12, 25).low < wilson(12.5, 25).low < wilson(13, 25).low


# Single units: Wilson's but for one degree of freedom; clusters that agree within: one unit each.
def test_clustered_shares():
    found = clustered_wilson([1] * 30 + [0] * 10, np.ones(40))
    assert bounds(found) == pytest.approx(bounds(wilson(30, 40)), abs=0.004)
    found = clustered_wilson([10] * 15 + [0] * 5, np.full(20, 10))
    assert bounds(found) == pytest.approx(bounds(wilson(0.75 * 19, 19)), abs=1e-9)
    assert (found.estimate, found.n) == (0.75, 200)
    sizes = [7, 3, 0, 5, 1, 2, 4]
    assert bounds(clustered_wilson(sizes, sizes)) == (pytest.approx(wilson(6, 6).low), 1.0)


def test_undefined_shares_have_a_reason_and_impossible_ones_raise():
    for empty in (wilson(0, 0), clustered_wilson([0, 0], [0, 0])):
        assert (empty.estimate, empty.low, empty.reason) == (None, None, "no_units")
    few = clustered_wilson([1, 2, 1, 0, 1], [2] * 5)
    assert (few.estimate, few.low, few.reason) == (0.5, None, "fewer_than_six_clusters")
    for counts in (3, 2), (-1, 2), (float("nan"), 2):
        with pytest.raises(InputError, match="impossible"):
            wilson(*counts)


# Samples.


@table(
    [
        (lambda: bootstrap_mean([0.1, np.nan, 0.2]), "1 of 3 units have a missing"),
        (
            lambda: bootstrap_mean([0.1, 0.2], clusters=["a", float("nan")]),
            "1 of 2 units have no cluster",
        ),
        (
            lambda: bootstrap_mean([0.1, 0.2], n_resamples=0),
            "n_resamples must be an integer of at least 1",
        ),
        (lambda: bootstrap_mean([0.1, 0.2], level=95), "level must lie between 0 and 1"),
        (
            lambda: score_matrix(pd.DataFrame({"a": [1, None, np.inf]}, index=list("xyz"))),
            "2 of 3 units .*first: y",
        ),
        (lambda: score_matrix(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])), "more than once: a"),
        (lambda: score_matrix([["high"], ["low"]]), "scores must be numbers"),
        (lambda: score_matrix(np.zeros((2, 2, 2))), "scores must be numbers: Must pass 2-d input"),
    ]
)
def test_bad_samples_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_bounds_are_written_apart_however_near_they_are():
    for arguments, text in {
        (-0.1, 0.25): "[-0.100, 0.250]",
        (-0.0003, 0.0004): "[-0.0003, 0.0004]",
        (0.9996, 0.9998, "+z.2f"): "[+0.9996, +0.9998]",
        (0.99999, 1.0): "[0.99999, 1.00000]",
        (-10, 3, "z.0f"): "[-10, 3]",
        (0.7, 0.7): "exactly",
        (None, 0.7): "[no interval]",
        (float("nan"), 0.7): "[no interval]",
    }.items():
        assert bounds_text(*arguments) == text, arguments
