"""Displacement and footrule against theory and plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rankshift import DISJOINT, WORKED, K, draws, lists, plain_displacements, some

from casebook.measures import rankshift


@some
@given(lists, lists, st.sampled_from(["k+1", "len_aware"]), st.integers(8, 12))
def test_displacement_is_its_definition(before, after, absent, k):
    moves = plain_displacements(before, after, k, absent)
    moved = [move for move in moves if move]
    own = moves[: len(before)]
    for affected, values in (("union", moves), ("moved", moved), ("before", own)):
        found = rankshift.mean_displacement(before, after, k, affected=affected, absent=absent)
        assert found == (pytest.approx(np.mean(values)) if values else None)
        reason = rankshift.undefined_reason(before, after, k, affected=affected, absent=absent)
        assert (reason is None) == bool(values)
    changes = rankshift.rank_changes(before, after, k, absent=absent)
    assert list(changes.displacement.values()) == moves
    assert {*changes.dropped, *changes.stable} == set(before)
    assert {*changes.new, *changes.stable} == set(after)


@some
@given(lists, lists)
def test_footrule_and_jaccard_are_their_definitions(before, after):
    moves = plain_displacements(before, after, 9, "k+1")
    if not before and not after:
        assert rankshift.footrule(before, after, 9) is None
    else:
        assert rankshift.footrule(before, after, 9) == sum(moves)
        common = {*before} & {*after}
        assert rankshift.jaccard(before, after, 9) == pytest.approx(len(common) / len({*before, *after}))


def test_published_values_of_fagin():
    assert rankshift.footrule(*WORKED, 5) == 6
    assert rankshift.normalised_footrule(*WORKED, 5) == pytest.approx(0.2)
    assert rankshift.mean_displacement(*WORKED, 5, affected="before") == 0.8
    assert rankshift.footrule(*DISJOINT, 5) == 30


def test_footrule_is_what_the_common_items_save():
    before, after = draws(25, pairs=2000)
    for one, other in zip(before, after, strict=True):
        value = rankshift.footrule(one, other, K)
        ranks = {x: r for r, x in enumerate(one, 1)}
        common = [max(r, ranks[x]) for r, x in enumerate(other, 1) if x in ranks]
        assert value == K * (K + 1) - 2 * sum(K + 1 - worst for worst in common)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_every_pair_of_short_lists(k):
    """All after-lists of k items, of which those not in `before` are newcomers."""
    before = tuple(range(k))
    worst, at = 0, set()
    for after in itertools.permutations(range(2 * k), k):
        new = [x for x in after if x >= k]
        if new != sorted(new) or new != list(range(k, k + len(new))):
            continue  # newcomers are interchangeable
        total = rankshift.footrule(before, after, k)
        assert total == sum(plain_displacements(before, after, k, "k+1"))
        assert (total == k * (k + 1)) == (len(new) == k)
        mean = rankshift.mean_displacement(before, after, k)
        if mean > worst + 1e-12:
            worst, at = mean, set()
        if mean > worst - 1e-12:
            at.add(k - len(new))
    expected = {1: (1, {0}), 2: (1.5, {0}), 3: (2, {0, 1, 2}), 4: (8 / 3, {2})}
    if k in expected:
        assert (worst, at) == (pytest.approx(expected[k][0]), expected[k][1])
    assert worst >= (k + 1) / 2 - 1e-12  # that of disjoint lists


def test_the_largest_mean_is_that_of_an_overlap_of_six():
    def worst(common):
        """Half of the common items lead before, the other half after."""
        half = common // 2
        one, two = list(range(half)), list(range(half, common))
        before = [*one, *range(100, 100 + K - common), *two]
        after = [*two, *range(200, 200 + K - common), *one]
        return rankshift.mean_displacement(before, after, K)

    means = [worst(common) for common in range(K + 1)]
    assert means[0] == pytest.approx(5.5)
    # By the identity: the worse ranks are at most 10, 10, 9, 9, 8, 8, ...
    saved = np.cumsum([0, *(1 + i // 2 for i in range(K))])
    best = (K * (K + 1) - 2 * saved) / (2 * K - np.arange(K + 1))
    assert means == pytest.approx(best)
    assert max(means) == pytest.approx(6.143, abs=5e-4)
    assert int(np.argmax(means)) == 6


def test_the_mean_is_not_monotone_and_the_footrule_is():
    six = list("abcghijdef"), list("defklmnabc")
    none = list("abcdefghij"), list("klmnopqrst")
    assert rankshift.mean_displacement(*six) > rankshift.mean_displacement(*none)
    assert rankshift.normalised_footrule(*six) < rankshift.normalised_footrule(*none)
    assert rankshift.normalised_footrule(*none) == 1


@pytest.mark.parametrize(("n", "shift"), [(10, 0.18), (5, 2.0), (2, 6.0), (1, 10.0)])
def test_short_lists_inflate_the_mean(n, shift):
    before = list(range(n))
    found = rankshift.mean_displacement(before, [*before[:-1], "new"], K)
    assert found == pytest.approx(shift, abs=0.005)
    aware = rankshift.mean_displacement(before, [*before[:-1], "new"], K, absent="len_aware")
    assert aware == pytest.approx(2 / (n + 1))


def test_reference_levels_of_chance():
    """The document calls more than 3 substantial; a shuffle of the same set is 3.3."""
    before, after = draws(K, pairs=20_000)
    shuffled = list(map(rankshift.mean_displacement, before, after))
    assert np.mean(shuffled) == pytest.approx((K**2 - 1) / (3 * K), abs=0.02)
    for n, level in {20: 4.76, 26: 4.96, 100: 5.38, 2000: 5.49}.items():
        rng = np.random.default_rng(n)
        lists = [rng.random((3000, n)).argpartition(K)[:, :K] for _ in "ab"]
        lists = [rng.permuted(x, axis=1) for x in lists]
        found = np.mean(list(map(rankshift.mean_displacement, *lists)))
        assert found == pytest.approx(level, abs=0.04)
    items = list(range(K))
    assert rankshift.mean_displacement(items, items[::-1]) == 5
    half = [*items[:5], *range(20, 25)]
    assert rankshift.mean_displacement(items, half) == pytest.approx(2)
    last = [*items[:9], 99]
    assert rankshift.mean_displacement(items, last) == pytest.approx(0.18, abs=0.005)


def test_of_one_set_the_footrule_is_the_sum_of_absolute_rank_differences():
    before, after = draws(12, pairs=200, k=12)
    ranks = np.argsort(before), np.argsort(after)
    expected = np.abs(ranks[0] - ranks[1]).sum(axis=1)
    found = [rankshift.footrule(*pair, 12) for pair in zip(before, after, strict=True)]
    np.testing.assert_array_equal(found, expected)


@some
@given(st.permutations(range(9)), st.permutations(range(9)), st.permutations(range(9)))
def test_the_sum_is_a_metric(a, b, c):
    a, b, c = a[:4], b[:4], c[:4]
    ab, ba, ac, cb = (rankshift.footrule(*pair, 4) for pair in ((a, b), (b, a), (a, c), (c, b)))
    assert ab == ba and ab <= ac + cb
    assert (ab == 0) == (a == b)
