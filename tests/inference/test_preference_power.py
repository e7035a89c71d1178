import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from casebook.errors import InputError
from casebook.inference.paired import paired_t
from casebook.inference.permutation import paired_randomization
from casebook.inference.sign_tests import exact_sign_test
from casebook.raters.power import PRIMARY as RECOMMENDED
from casebook.raters.power import (
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


def test_power_equals_r():
    assert sign_test_power(50, 0.65) == pytest.approx(0.505979935487, abs=1e-12)
    assert sign_test_power(50, 0.5) == pytest.approx(0.0328391375643, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 120), st.floats(0.05, 0.95), st.sampled_from([0.01, 0.05, 0.2]))
def test_power_by_enumeration(n, rate, alpha):
    wins = [k for k in range(n + 1) if exact_sign_test(k, n - k).pvalue <= alpha]
    enumerated = stats.binom.pmf(wins, n, rate).sum()
    assert sign_test_power(n, rate, alpha=alpha) == pytest.approx(enumerated, abs=1e-9)


@pytest.mark.parametrize("rate", [0.55, 0.65, 0.75, 0.3])
def test_no_larger_study_falls_short(rate):
    n = sign_test_sample_size(rate)
    assert sign_test_power(n - 1, rate) < 0.8
    assert all(sign_test_power(k, rate) >= 0.8 for k in range(n, n + 60))
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    normal = (z / (2 * rate - 1)) ** 2
    assert normal < n < 1.2 * normal + 12


def test_power_table():
    table = power_table(design_effect=1.57).set_index("win_rate")
    assert table["votes"].to_list() == [820, 210, 97, 54, 35]
    assert table["clustered_votes"][0.55] == 1288
    assert (table["power"] >= 0.8).all()


@pytest.mark.parametrize("sd", [0.0, 0.7, 2.0])
def test_marginal_probability_equals_the_integral(sd):
    def density(z):
        return stats.logistic.cdf(0.8 + sd * z) * stats.norm.pdf(z)

    exact = integrate.quad(density, -12, 12)[0]
    assert marginal_probability(0.8, sd) == pytest.approx(exact, abs=1e-6)
    assert log_odds_of(marginal_probability(0.8, sd), sd) == pytest.approx(0.8, abs=1e-9)


def test_simulated_votes_have_the_parameters_asked_for():
    votes = simulate_votes(400, 50, 4, win_rate=0.65, tie_rate=0.12, item_sd=1.3, rater_sd=0.5)
    assert votes.shape == (400, 50, 4)
    assert np.mean(votes == 0) == pytest.approx(0.12, abs=0.005)
    assert np.mean(votes[votes != 0] > 0) == pytest.approx(0.65, abs=0.015)
    wins = simulate_votes(400, 50, 4, item_sd=1.3) > 0
    # Two raters agree on an item as often as the common log odds make them.
    nodes = 1.3 * np.random.default_rng(0).standard_normal(200_000)
    share = stats.logistic.cdf(nodes)
    agreement = np.mean(share**2 + (1 - share) ** 2)
    assert np.mean(wins[:, :, 0] == wins[:, :, 1]) == pytest.approx(agreement, abs=0.015)
    again = simulate_votes(400, 50, 4, item_sd=1.3) > 0
    np.testing.assert_array_equal(wins, again)


def test_study_tests_are_those_of_single_studies():
    """The vectorised tests against the library's own, study by study."""
    votes = simulate_votes(60, 30, 3, win_rate=0.65, tie_rate=0.1, item_sd=1.0)
    rates = rejection_rates(votes, n_resamples=1999).set_index("test")["rejected"]
    found = {"pooled sign": 0, "item t": 0, "item sign-flip": 0, "rater t": 0}
    found |= {"item and rater t": 0}
    for study in votes.astype(float):
        means = study.mean(axis=1)
        wins, losses = (int(np.sum(study == value)) for value in (1, -1))
        flip = paired_randomization(means, n_resamples=2000)
        pvalues = {
            "pooled sign": exact_sign_test(wins, losses).pvalue,
            "item t": paired_t(means).pvalue,
            "rater t": paired_t(study.mean(axis=0)).pvalue,
            "item sign-flip": flip.pvalue,
        }
        for name, pvalue in pvalues.items():
            found[name] += (pvalue if pvalue is not None else 0) <= 0.05
        interval = win_rate(study, unit="item and rater", ties="half")
        found["item and rater t"] += interval.low > 0.5 or interval.high < 0.5
    for exact in ("pooled sign", "item t", "rater t", "item and rater t"):
        assert rates[exact] == pytest.approx(found[exact] / 60)
    drawn = "item sign-flip"
    assert rates[drawn] == pytest.approx(found[drawn] / 60, abs=0.06)


def test_power_grows_with_everything_that_helps():
    table = simulated_power(items=(20, 80), win_rates=(0.5, 0.7), studies=300)
    power = table[table["test"] == RECOMMENDED].set_index(["items", "win_rate"])
    power = power["rejected"]
    assert power[20, 0.5] < power[20, 0.7] < power[80, 0.7]
    assert list(table["n"].unique()) == [300]


def test_bad_input():
    with pytest.raises(InputError, match="more than 200000 votes"):
        sign_test_sample_size(0.5)
    with pytest.raises(InputError, match="must exceed alpha"):
        sign_test_sample_size(0.6, power=0.01)
    with pytest.raises(InputError, match="design_effect must be above 0"):
        power_table(design_effect=0)
    with pytest.raises(InputError, match="tie_rate must lie in"):
        simulate_votes(1, 2, 3, tie_rate=1)
    with pytest.raises(InputError, match="standard deviations"):
        simulate_votes(1, 2, 3, item_sd=-1)
    with pytest.raises(InputError, match="raters must be an integer"):
        simulate_votes(1, 2, 0)


@pytest.mark.filterwarnings("error")
def test_a_test_over_one_rater_has_no_power_to_tell():
    options = {"items": (8,), "raters": (1,), "win_rates": (0.8,), "studies": 50}
    found = simulated_power(**options).set_index("test")
    assert np.isnan(found.loc["rater t", "rejected"])
    assert found.loc["rater t", "n"] == 0
    assert found["rejected"].notna().sum() == len(found) - 2
