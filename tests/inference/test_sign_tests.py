import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.stats.tests import documented_sign_test, exact_sign_test

DOCUMENT = {
    (13, 20): 0.296206368599087,
    (28, 15): 0.0659940344557981,
    (36, 14): 0.0026021714567221466,
    (113, 63): 0.00020218969307107758,
}
"""The p-values that the document prints."""

R_BINOM_TEST = {(14, 6): 0.11531829834, (9, 1): 0.021484375, (0, 5): 0.0625}


@pytest.mark.parametrize(("counts", "pvalue"), DOCUMENT.items())
def test_documented_form_to_the_last_digit(counts, pvalue):
    assert documented_sign_test(*counts) == pvalue
    assert exact_sign_test(*counts).pvalue == pytest.approx(pvalue, abs=1e-15)


@pytest.mark.parametrize(("counts", "pvalue"), R_BINOM_TEST.items())
def test_equal_to_r(counts, pvalue):
    assert exact_sign_test(*counts).pvalue == pytest.approx(pvalue, rel=1e-11)


@pytest.mark.parametrize(("n", "printed"), [(60, 1.06e-16), (100, 1.91e-15), (200, 2.40e-15)])
def test_the_documented_tolerance_inflates_small_p(n, printed):
    """The document's quirk, kept in its form and absent from the exact one."""
    assert documented_sign_test(n, 0) == pytest.approx(printed, rel=5e-3)
    exact = float(Fraction(2, 2**n))
    assert exact_sign_test(n, 0).pvalue == pytest.approx(exact, rel=1e-12)


def test_documented_form_overflows_by_name():
    assert documented_sign_test(1029, 0) > 0
    for n in (1030, 1100):
        with pytest.raises(InputError, match=f"overflows at {n} untied votes: use"):
            documented_sign_test(n // 2, n - n // 2)


def test_far_tails_have_their_logarithm():
    for n in (1100, 100_000):
        test = exact_sign_test(n, 0)
        assert test.log_pvalue == pytest.approx((1 - n) * math.log(2), rel=1e-12)
        assert test.pvalue > 0
    # Below 1e-300, against whole numbers; scipy's logarithm of this tail is -inf.
    tail = sum(math.comb(4000, k) for k in range(3200, 4001))
    exact = math.log(tail) - 3999 * math.log(2)
    assert exact < -300 * math.log(10)
    assert exact_sign_test(3200, 800).log_pvalue == pytest.approx(exact, rel=1e-12)
    assert exact_sign_test(60_000, 40_000).log_pvalue < -2000
    assert exact_sign_test(50_000, 50_000).pvalue == 1.0


@given(st.integers(0, 400), st.integers(0, 400))
def test_equal_to_scipy_and_blind_to_the_sides(wins, losses):
    ours = exact_sign_test(wins, losses)
    assert ours == exact_sign_test(losses, wins)
    if wins + losses:
        peer = stats.binomtest(wins, wins + losses).pvalue
        assert ours.pvalue == pytest.approx(peer, rel=1e-9)
        assert ours.log_pvalue == pytest.approx(math.log(ours.pvalue), abs=1e-9)


def test_nothing_to_test_and_impossible_counts():
    test = exact_sign_test(0, 0)
    assert (test.pvalue, test.log_pvalue, test.reason) == (None, None, "no_units")
    assert documented_sign_test(0, 0) is None
    for function in (exact_sign_test, documented_sign_test):
        with pytest.raises(InputError, match="impossible"):
            function(-1, 3)
