import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from casebook.errors import InputError
from casebook.stats.intervals import clopper_pearson, newcombe, wilson

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))

NEWCOMBE = {
    (81, 263): ((0.255288519878, 0.366209576983), (0.252736745585, 0.367621922601)),
    (15, 148): ((0.0623863995307, 0.160487241723), (0.0578440100834, 0.161650490349)),
    (0, 20): ((0.0, 0.161125158053), (0.0, 0.168433470983)),
    (1, 29): ((0.00611321429276, 0.171755218793), (0.00087264688358, 0.177644295489)),
}
"""Newcombe (1998), methods 3 and 5, with the digits of R."""


@pytest.mark.parametrize(("counts", "bounds"), NEWCOMBE.items())
def test_newcombes_examples(counts, bounds):
    score, exact = wilson(*counts), clopper_pearson(*counts)
    assert (score.low, score.high) == pytest.approx(bounds[0], abs=1e-12)
    assert (exact.low, exact.high) == pytest.approx(bounds[1], abs=1e-12)
    assert score.estimate == counts[0] / counts[1]
    assert score.n == counts[1]


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_equals_statsmodels(counts, level):
    ours = wilson(*counts, level=level)
    peer = proportion_confint(*counts, alpha=1 - level, method="wilson")
    assert (ours.low, ours.high) == pytest.approx(peer, abs=1e-12)


@given(COUNTS)
def test_wilson_of_the_complement_is_the_mirror_image(counts):
    ours, other = wilson(*counts), wilson(counts[1] - counts[0], counts[1])
    assert (other.low, other.high) == pytest.approx((1 - ours.high, 1 - ours.low))
    assert 0 <= ours.low <= ours.estimate <= ours.high <= 1


def test_halves_are_allowed():
    assert wilson(12.5, 25).estimate == 0.5
    assert wilson(12, 25).low < wilson(12.5, 25).low < wilson(13, 25).low


@given(COUNTS, COUNTS)
def test_newcombe_equals_statsmodels(a, b):
    ours = newcombe(*a, *b)
    peer = confint_proportions_2indep(*a, *b, method="newcomb", compare="diff")
    assert (ours.low, ours.high) == pytest.approx(peer, abs=1e-9)
    assert ours.n == a[1] + b[1]


def test_newcombes_example_of_a_difference():
    """56/70 against 48/80: 0.2 [0.0524, 0.3339] (Newcombe 1998, table II, (a))."""
    ours = newcombe(56, 70, 48, 80)
    assert (ours.low, ours.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_undefined_and_impossible():
    nothing = wilson(0, 0)
    assert (nothing.estimate, nothing.low, nothing.reason) == (None, None, "no_units")
    assert newcombe(1, 2, 0, 0).reason == "no_units"
    for counts in [(3, 2), (-1, 2), (float("nan"), 2)]:
        with pytest.raises(InputError, match="impossible"):
            wilson(*counts)
    with pytest.raises(InputError, match="level must lie between"):
        wilson(1, 2, level=95)
