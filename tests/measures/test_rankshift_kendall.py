"""Kendall's distance of top-k lists: its four cases, published values and bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rankshift import DISJOINT, WORKED, K, draws, lists, plain_kendall, some
from scipy import stats

from casebook.measures import rankshift


@some
@given(lists, lists, st.floats(0, 1))
def test_kendall_is_its_definition(before, after, penalty):
    found = rankshift.kendall_topk(before, after, 9, penalty=penalty)
    if not before and not after:
        assert found is None
    else:
        assert found == pytest.approx(plain_kendall(before, after, penalty))


def test_published_values_of_fagin():
    assert rankshift.kendall_topk(*WORKED, 5, penalty=0) == 3
    assert rankshift.kendall_topk(*WORKED, 5) == 3
    assert rankshift.kendall_topk(*DISJOINT, 5, penalty=0) == 25
    assert rankshift.kendall_topk(*DISJOINT, 5) == 35
    assert rankshift.kendall_topk(*DISJOINT, 5, normalised=True) == 1


def test_of_one_set_kendall_is_that_of_scipy():
    before, after = draws(12, pairs=200, k=12)
    pairs = zip(before, after, strict=True)
    distance = np.array([rankshift.kendall_topk(*pair, 12) for pair in pairs])
    ranks = np.argsort(before), np.argsort(after)
    tau = [stats.kendalltau(a, b).statistic for a, b in zip(*ranks, strict=True)]
    np.testing.assert_allclose(1 - 4 * distance / (12 * 11), tau, atol=1e-12)


def test_footrule_and_kendall_are_equivalent_within_a_factor_of_two():
    """Diaconis & Graham 1977 for one set: K <= F <= 2K."""
    before, after = draws(K, pairs=500)
    for pair in zip(before, after, strict=True):
        distance = rankshift.kendall_topk(*pair, K)
        assert distance <= rankshift.footrule(*pair, K) <= 2 * distance
