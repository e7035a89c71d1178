"""Paired tests, effect sizes and power against scipy, statsmodels, pingouin and published
numbers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from casebook.raters.documented import documented_sign_test
from casebook.stats.tests import (
    exact_sign_test,
    holm,
    minimal_detectable_effect,
    paired_randomization,
)

# Darwin's maize, crossed minus self-fertilised, in eighths of an inch: Fisher, The
# Design of Experiments, 1935, sections 17 and 21. He counts 863 of 32768 sign vectors
# whose sum reaches 314.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
A = np.random.default_rng(0).random(35)
B = A + np.random.default_rng(1).normal(0.1, 0.2, 35)


# Randomisation.


def test_fishers_maize():
    found = paired_randomization(MAIZE)
    assert found.pvalue == found.pvalue_max_t == 2 * 863 / 2**15
    assert (found.statistic, found.n) == (pytest.approx(314 / 15), 15)
    small = [1e-9 * difference for difference in MAIZE]
    assert paired_randomization(small).pvalue == found.pvalue  # whatever the unit


def test_enumeration_equals_scipy_and_random_signs_estimate_it():
    rng = np.random.default_rng(1)
    scores = rng.random((16, 1)) + rng.normal(scale=0.2, size=(16, 3))
    exact = paired_randomization(scores)
    difference = scores[:, 0] - scores[:, 1]
    peer = stats.permutation_test(
        (difference,), np.mean, permutation_type="samples", n_resamples=2**16
    )
    assert exact.pvalue[0] == pytest.approx(peer.pvalue, abs=1e-15)
    drawn = paired_randomization(scores, n_resamples=20_000)
    for name in ("pvalue", "pvalue_max_t"):
        truth, estimate = getattr(exact, name), getattr(drawn, name)
        assert (np.abs(estimate - truth) <= 4 * np.sqrt(truth * (1 - truth) / 20_000) + 1e-4).all()


# Thirds and sevenths tie as rational numbers do, not as doubles happen to.
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([Fraction(0), *(Fraction(1, r) for r in range(1, 8))])] * 2),
        min_size=1,
        max_size=8,
    )
)
def test_discrete_scores_tie_exactly(pairs):
    differences = [a - b for a, b in pairs]
    hits = sum(
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= abs(sum(differences))
        for signs in itertools.product((1, -1), repeat=len(pairs))
    )
    assert paired_randomization(*np.array(pairs, dtype=float).T).pvalue == hits / 2 ** len(pairs)


# Families.

THROMBOLYSIS = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
THROMBOLYSIS += [0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1.0]


# p-values of Benjamini & Hochberg 1995, section 4.
def test_holm_with_the_digits_of_r():
    expected = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213]
    assert holm(THROMBOLYSIS) == pytest.approx(expected + [1] * 6, abs=1e-9)
    pvalues = np.random.default_rng(0).random(40) ** 3
    assert holm(pvalues) == pytest.approx(multipletests(pvalues, method="holm")[1], rel=1e-12)
    # What was not tested does not count.
    assert holm([None, *pvalues, np.nan]) == [None, *holm(pvalues), None]
    assert holm([]) == [] and holm([None]) == [None]


# Counts.

# The p-values that the document prints.
DOCUMENT = {
    (13, 20): 0.296206368599087,
    (28, 15): 0.0659940344557981,
    (36, 14): 0.0026021714567221466,
}
DOCUMENT[113, 63] = 0.00020218969307107758


def test_documented_sign_test_to_the_last_digit():
    assert {counts: documented_sign_test(*counts) for counts in DOCUMENT} == DOCUMENT
    exact = {counts: exact_sign_test(*counts) for counts in DOCUMENT}
    assert exact == pytest.approx(DOCUMENT, abs=1e-15)
    # The document's tolerance inflates small p, in its form only.
    for n, printed in ((60, 1.06e-16), (100, 1.91e-15), (200, 2.40e-15)):
        assert documented_sign_test(n, 0) == pytest.approx(printed, rel=5e-3)
        assert exact_sign_test(n, 0) == pytest.approx(float(Fraction(2, 2**n)), rel=1e-12)
    assert documented_sign_test(515, 515) == 1.0  # where the document overflows


@given(st.integers(0, 400), st.integers(0, 400))
def test_sign_test_equals_scipy_and_is_blind_to_the_sides(wins, losses):
    ours = exact_sign_test(wins, losses)
    assert ours == exact_sign_test(losses, wins)
    if wins + losses:
        assert ours == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-9)


# Power.


def test_detectable_effect_has_the_power_that_statsmodels_says():
    for n, alpha in ((2, 0.05), (5, 0.01), (40, 0.05), (300, 0.05)):
        effect = minimal_detectable_effect(3, n, alpha=alpha)
        power = TTestPower().power(effect / 3, nobs=n, alpha=alpha)
        assert power == pytest.approx(0.8, abs=1e-5)  # with that of the wrong direction
    assert minimal_detectable_effect(1.0, 1) is None
    # Cohen: a medium effect, 0.5, needs 34 units for power 0.8 and 44 for 0.9.
    for units, power in ((34, 0.8), (44, 0.9)):
        detectable = [minimal_detectable_effect(1, k, power=power) for k in (units - 1, units)]
        assert detectable[0] > 0.5 >= detectable[1]
