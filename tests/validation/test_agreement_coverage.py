"""The coverage study: its truth is exact, and both intervals keep their promise."""

import numpy as np
import pandas as pd
import pytest
from agreement_coverage import COEFFICIENTS, TABLE
from severity_model import Design, pair_distribution, simulate, true_value

from casebook.measures import agreement


def test_truth_is_what_large_studies_approach():
    design = Design(items=40_000, raters=4, rater_sd=0.5)
    ratings, severities = simulate(design, np.random.default_rng(1))
    pairs = pair_distribution(severities)
    assert pairs.sum() == pytest.approx(1)
    found = agreement.agreement_results(ratings, n_resamples=0, coefficients=COEFFICIENTS)
    for name, result in found.items():
        assert abs(result.estimate - true_value(name, pairs)) < 4 * result.se


def test_raters_drawn_anew_are_the_mean_of_many_panels():
    severities = 0.5 * np.random.default_rng(0).standard_normal(300)
    many = pair_distribution(severities, nodes=20)
    anew = pair_distribution(rater_sd=0.5)
    np.testing.assert_allclose(many, anew, atol=0.01)
    alike = pair_distribution(np.zeros(3))
    np.testing.assert_allclose(alike, pair_distribution(rater_sd=0.0), atol=1e-12)


def test_table_of_the_book():
    table = pd.read_csv(TABLE)
    table["coverage"] = table["coverage"].str.split().str[0].astype(float)
    assert set(table["coefficient"]) == {agreement.COEFFICIENT_TITLES[c] for c in COEFFICIENTS}
    same = table[table["interval"].eq("this panel") & table["truth"].eq("this panel")]
    assert same["coverage"].between(0.93, 0.97).all()
    new = table[table["interval"].eq("new panel")]
    assert new["coverage"].min() >= 0.94
