import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.measures.rankshift import cases_needed, mean_null, mean_spearman_test, spearman, spearman_null, tilted

SIDES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=6)


@given(SIDES)
@settings(max_examples=60, deadline=None)
def test_mid_ranks_agree_with_scipy(pairs):
    first, second = zip(*pairs, strict=True)
    value = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert value is None
    else:
        assert value == pytest.approx(stats.spearmanr(first, second).statistic)


def test_smallest_p_of_four_types_is_two_in_twenty_four():
    found = mean_spearman_test([([1, 2, 3, 4], [1, 2, 3, 4])])
    assert found["mean"] == 1
    assert found["p"] == pytest.approx(2 / 24)


def test_null_of_ties_is_that_of_scipys_permutation_test():
    first, second = [1, 2, 2, 4, 5], [2, 1, 3, 3, 5]
    observed = spearman(first, second)
    null = spearman_null(first, second)
    beyond = sum(p for v, p in null.items() if abs(v) >= round(1000 * abs(observed)))
    expected = stats.permutation_test(
        (first,), lambda x: stats.spearmanr(x, second).statistic, permutation_type="pairings", n_resamples=np.inf
    )
    assert beyond == pytest.approx(expected.pvalue)


def test_convolution_is_the_enumeration_of_two_cases():
    orders = list(itertools.permutations([1, 2, 3]))
    sums = [spearman([1, 2, 3], a) + spearman([1, 2, 3], b) for a in orders for b in orders]
    null = mean_null([spearman_null([1, 2, 3], [1, 2, 3])] * 2)
    values, counts = np.unique(np.round(sums, 6), return_counts=True)
    for value, count in zip(values, counts, strict=True):
        assert null[round(1000 * value) + 2000] == pytest.approx(count / 36)
    assert null.sum() == pytest.approx(1)


def test_constant_side_is_undefined_and_counted():
    found = mean_spearman_test([([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [1, 2, 3])])
    assert (found["defined"], found["undefined"]) == (1, 1)
    assert found["values"] == [None, 1]
    assert mean_spearman_test([([1, 1], [1, 2])])["p"] is None


def test_tilted_distribution_has_the_mean_asked_for():
    chosen = tilted(4, 0.6)
    assert sum(chosen.values()) == pytest.approx(1)
    assert sum(v * p for v, p in chosen.items()) / 1000 == pytest.approx(0.6)


def test_cases_needed_agree_with_simulation():
    needed = cases_needed(0.6)
    chosen = tilted(4, 0.6)
    rng = np.random.default_rng(0)
    draws = rng.choice(list(chosen), (4000, needed), p=list(chosen.values())).sum(axis=1)
    null = mean_null([tilted(4, 0.0)] * needed)
    tail = np.cumsum(null[::-1])[::-1]
    power = np.mean(tail[draws + 1000 * needed] <= 0.05)
    assert power == pytest.approx(0.8, abs=0.08)
    assert power > 0.78
    assert cases_needed(0.8, 0.6) > needed


def test_too_many_items_are_refused():
    with pytest.raises(InputError, match="at most 7"):
        spearman_null(range(8), range(8))
