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
persistence = st.floats(0.2, 0.97)


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
@given(lists, lists, persistence)
def test_bounds_are_reached_by_what_may_follow(before, after, p):
    """The series summed far down, below the lists nothing or everything in common."""
    if not before and not after:
        return
    far = 600
    unlike = [*before, *range(100, 100 + far)], [*after, *range(1000, 1000 + far)]
    alike = (
        [*before, *(x for x in after if x not in before), *range(100, 100 + far)],
        [*after, *(x for x in before if x not in after), *range(100, 100 + far)],
    )

    def series(one, other):
        common, total = 0, 0.0
        seen = set(), set()
        for d, (x, y) in enumerate(zip(one, other, strict=False), 1):
            seen[0].add(x), seen[1].add(y)
            common = len(seen[0] & seen[1])
            total += (1 - p) * p ** (d - 1) * common / d
        return total

    assert rankshift.rbo(before, after, p, part="min") == pytest.approx(series(*unlike), abs=1e-8)
    assert rankshift.rbo(before, after, p, part="max") == pytest.approx(series(*alike), abs=1e-7)


@some
@given(lists, lists, persistence)
def test_values_are_ordered_and_bounded(before, after, p):
    low, mid, high, res = (rankshift.rbo(before, after, p, part=x) for x in ("min", "ext", "max", "res"))
    if low is not None:
        assert -1e-12 <= low <= mid + 1e-12 <= high + 2e-12 <= 1 + 3e-12
        assert res == pytest.approx(high - low)


@pytest.mark.parametrize("p", [0, 1, -0.1, "x", None])
def test_persistence_lies_strictly_between_0_and_1(p):
    with pytest.raises(InputError, match="between 0 and 1"):
        rankshift.rbo(["a"], ["b"], p)


def test_identical_lists_are_1_only_when_extrapolated():
    items = list(range(10))
    assert rankshift.rbo(items, items, 0.9) == pytest.approx(1)
    assert rankshift.rbo(items, items, 0.9, part="min") == pytest.approx(0.8556, abs=1e-4)
    assert rankshift.rbo(items, list(range(20, 30))) == 0
    with pytest.raises(InputError, match="unknown part"):
        rankshift.rbo(items, items, part="truncated")
