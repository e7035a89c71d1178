"""McNemar's test against statsmodels, published tables and simulated power."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as peer

from casebook.errors import InputError
from casebook.stats.power import mcnemar_power, minimal_detectable_difference
from casebook.stats.tests import mcnemar, mcnemar_counts


@given(st.integers(0, 60), st.integers(0, 60))
def test_exact_p_equals_statsmodels(b, c):
    found = mcnemar_counts(b, c, b + c + 5)
    if b + c == 0:
        assert found.reason == "all_tied"
    else:
        expected = peer([[3, b], [c, 2]], exact=True).pvalue
        assert found.pvalue == pytest.approx(expected)
        assert 0 < found.mid_pvalue <= 1


def test_published_pooled_comparison_of_two_published_systems():
    """134 against 107 discordant claims of 698: p = 0.094."""
    assert mcnemar_counts(134, 107, 698).pvalue == pytest.approx(0.094, abs=5e-4)


def test_mid_p_and_interval_of_a_published_table():
    """Airway measurements (Fagerland 2013, table 1): 1 and 7 discordant of 21."""
    found = mcnemar_counts(1, 7, 21)
    assert found.pvalue == pytest.approx(0.0703, abs=5e-5)
    assert found.mid_pvalue == pytest.approx(0.0391, abs=5e-5)
    assert found.difference.estimate == pytest.approx(-6 / 21)
    by_hand = -6 / 23 + 1.959964 * np.array([-1, 1]) * np.sqrt(0.366730 / 23)
    interval = found.difference.low, found.difference.high
    assert interval == pytest.approx(tuple(by_hand), abs=1e-5)


def test_flags_are_counted_and_order_reverses_the_sign():
    a, b = [1, 1, 0, 1, 0], [1, 0, 0, 0, 1]
    one, two = mcnemar(a, b), mcnemar(b, a)
    assert (one.first_only, one.second_only, one.n) == (2, 1, 5)
    assert one.difference.estimate == -two.difference.estimate == pytest.approx(0.2)
    assert one.pvalue == two.pvalue


def test_clusters_resample_the_difference():
    rng = np.random.default_rng(0)
    gain = np.repeat(rng.integers(0, 2, 30), 8)
    clusters = np.repeat(np.arange(30), 8)
    alone = mcnemar(gain, 1 - gain).difference
    paged = mcnemar(gain, 1 - gain, clusters=clusters).difference
    assert paged.estimate == pytest.approx(alone.estimate)
    assert paged.high - paged.low > 2 * (alone.high - alone.low)


def test_power_agrees_with_simulation():
    rng, n = np.random.default_rng(1), 120
    draws = rng.multinomial(n, [0.22, 0.08, 0.7], size=3000)
    share = np.mean([mcnemar_counts(b, c, n).mid_pvalue <= 0.05 for b, c, _ in draws])
    power = mcnemar_power(0.14, 0.3, n)
    assert power == pytest.approx(share, abs=0.025)
    assert mcnemar_power(0.0, 0.3, n) <= 0.06


def test_detectable_difference_has_the_wanted_power():
    found = minimal_detectable_difference(200, 0.3)
    assert mcnemar_power(found, 0.3, 200) == pytest.approx(0.8, abs=1e-6)
    assert minimal_detectable_difference(400, 0.3) < found
    assert minimal_detectable_difference(5, 0.2) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mcnemar([1, 0], [1]), "2 and 1 units"),
        (lambda: mcnemar([0.5], [1]), "true and false"),
        (lambda: mcnemar_counts(3, 3, 5), "impossible"),
        (lambda: mcnemar_power(0.4, 0.3, 10), "do not fit"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
