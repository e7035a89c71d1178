import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean, bootstrap_statistic
from casebook.inference.resampling import resample_means

SAMPLES = {
    "skewed": np.random.default_rng(1).exponential(size=40),
    "offset": 1e6 + np.random.default_rng(2).normal(size=60),
    "discrete": np.random.default_rng(3).choice([0, 1 / 3, 1 / 2, 1], size=50),
    "large": np.random.default_rng(4).beta(2, 3, size=700),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_interval_agrees_with_scipy_within_monte_carlo_error(name, method):
    sample = SAMPLES[name]
    ours = bootstrap_mean(sample, method=method, n_boot=20_000, level=0.9)
    theirs = stats.bootstrap(
        (sample,),
        np.mean,
        method=method.lower() if method == "percentile" else "BCa",
        n_resamples=20_000,
        confidence_level=0.9,
        batch=1000,
        rng=np.random.default_rng(0),
    )
    error = sample.std() / np.sqrt(len(sample))
    assert ours.estimate == pytest.approx(sample.mean(), rel=1e-14)
    # Means of the discrete sample lie on a lattice of step 1 / (6 * 50).
    tolerance = 0.05 * error + (1 / 300 if name == "discrete" else 0)
    bounds = theirs.confidence_interval
    assert (ours.low, ours.high) == pytest.approx(bounds, abs=tolerance)
    assert (ours.n, ours.level, ours.reason) == (len(sample), 0.9, None)


def test_draws_are_plain_resampled_means():
    sample = SAMPLES["skewed"]
    draws = resample_means(sample, n_boot=20_000).draws[:, 0]
    rng = np.random.default_rng(5)
    plain = sample[rng.integers(0, len(sample), (20_000, len(sample)))].mean(axis=1)
    assert stats.ks_2samp(draws, plain).pvalue > 0.001
    assert draws.std() == pytest.approx(sample.std() / np.sqrt(len(sample)), rel=0.03)


def test_columns_share_resamples_and_differences_are_paired():
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(80, 1)) + rng.normal(scale=0.1, size=(80, 3))
    resamples = resample_means(scores, n_boot=500)
    differences = resamples.differences([(0, 1), (2, 1)])
    direct = resample_means(scores[:, [0, 2]] - scores[:, [1]], n_boot=500)
    assert np.allclose(differences.draws, direct.draws, rtol=0, atol=1e-13)
    assert np.allclose(differences.estimates, direct.estimates, rtol=0, atol=1e-13)
    for method in ("percentile", "bca"):
        for a, b in zip(
            differences.intervals(method=method),
            direct.intervals(method=method),
            strict=True,
        ):
            assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-12)


def test_whole_clusters_are_drawn():
    rng = np.random.default_rng(7)
    values, clusters = rng.normal(size=30), np.repeat(np.arange(30), 4)
    alone = resample_means(values, n_boot=2000)
    copied = resample_means(np.repeat(values, 4), clusters=clusters, n_boot=2000)
    assert np.allclose(alone.draws, copied.draws, rtol=0, atol=1e-14)
    naive = resample_means(np.repeat(values, 4), n_boot=2000)
    assert naive.draws.std() == pytest.approx(alone.draws.std() / 2, rel=0.05)


def test_clusters_of_unequal_size_follow_the_ratio_estimator():
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 9, 200)
    clusters = np.repeat([f"c{k}" for k in range(200)], sizes)
    values = np.repeat(rng.normal(size=200), sizes) + rng.normal(size=len(clusters))
    resamples = resample_means(values, clusters=clusters, n_boot=4000)
    sums = pd.Series(values).groupby(clusters, sort=False).sum().to_numpy()
    residuals = sums - values.mean() * sizes
    linearised = np.sqrt(np.sum(residuals**2)) / sizes.sum()
    assert resamples.estimates[0] == pytest.approx(values.mean(), rel=1e-12)
    assert resamples.draws.std() == pytest.approx(linearised, rel=0.05)


@pytest.mark.parametrize(("method", "bound"), [("percentile", 2.0), ("bca", None)])
def test_constant_sample_is_degenerate_and_says_so(method, bound):
    interval = bootstrap_mean([2.0] * 5, method=method)
    assert (interval.estimate, interval.low, interval.high) == (2.0, bound, bound)
    assert interval.reason == "no_variation"


