import itertools
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.stats.tests import paired_randomization, randomised_tukey_hsd

# Darwin's maize, crossed minus self-fertilised, in eighths of an inch: Fisher, The
# Design of Experiments, 1935, sections 17 and 21. He counts 863 of 32768 sign vectors
# whose sum reaches 314.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]

RECIPROCAL_RANKS = [Fraction(0), *(Fraction(1, rank) for rank in range(1, 8))]


def test_fishers_maize():
    two_sided = paired_randomization(MAIZE)
    assert two_sided.exact
    assert two_sided.n_resamples == 2**15
    assert two_sided.pvalue == two_sided.pvalue_max_t == 2 * 863 / 2**15
    assert paired_randomization(MAIZE, alternative="greater").pvalue == 863 / 2**15
    assert two_sided.statistic == pytest.approx(314 / 15)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_equal_to_scipy_when_enumerated(alternative):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 10))
    ours = paired_randomization(a, b, alternative=alternative)
    theirs = stats.permutation_test(
        (a - b,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        alternative=alternative,
        vectorized=True,
    )
    assert ours.pvalue == pytest.approx(theirs.pvalue, abs=1e-15)
    assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-15)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_random_signs_estimate_the_exact_pvalue(alternative):
    rng = np.random.default_rng(1)
    scores = rng.random((12, 1)) + rng.normal(scale=0.2, size=(12, 4))
    exact = paired_randomization(scores, alternative=alternative)
    drawn = paired_randomization(scores, alternative=alternative, exact=False, n_resamples=50_000)
    assert exact.exact
    assert not drawn.exact
    for name in ("pvalue", "pvalue_max_t"):
        truth, estimate = getattr(exact, name), getattr(drawn, name)
        error = np.sqrt(truth * (1 - truth) / 50_000)
        assert (np.abs(estimate - truth) <= 4 * error + 1e-4).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(RECIPROCAL_RANKS)] * 2), min_size=1, max_size=8))
def test_discrete_scores_tie_exactly(pairs):
    """Thirds and sevenths tie as rational numbers do, not as doubles happen to."""
    differences = [a - b for a, b in pairs]
    observed = abs(sum(differences))
    hits = sum(
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=len(pairs))
    )
    a, b = np.array(pairs, dtype=float).T
    assert paired_randomization(a, b).pvalue == hits / 2 ** len(pairs)


def test_max_t_is_the_studentised_maximum():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(9, 4)) * [1, 1, 5, 1] + [0, 0.8, 0, 0.4]
    first, second = np.array(list(itertools.combinations(range(4), 2))).T
    differences = scores[:, first] - scores[:, second]
    signs = np.array(list(itertools.product((1, -1), repeat=9)))
    flipped = signs[:, :, None] * differences
    t = np.abs(stats.ttest_1samp(flipped, 0, axis=1).statistic)
    expected = (t.max(axis=1)[:, None] >= t[0] - 1e-9).mean(axis=0)
    result = paired_randomization(scores)
    assert result.pvalue_max_t == pytest.approx(expected, abs=1e-15)
    assert (result.pvalue_max_t >= result.pvalue).all()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=2, max_size=9),
    st.integers(-1000, 1000),
    st.sampled_from([1e-6, 0.1, 7.0]),
    st.randoms(use_true_random=False),
)
def test_exact_pvalues_are_invariant(rows, shift, scale, random):
    table = np.array(rows, dtype=float)
    result = paired_randomization(table)
    shuffled = rows[:]
    random.shuffle(shuffled)
    for other in (np.array(shuffled, dtype=float), shift + scale * table):
        same = paired_randomization(other)
        assert same.pvalue.tolist() == result.pvalue.tolist()
        assert same.pvalue_max_t.tolist() == result.pvalue_max_t.tolist()
    swapped = paired_randomization(table[:, ::-1])
    assert swapped.pvalue.tolist() == result.pvalue[::-1].tolist()
    assert swapped.statistic == pytest.approx(-result.statistic[::-1])
    assert ((result.pvalue > 0) & (result.pvalue <= 1)).all()


def test_swapping_the_samples_mirrors_the_sides():
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 40))
    options = {"n_resamples": 5000, "seed": 4}
    forward = paired_randomization(a, b, alternative="greater", **options)
    backward = paired_randomization(b, a, alternative="less", **options)
    assert forward.pvalue == backward.pvalue
    assert forward.statistic == -backward.statistic


def test_a_large_effect_is_never_zero():
    result = paired_randomization(np.ones(500), np.zeros(500), n_resamples=999)
    assert result.pvalue == result.pvalue_max_t == 1 / 1000


def test_scores_with_a_common_offset_keep_their_digits():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(60, 3))
    plain = paired_randomization(scores, n_resamples=2000)
    offset = paired_randomization(scores + 1e7, n_resamples=2000)
    assert offset.pvalue.tolist() == plain.pvalue.tolist()


