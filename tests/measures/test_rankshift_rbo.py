"""Rank-biased overlap against published figures and other implementations."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rankshift import lists, some

from casebook.errors import InputError
from casebook.measures import rankshift

WEBBER = "abcdefg", "zcavwxy"


def test_figure_5_of_webber():
    overlaps = [rankshift.average_overlap(*WEBBER, k) for k in range(1, 8)]
    assert np.round(overlaps, 3).tolist() == [0, 0, 0.222, 0.292, 0.313, 0.317, 0.312]
    assert rankshift.rbo(*WEBBER, 0.9) == pytest.approx(0.288217, abs=5e-7)
    assert rankshift.rbo_weight(0.9, 10) == pytest.approx(0.8555854, abs=5e-8)


def test_the_package_agrees_on_lists_of_one_length():
    rbo = pytest.importorskip("rbo", reason="rbo is not installed")
    random.seed(1)
    for _ in range(100):
        k = random.randint(1, 20)
        pair = [random.sample(range(30), k) for _ in "ab"]
        p = random.uniform(0.3, 0.98)
        expected = rbo.RankingSimilarity(*pair).rbo_ext(p=p)
        assert rankshift.rbo(*pair, p) == pytest.approx(expected, abs=1e-12)


@some
@given(lists, lists, st.floats(0.2, 0.97))
def test_values_are_bounded_and_symmetric(before, after, p):
    value = rankshift.rbo(before, after, p)
    if value is not None:
        assert -1e-12 <= value <= 1 + 1e-12
        assert value == pytest.approx(rankshift.rbo(after, before, p))


@pytest.mark.parametrize("p", [0, 1, -0.1, "x", None])
def test_persistence_lies_strictly_between_0_and_1(p):
    with pytest.raises(InputError, match="between 0 and 1"):
        rankshift.rbo(["a"], ["b"], p)


def test_identical_lists_are_1_and_disjoint_ones_0():
    items = list(range(10))
    assert rankshift.rbo(items, items, 0.9) == pytest.approx(1)
    assert rankshift.rbo(items, list(range(20, 30))) == 0
