"""Rank-biased overlap against published figures and other implementations."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rankshift import lists, some

from casebook.errors import InputError
from casebook.measures import rankshift

WEBBER = "abcdefg", "zcavwxy"
PARTS = ("ext", "min", "max", "res")
# Worked example of the authors' public Python implementation (Corsi & Urbano 2024).
URBANO = (
    ["red", {"blue", "green"}, "yellow", "pink"],
    [{"blue", "red"}, "white", {"yellow", "black", "purple"}, "green"],
)
URBANO_95 = {
    "a": (0.6922853, 0.3310519, 0.8930692, 0.5620173),
    "w": (0.7068257, 0.3429684, 0.9049857, 0.5620173),
    "b": (0.7207131, 0.3509163, 0.9129336, 0.5620173),
}
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

    assert rankshift.rbo(before, after, p, part="min") == pytest.approx(
        series(*unlike), abs=1e-8
    )
    assert rankshift.rbo(before, after, p, part="max") == pytest.approx(
        series(*alike), abs=1e-7
    )


@some
@given(lists, lists, persistence, st.sampled_from(["a", "b", "w"]))
def test_without_ties_all_variants_are_one(before, after, p, ties):
    for part in PARTS:
        plain = rankshift.rbo(before, after, p, part=part)
        tied = rankshift.rbo_ties(before, after, p, ties=ties, part=part)
        assert tied == (None if plain is None else pytest.approx(plain, abs=1e-12))


@pytest.mark.parametrize("ties", ["a", "b", "w"])
def test_published_example_with_ties(ties):
    found = [rankshift.rbo_ties(*URBANO, 0.95, ties=ties, part=p) for p in PARTS]
    np.testing.assert_allclose(found, URBANO_95[ties], atol=6e-8)


groups = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True).flatmap(
    lambda items: st.lists(
        st.booleans(), min_size=len(items) - 1, max_size=len(items) - 1
    ).map(lambda cuts: cut(items, cuts))
)


def cut(items, cuts):
    """Split a list into groups where asked."""
    parts = [[items[0]]]
    for item, new in zip(items[1:], cuts, strict=True):
        parts.append([item]) if new else parts[-1].append(item)
    return parts


def orders(ranking):
    """All ways of breaking the ties."""
    parts = [list(itertools.permutations(group)) for group in ranking]
    return [list(itertools.chain(*choice)) for choice in itertools.product(*parts)]


@some
@given(groups, groups, persistence)
def test_variant_a_is_the_mean_over_all_ways_of_breaking_ties(before, after, p):
    pairs = list(itertools.product(orders(before), orders(after)))
    if len(pairs) > 800:
        return
    arrays = rankshift.as_arrays(*zip(*pairs, strict=True))
    broken = rankshift.rbo_batch(*arrays, p)
    found = rankshift.rbo_ties(before, after, p, ties="a", part="min")
    assert found == pytest.approx(broken.min.mean(), abs=1e-10)
    if sum(map(len, before)) == sum(map(len, after)):
        found = rankshift.rbo_ties(before, after, p, ties="a")
        assert found == pytest.approx(broken.ext.mean(), abs=1e-10)


@some
@given(groups, groups, persistence)
def test_order_of_the_variants_and_agreement_with_itself(before, after, p):
    a, b = (rankshift.rbo_ties(before, after, p, ties=t) for t in "ab")
    assert a <= b + 1e-12
    for ties in "bw":
        assert rankshift.rbo_ties(before, before, p, ties=ties) == pytest.approx(1)
    swapped = rankshift.rbo_ties(after, before, p, ties="b")
    assert swapped == pytest.approx(b, abs=1e-12)


@some
@given(lists, lists, persistence)
def test_values_are_ordered_and_bounded(before, after, p):
    low, mid, high, res = (
        rankshift.rbo(before, after, p, part=x) for x in ("min", "ext", "max", "res")
    )
    if low is not None:
        assert -1e-12 <= low <= mid + 1e-12 <= high + 2e-12 <= 1 + 3e-12
        assert res == pytest.approx(high - low)


@some
@given(st.lists(st.tuples(lists, lists), min_size=1, max_size=6), persistence)
def test_batches_equal_single_pairs(pairs, p):
    arrays = rankshift.as_arrays(*zip(*pairs, strict=True))
    found = rankshift.rbo_batch(*arrays, p).ext
    for (before, after), value in zip(pairs, found, strict=True):
        one = rankshift.rbo(before, after, p)
        assert math.isnan(value) if one is None else value == pytest.approx(one)


def test_batches_with_ties_hold_lists_of_any_length():
    ids = [np.array([[0, 1, 2, 3], [4, 5, -1, -1]]), np.array([[1, 0], [5, 6]])]
    shared = [np.array([[0, 0, 1, 1], [0, 0, 0, 0]]), np.array([[0, 0], [0, 1]])]
    found = rankshift.rbo_ties_batch(*ids, *shared, 0.8, ties="b").ext
    single = [
        rankshift.rbo_ties([(0, 1), (2, 3)], [(1, 0)], 0.8, ties="b"),
        rankshift.rbo_ties([(4, 5)], [5, 6], 0.8, ties="b"),
    ]
    np.testing.assert_allclose(found, single)
    wrong = [np.array([[1, 0, 0, 0], [0, 0, 0, 0]]), shared[1]]
    with pytest.raises(InputError, match="decrease"):
        rankshift.rbo_ties_batch(*ids, *wrong)


@pytest.mark.parametrize("p", [0, 1, -0.1, "x", None])
def test_persistence_lies_strictly_between_0_and_1(p):
    with pytest.raises(InputError, match="between 0 and 1"):
        rankshift.rbo(["a"], ["b"], p)
    with pytest.raises(InputError, match="between 0 and 1"):
        rankshift.rbo_ties(["a"], ["b"], p)


def test_identical_lists_are_1_only_when_extrapolated():
    items = list(range(10))
    assert rankshift.rbo(items, items, 0.9) == pytest.approx(1)
    assert rankshift.rbo(items, items, 0.9, part="min") == pytest.approx(
        0.8556, abs=1e-4
    )
    assert rankshift.rbo(items, list(range(20, 30))) == 0
    with pytest.raises(InputError, match="unknown part"):
        rankshift.rbo(items, items, part="truncated")
