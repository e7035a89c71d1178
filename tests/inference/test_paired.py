import math

import numpy as np
import pingouin as pg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from casebook.errors import InputError
from casebook.stats.intervals import clopper_pearson
from casebook.stats.tests import WinTieLoss, effect_sizes, exact_sign_test, paired_t, wilcoxon_signed_rank, win_tie_loss

# Darwin's maize (Fisher, The Design of Experiments, 1935, section 17): t = 2.148.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]

RNG = np.random.default_rng(0)
A = RNG.random(35)
B = A + RNG.normal(0.1, 0.2, 35)


def test_t_of_fishers_maize():
    result = paired_t(MAIZE)
    assert result.statistic == pytest.approx(2.148, abs=5e-4)
    assert result.pvalue == pytest.approx(0.0497, abs=5e-5)


def test_t_equals_scipy_and_pingouin():
    ours, theirs = paired_t(A, B, level=0.9), stats.ttest_rel(A, B)
    bounds = theirs.confidence_interval(0.9)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.pvalue == pytest.approx(theirs.pvalue, rel=1e-12)
    assert ours.interval.low == pytest.approx(bounds.low, rel=1e-12)
    assert ours.interval.high == pytest.approx(bounds.high, rel=1e-12)
    table = pg.ttest(A, B, paired=True, confidence=0.9)
    assert ours.statistic == pytest.approx(table["T"].iloc[0], rel=1e-6)


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
def test_wilcoxon_equals_scipy(zero_method):
    ranks = np.random.default_rng(1).integers(-3, 6, 60).astype(float)
    ours = wilcoxon_signed_rank(ranks, zero_method=zero_method)
    theirs = stats.wilcoxon(ranks, zero_method=zero_method)
    assert (ours.statistic, ours.pvalue) == (theirs.statistic, theirs.pvalue)


def test_wilcoxon_ties_survive_rounding():
    """As doubles 0.3 - 0.2 and 0.2 - 0.1 differ; as scores they tie."""
    a, b = np.array([3, 2, 4, 1, 9]), np.array([2, 1, 6, 2, 4])
    exact = wilcoxon_signed_rank(a - b)
    assert len({0.3 - 0.2, 0.2 - 0.1}) == 2
    assert wilcoxon_signed_rank(a / 10, b / 10) == exact


def test_undefined_tests_have_a_reason():
    assert paired_t([0.5]).reason == "fewer_than_two_units"
    assert wilcoxon_signed_rank(A, A).reason == "all_tied"
    constant = paired_t(A + 0.1, A)
    assert (constant.pvalue, constant.reason) == (None, "no_variation")
    assert (constant.interval.low, constant.interval.reason) == (None, "no_variation")
    assert exact_sign_test(0, 0).pvalue is None


def test_pvalues_that_underflow_stay_positive():
    tiny = 1 + 1e-3 * np.random.default_rng(2).normal(size=5000)
    assert 0 < paired_t(tiny).pvalue < 1e-300


def test_win_tie_loss():
    a, b = [0.1 + 0.2, 0.5, 0.7, 0.9], [0.3, 0.6, 0.6, 0.4]
    assert win_tie_loss(a, b) == WinTieLoss(wins=2, ties=1, losses=1)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 300), st.integers(0, 300))
def test_sign_test_is_exact(wins, losses):
    n, most = wins + losses, max(wins, losses)
    if n:
        result = exact_sign_test(wins, losses)
        tail = sum(math.comb(n, k) for k in range(most, n + 1))
        assert result.pvalue == pytest.approx(min(1.0, 2 * tail / 2**n), rel=1e-12)
        assert result.log_pvalue == pytest.approx(math.log(result.pvalue), abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(99_000, 1_000), (2_000, 0), (900, 10)])
def test_sign_test_far_in_the_tail(wins, losses):
    result, n = exact_sign_test(wins, losses), wins + losses
    tail = sum(math.comb(n, k) for k in range(losses + 1))
    assert result.log_pvalue == pytest.approx(math.log(2 * tail) - n * math.log(2), rel=1e-9)
    assert result.pvalue > 0


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 11), (11, 11), (400, 999)])
def test_clopper_pearson_equals_statsmodels(successes, trials):
    ours = clopper_pearson(successes, trials)
    theirs = proportion_confint(successes, trials, method="beta")
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-10)
    with pytest.raises(InputError, match="impossible"):
        clopper_pearson(trials + 1, trials)


def test_dz_interval_inverts_the_noncentral_t():
    effects = effect_sizes(A, B)
    differences, n = A - B, len(A)
    dz = differences.mean() / differences.std(ddof=1)
    assert effects.dz.estimate == pytest.approx(dz, rel=1e-12)
    for bound, share in ((effects.dz.low, 0.975), (effects.dz.high, 0.025)):
        reached = stats.nct.cdf(dz * np.sqrt(n), n - 1, bound * np.sqrt(n))
        assert reached == pytest.approx(share, abs=1e-6)


def test_hedges_correction():
    """Gamma quotient J(df) for df = 2, 4, 10, 20, and its usual approximation."""
    for n, factor in ((3, 0.5642), (5, 0.7979), (11, 0.9228), (21, 0.9619)):
        effects = effect_sizes(np.random.default_rng(n).normal(size=n))
        ratio = effects.hedges_gz.estimate / effects.dz.estimate
        assert ratio == pytest.approx(factor, abs=5e-4)
    assert ratio == pytest.approx(1 - 3 / (4 * 20 - 1), abs=1e-3)
    assert effect_sizes([1.0, 2.0]).hedges_gz.reason == "fewer_than_three_units"


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_rank_effects_equal_pingouin(decimals):
    a, b = np.round(5 * A, decimals), np.round(5 * B, decimals)
    effects = effect_sizes(a, b)
    table = pg.wilcoxon(np.round(a - b, decimals))
    assert effects.rank_biserial == pytest.approx(table["RBC"].iloc[0], abs=1e-12)
    wins, ties = np.mean(a > b), np.mean(a == b)
    assert effects.superiority == pytest.approx(wins + ties / 2)


def test_effects_without_variation():
    effects = effect_sizes(A + 0.25, A)
    assert effects.mean_difference.estimate == pytest.approx(0.25)
    assert (effects.dz.estimate, effects.dz.reason) == (None, "no_variation")
    assert effects.hedges_gz == effects.dz
    assert (effects.rank_biserial, effects.superiority) == (1.0, 1.0)
    assert effect_sizes(A, A).rank_biserial is None
    near = effect_sizes(1 + 1e-9 * A)
    assert (near.dz.low, near.dz.reason) == (None, "out_of_range")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.sampled_from([1e-5, 0.1, 40.0]))
def test_tests_ignore_scale_and_mirror_on_swap(values, scale):
    values = np.array(values, dtype=float)
    zero = np.zeros_like(values)
    forward, backward = effect_sizes(values, zero), effect_sizes(zero, scale * values)
    assert backward.superiority == pytest.approx(1 - forward.superiority)
    if forward.rank_biserial is not None:
        assert backward.rank_biserial == pytest.approx(-forward.rank_biserial)
    if forward.dz.estimate is not None:
        assert backward.dz.estimate == pytest.approx(-forward.dz.estimate, rel=1e-9)
        assert paired_t(values).pvalue == pytest.approx(paired_t(zero, scale * values).pvalue, rel=1e-6)
