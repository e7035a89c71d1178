"""Power against integrals; simulated panels against single studies."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from casebook.raters.power import (
    NEW_RATERS,
    PRIMARY_TEST,
    log_odds_of,
    marginal_probability,
    rejection_rates,
    simulate_votes,
)
from casebook.raters.preference import crossed_mean
from casebook.stats.tests import paired_randomization


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
        p = paired_randomization(study.mean(axis=1), n_resamples=2000).pvalue
        found.append({PRIMARY_TEST: p, NEW_RATERS: crossed_mean(study)["p"]})
    shares = (pd.DataFrame(found) <= 0.05).mean()
    assert rates[PRIMARY_TEST] == pytest.approx(shares[PRIMARY_TEST], abs=0.06)
    assert rates[NEW_RATERS] == pytest.approx(shares[NEW_RATERS], abs=1e-9)