def test_identical_systems_have_pvalue_one():
    scores = np.random.default_rng(5).random((30, 2))[:, [0, 0, 1]]
    result = paired_randomization(scores, n_resamples=500)
    assert result.pvalue[0] == result.pvalue_max_t[0] == 1.0


def test_labels_and_baseline():
    rng = np.random.default_rng(6)
    scores = pd.DataFrame(rng.random((20, 3)), columns=["bm25", "dense", "full"])
    everything = paired_randomization(scores, n_resamples=500)
    assert everything.pairs == (("bm25", "dense"), ("bm25", "full"), ("dense", "full"))
    against = paired_randomization(scores, n_resamples=500, baseline="dense")
    assert against.pairs == (("bm25", "dense"), ("full", "dense"))
    assert against.pvalue.tolist() == everything.pvalue[[0, 2]].tolist()
    assert (against.pvalue_max_t <= everything.pvalue_max_t[[0, 2]]).all()
    alone = paired_randomization(scores["bm25"], scores["dense"], n_resamples=500)
    assert alone.pvalue == everything.pvalue[0]
    assert alone.pairs is None


def test_pvalues_are_uniform_under_the_null():
    rng = np.random.default_rng(7)
    pvalues = [
        paired_randomization(rng.standard_t(4, size=25) * np.linspace(0.5, 3, 25), n_resamples=999, seed=seed).pvalue
        for seed in range(500)
    ]
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01


def test_max_t_keeps_the_family_wise_error_that_plain_pvalues_exceed():
    rng = np.random.default_rng(8)
    plain, adjusted, tukey = [], [], []
    for seed in range(400):
        scores = rng.normal(size=(20, 1)) + rng.normal(size=(20, 5))
        result = paired_randomization(scores, n_resamples=499, seed=seed)
        plain.append(result.pvalue.min())
        adjusted.append(result.pvalue_max_t.min())
        tukey.append(randomised_tukey_hsd(scores, 499, seed=seed).pvalue.min())
    assert np.mean(np.array(plain) <= 0.05) > 0.15
    for pvalues in (adjusted, tukey):
        rejected = int(np.sum(np.array(pvalues) <= 0.05))
        assert stats.binomtest(rejected, 400, 0.05).pvalue > 0.01


def test_tukey_against_all_permutations():
    scores = np.random.default_rng(9).random((4, 3))
    orders = [list(order) for order in itertools.permutations(range(3))]
    table = np.stack([scores[:, order] for order in orders], axis=1)
    choices = np.array(list(itertools.product(range(6), repeat=4)))
    means = table[np.arange(4), choices].mean(axis=1)
    spread = np.ptp(means, axis=1)
    first, second = np.array(list(itertools.combinations(range(3), 2))).T
    observed = np.abs(scores.mean(axis=0)[first] - scores.mean(axis=0)[second])
    expected = (spread[:, None] >= observed - 1e-12).mean(axis=0)
    result = randomised_tukey_hsd(scores, 40_000)
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert (np.abs(result.pvalue - expected) <= 4 * error + 1e-4).all()
    assert result.pairs == ((0, 1), (0, 2), (1, 2))


def test_tukey_of_two_systems_is_the_randomisation_test():
    scores = np.random.default_rng(10).random((11, 2))
    exact = paired_randomization(scores).pvalue[0]
    drawn = randomised_tukey_hsd(scores, 40_000).pvalue[0]
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact / 40_000))


SCRIPT = """
import hashlib, numpy as np
from casebook.stats.tests import paired_randomization, randomised_tukey_hsd
X = np.random.default_rng(0).random((700, 6)) / 3
test = paired_randomization(X, n_resamples=20_000, seed=5)
tukey = randomised_tukey_hsd(X, 200, seed=5)
arrays = test.pvalue, test.pvalue_max_t, tukey.pvalue
print(hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest())
"""


def test_same_bytes_whatever_the_threads():
    digests = set()
    for threads in ("1", "2"):
        variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | dict.fromkeys(variables, threads),
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_seed_decides():
    a, b = np.random.default_rng(11).random((2, 50))
    pvalues = [paired_randomization(a, b, n_resamples=2000, seed=seed).pvalue for seed in (0, 0, 1)]
    assert pvalues[0] == pvalues[1] != pvalues[2]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([],), {}, "no units"),
        ((np.ones((3, 1)),), {}, "at least two systems"),
        (([1.0, np.nan], [1.0, 2.0]), {}, "1 of 2 units"),
        (([1.0, 2.0], [1.0]), {}, "one length"),
        (([1.0, 2.0],), {"alternative": "both"}, "unknown alternative 'both'"),
        (([1.0, 2.0],), {"n_resamples": 0}, "n_resamples"),
        ((np.ones(25),), {"exact": True}, "at most 24"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        paired_randomization(*arguments, **options)
