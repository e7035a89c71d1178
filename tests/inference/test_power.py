import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from casebook.errors import InputError
from casebook.stats.power import minimal_detectable_effect, paired_power

SIDES = {"two-sided": "two-sided", "one-sided": "larger"}


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("n", [5, 40, 300])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_equal_to_statsmodels(n, alpha, alternative):
    peer = {"nobs": n, "alpha": alpha, "alternative": SIDES[alternative]}
    for dz in (0.0, 0.1, 0.3):
        ours = paired_power(dz * 3, 3, n, alpha=alpha, alternative=alternative)
        assert ours == pytest.approx(TTestPower().power(dz, **peer), abs=1e-9)
    effect = minimal_detectable_effect(3, n, alpha=alpha, alternative=alternative)
    assert TTestPower().power(effect / 3, **peer) == pytest.approx(0.8, abs=1e-9)


def test_cohens_example():
    """A medium effect, dz = 0.5, needs 34 units for power 0.8 and 44 for 0.9."""
    for n, power in ((34, 0.8), (44, 0.9)):
        assert paired_power(0.5, 1, n) >= power > paired_power(0.5, 1, n - 1)


def test_large_samples_follow_the_normal_approximation():
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    effect = minimal_detectable_effect(0.3, 10_000)
    assert effect == pytest.approx(z * 0.3 / 100, rel=1e-3)


def test_simulated_power_at_the_detectable_effect():
    effect = minimal_detectable_effect(2.0, 25)
    samples = np.random.default_rng(0).normal(effect, 2.0, (4000, 25))
    found = int(np.sum(stats.ttest_1samp(samples, 0, axis=1).pvalue <= 0.05))
    assert stats.binomtest(found, 4000, 0.8).pvalue > 0.001


def test_far_effects_have_power_one():
    assert paired_power(1e3, 1, 20) == pytest.approx(1.0, abs=1e-12)


def test_undefined_and_bad_input():
    assert minimal_detectable_effect(1.0, 1) is None
    with pytest.raises(InputError, match="sd must be above 0"):
        minimal_detectable_effect(0.0, 10)
    with pytest.raises(InputError, match="must exceed alpha"):
        minimal_detectable_effect(1.0, 10, power=0.01)
    with pytest.raises(InputError, match="unknown alternative"):
        paired_power(1.0, 1.0, 10, alternative="greater")
    with pytest.raises(InputError, match="effect must be at least 0"):
        paired_power(-1.0, 1.0, 10)
