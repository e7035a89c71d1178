"""Classical tests on textbook data, with the digits of R."""

import pytest

from casebook.stats.tests import benjamini_hochberg, exact_sign_test, holm, wilcoxon_signed_rank, win_tie_loss

THROMBOLYSIS = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
THROMBOLYSIS += [0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1.0]
"""Benjamini & Hochberg 1995, section 4."""

FIRST = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
SECOND = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
"""Depression scores at two visits: Hollander & Wolfe 1973, p. 29."""


def test_holm():
    expected = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213]
    assert holm(THROMBOLYSIS) == pytest.approx(expected + [1] * 6, abs=1e-9)


def test_benjamini_hochberg():
    expected = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.0638571428571]
    expected += [0.0638571428571, 0.0645, 0.0765, 0.486, 0.581181818182, 0.714875]
    expected += [0.753230769231, 0.813214285714, 1]
    assert benjamini_hochberg(THROMBOLYSIS) == pytest.approx(expected, abs=1e-9)


def test_wilcoxon():
    test = wilcoxon_signed_rank(FIRST, SECOND)
    assert (test.statistic, test.pvalue) == (45 - 40, pytest.approx(0.0390625))


def test_sign_test_of_the_same_visits():
    counts = win_tie_loss(FIRST, SECOND)
    assert (counts.wins, counts.losses) == (7, 2)
    assert exact_sign_test(7, 2).pvalue == pytest.approx(0.1796875)