def test_constant_difference_is_constant_in_spite_of_rounding():
    a = np.random.default_rng(9).random(50)
    resamples = resample_means(np.column_stack([a + 0.1, a]), n_boot=200)
    [interval] = resamples.differences([(0, 1)]).intervals()
    assert interval.reason == "no_variation"
    assert interval.low == interval.high == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("values", "clusters", "estimate", "reason"),
    [
        ([], None, None, "no_units"),
        ([0.5], None, 0.5, "fewer_than_two_units"),
        ([0.25, 0.75], ["a", "a"], 0.5, "fewer_than_two_clusters"),
    ],
)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_too_small_samples_have_no_bounds(values, clusters, estimate, reason, method):
    interval = bootstrap_mean(values, clusters=clusters, method=method)
    assert (interval.estimate, interval.low, interval.high) == (estimate, None, None)
    assert (interval.n, interval.reason) == (len(values), reason)


def test_bca_without_draws_on_both_sides_is_undefined():
    interval = bootstrap_mean(np.arange(9.0), method="bca", n_boot=2, seed=0)
    assert (interval.low, interval.reason) == (None, "bias_unbounded")


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="1 of 3 units have a missing"):
        bootstrap_mean([0.1, np.nan, 0.2])
    with pytest.raises(InputError, match="1 of 2 units have no cluster"):
        bootstrap_mean([0.1, 0.2], clusters=["a", None])
    with pytest.raises(InputError, match="1 of 2 units have no cluster"):
        bootstrap_mean([0.1, 0.2], clusters=["a", float("nan")])
    with pytest.raises(InputError, match="one cluster for each of 2"):
        bootstrap_mean([0.1, 0.2], clusters=["a"])
    with pytest.raises(InputError, match="unknown method 'BCa'"):
        bootstrap_mean([0.1, 0.2], method="BCa")
    with pytest.raises(InputError, match="n_boot"):
        bootstrap_mean([0.1, 0.2], n_boot=0)
    with pytest.raises(InputError, match="level"):
        bootstrap_mean([0.1, 0.2], level=95)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=30),
    st.floats(-1000, 1000),
    st.sampled_from([0.001, 0.5, 3.0, 1e4]),
    st.sampled_from(["percentile", "bca"]),
)
def test_interval_moves_with_shift_and_scale(values, shift, scale, method):
    values = np.round(values, 3)
    plain = bootstrap_mean(values, n_boot=200, method=method)
    moved = bootstrap_mean(shift + scale * values, n_boot=200, method=method)
    assert (plain.reason is None) == (moved.reason is None)
    if plain.low is not None:
        expected = [shift + scale * x for x in (plain.low, plain.high)]
        tolerance = 1e-9 * (abs(shift) + 100 * scale)
        assert [moved.low, moved.high] == pytest.approx(expected, abs=tolerance)
        low, high = values.min() - 1e-12, values.max() + 1e-12
        assert low <= plain.low <= plain.high <= high


@pytest.mark.parametrize(
    ("method", "low", "high"), [("percentile", 0.87, 0.95), ("bca", 0.89, 0.965)]
)
def test_coverage_on_a_skewed_sample(method, low, high):
    """Exponential, n = 30, nominal 0.95: the known shortfall, and no more than it."""
    rng = np.random.default_rng(10)
    samples = rng.exponential(size=(30, 600))
    intervals = resample_means(samples, n_boot=2000).intervals(method=method)
    covered = np.mean([x.low <= 1 <= x.high for x in intervals])
    assert low <= covered <= high


def test_statistic_interval_is_the_mean_interval_for_the_mean():
    sample = SAMPLES["skewed"]
    ours = bootstrap_statistic(sample, np.mean, n_boot=5000)
    mean = bootstrap_mean(sample, n_boot=20_000)
    error = sample.std() / np.sqrt(len(sample))
    assert (ours.low, ours.high) == pytest.approx(
        (mean.low, mean.high), abs=0.1 * error
    )


def test_statistic_of_a_frame_sees_whole_rows():
    rng = np.random.default_rng(11)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=60)})

    def correlation(rows):
        return rows["x"].corr(rows["y"])

    interval = bootstrap_statistic(frame, correlation, n_boot=400)
    assert interval.estimate == frame["x"].corr(frame["y"])
    assert 0.3 < interval.low < interval.estimate < interval.high < 0.95


def test_statistic_undefined_in_a_resample_has_no_bounds():
    def odds(rows):
        return rows.mean() / (1 - rows.mean()) if rows.mean() < 1 else None

    interval = bootstrap_statistic(np.array([0.0, 1.0, 1.0]), odds, n_boot=200)
    assert interval.estimate == pytest.approx(2.0)
    assert (interval.low, interval.reason) == (None, "undefined_in_resamples")
    assert bootstrap_statistic(np.array([]), odds).reason == "no_units"
    assert bootstrap_statistic(np.array([0.0]), odds).reason == "fewer_than_two_units"
