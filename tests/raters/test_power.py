"""Power against R and integrals; simulated panels against single studies."""

import numpy as np
import pytest
from scipy import integrate, stats

from casebook.raters.power import (
    POOLED,
    PRIMARY_TEST,
    log_odds_of,
    marginal_probability,
    rejection_rates,
    simulate_votes,
)
from casebook.raters.preference import win_rate
from casebook.stats.tests import exact_sign_test, paired_randomization


def test_power_of_independent_votes_is_that_of_r():
    """The exact power of the sign test on 50 votes, by R's pbinom."""
    votes = simulate_votes(4_000, 50, 1, win_rate=0.65)
    rates = rejection_rates(votes, n_resamples=99).set_index("test")
    assert rates.loc[POOLED, "low"] < 0.505979935487 < rates.loc[POOLED, "high"]
    none = rejection_rates(simulate_votes(4_000, 50, 1), n_resamples=99).set_index("test")
    assert none.loc[POOLED, "low"] < 0.0328391375643 < none.loc[POOLED, "high"]


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
            POOLED: exact_sign_test(int((study == 1).sum()), int((study == -1).sum())).pvalue,
            PRIMARY_TEST: paired_randomization(means, n_resamples=2000).pvalue,
        }
        interval = win_rate(study, unit="item and rater", ties="half")
        rejected = {name: (0 if p is None else p) <= 0.05 for name, p in pvalues.items()}
        found.append(rejected | {"item and rater t": interval.low > 0.5 or interval.high < 0.5})
    for name in rates.index:
        share = np.mean([study[name] for study in found])
        assert rates[name] == pytest.approx(share, abs=0.06 if name == PRIMARY_TEST else 1e-9)
