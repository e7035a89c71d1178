"""Power against R, enumeration and integrals; simulated panels against single studies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from casebook.raters.power import (
    PRIMARY_TEST,
    interval_coverage,
    log_odds_of,
    marginal_probability,
    power_table,
    rejection_rates,
    sign_test_power,
    sign_test_sample_size,
    simulate_votes,
    simulated_power,
)
from casebook.raters.preference import win_rate
from casebook.stats.tests import exact_sign_test, paired_randomization


def test_power_equals_r():
    assert sign_test_power(50, 0.65) == pytest.approx(0.505979935487, abs=1e-12)
    # The level is reached exactly where all six votes agree.
    assert sign_test_power(6, 0.75, alpha=2**-5) == pytest.approx(0.75**6 + 0.25**6)
    assert sign_test_power(50, 0.5) == pytest.approx(0.0328391375643, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 120), st.floats(0.05, 0.95), st.sampled_from([0.01, 0.05, 0.2, 2**-5]))
def test_power_by_enumeration(n, rate, alpha):
    wins = [k for k in range(n + 1) if exact_sign_test(k, n - k).pvalue <= alpha]
    assert sign_test_power(n, rate, alpha=alpha) == pytest.approx(
        stats.binom.pmf(wins, n, rate).sum(), abs=1e-9
    )


@pytest.mark.parametrize("rate", [0.55, 0.65, 0.75, 0.3])
def test_no_larger_study_falls_short(rate):
    n = sign_test_sample_size(rate)
    assert sign_test_power(n - 1, rate) < 0.8
    assert (sign_test_power(np.arange(n, n + 60), rate) >= 0.8).all()
    normal = ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) / (2 * rate - 1)) ** 2
    assert normal < n < 1.2 * normal + 12


def test_power_table():
    table = power_table(design_effect=1.57).set_index("win_rate")
    assert table["votes"].to_list() == [820, 210, 97, 54, 35]
    assert table["clustered_votes"][0.55] == 1288 and (table["power"] >= 0.8).all()


@pytest.mark.parametrize("sd", [0.0, 0.7, 2.0])
def test_marginal_probability_equals_the_integral(sd):
    exact = integrate.quad(lambda z: stats.logistic.cdf(0.8 + sd * z) * stats.norm.pdf(z), -12, 12)[
        0
    ]
    assert marginal_probability(0.8, sd) == pytest.approx(exact, abs=1e-6)
    assert log_odds_of(marginal_probability(0.8, sd), sd) == pytest.approx(0.8, abs=1e-9)


def test_simulated_votes_have_the_parameters_asked_for():
    votes = simulate_votes(400, 50, 4, win_rate=0.65, tie_rate=0.12, item_sd=1.3, rater_sd=0.5)
    assert votes.shape == (400, 50, 4)
    assert np.mean(votes == 0) == pytest.approx(0.12, abs=0.005)
    assert np.mean(votes[votes != 0] > 0) == pytest.approx(0.65, abs=0.015)
    wins = simulate_votes(400, 50, 4, item_sd=1.3) > 0
    # Two raters agree on an item as often as the common log odds make them.
    share = stats.logistic.cdf(1.3 * np.random.default_rng(0).standard_normal(200_000))
    agreement = np.mean(share**2 + (1 - share) ** 2)
    assert np.mean(wins[:, :, 0] == wins[:, :, 1]) == pytest.approx(agreement, abs=0.015)
    np.testing.assert_array_equal(wins, simulate_votes(400, 50, 4, item_sd=1.3) > 0)


def test_study_tests_are_those_of_single_studies():
    """The vectorised tests against the library's own, study by study."""
    votes = simulate_votes(60, 30, 3, win_rate=0.65, tie_rate=0.1, item_sd=1.0)
    rates = rejection_rates(votes, n_resamples=1999).set_index("test")["rejected"]
    found = []
    for study in votes.astype(float):
        means = study.mean(axis=1)
        pvalues = {
            "pooled sign": exact_sign_test(
                int((study == 1).sum()), int((study == -1).sum())
            ).pvalue,
            "item majority sign": exact_sign_test(
                int((means > 0).sum()), int((means < 0).sum())
            ).pvalue,
            "item t": stats.ttest_1samp(means, 0).pvalue,
            "rater t": stats.ttest_1samp(study.mean(axis=0), 0).pvalue,
            PRIMARY_TEST: paired_randomization(means, n_resamples=2000).pvalue,
        }
        interval = win_rate(study, unit="item and rater", ties="half")
        rejected = {name: (0 if p is None else p) <= 0.05 for name, p in pvalues.items()}
        found.append(rejected | {"item and rater t": interval.low > 0.5 or interval.high < 0.5})
    for name in rates.index:
        share = np.mean([study[name] for study in found])
        assert rates[name] == pytest.approx(share, abs=0.06 if name == PRIMARY_TEST else 1e-9)


@pytest.mark.filterwarnings("error")
def test_a_test_over_one_rater_has_no_power_to_tell():
    found = simulated_power(items=(8,), raters=(1,), win_rates=(0.8,), studies=50).set_index("test")
    assert np.isnan(found.loc["rater t", "rejected"]) and found.loc["rater t", "n"] == 0
    assert found["rejected"].notna().sum() == len(found) - 2


def test_intervals_hold_the_truth_that_is_theirs():
    """The truth for new items is that of the raters of the study, who lean; for new raters it is
    that of all."""
    table = interval_coverage(
        items=40, raters=5, win_rate=0.62, studies=200, n_resamples=200
    ).set_index("unit")
    assert table["n"].tolist() == [200, 200]
    assert table["coverage"].between(0.88, 1).all()
    few = interval_coverage(
        items=40, raters=2, win_rate=0.62, studies=5, n_resamples=200
    ).set_index("unit")
    assert few.loc["item and rater", "n"] == 0 and few.loc["item", "n"] == 5
