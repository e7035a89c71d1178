"""Distances of two ranked lists against their definitions, published values and other packages."""

import itertools

import numpy as np
import pytest
from cases import misnamed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from casebook.errors import InputError
from casebook.measures import rankshift
from casebook.measures.rankshift import (
    mean_spearman_test,
    spearman,
    spearman_null,
)

K = 10
WORKED = list("abcde"), list("bacfd")  # of Fagin et al. 2003
DISJOINT = list("abcde"), list("fghij")
WEBBER = "abcdefg", "zcavwxy"
some = settings(max_examples=40, deadline=None)
lists = st.lists(st.integers(0, 14), max_size=8, unique=True)


# Random top-k lists of n documents, before and after.
def draws(n, pairs=400, k=K):
    rng = np.random.default_rng(0)
    return (rng.permuted(np.tile(np.arange(n), (pairs, 1)), axis=1)[:, :k] for _ in "ab")


# The definition, item by item.
def plain_displacements(before, after, k):
    ranks = [{item: rank for rank, item in enumerate(side, 1)} for side in (before, after)]
    every = dict.fromkeys([*before, *after])
    return [abs(ranks[0].get(x, k + 1) - ranks[1].get(x, k + 1)) for x in every]


@some
@given(lists, lists, st.integers(8, 12))
def test_displacement_and_footrule_are_their_definitions(before, after, k):
    moves = plain_displacements(before, after, k)
    found = rankshift.mean_displacement(before, after, k)
    assert found == (pytest.approx(np.mean(moves)) if moves else None)
    assert list(rankshift.displacements(before, after, k).values()) == moves
    if moves:
        assert rankshift.footrule(before, after, k) == sum(moves)


def test_published_values_of_fagin():
    assert [rankshift.footrule(*pair, 5) for pair in (WORKED, DISJOINT)] == [6, 30]
    assert rankshift.normalised_footrule(*WORKED, 5) == pytest.approx(0.2)


# The document calls more than 3 substantial; a shuffle of the same set is 3.3, and one change in a
# list of two is 6. The largest mean is that of an overlap of six.
def test_chance_and_short_lists():
    for n, pairs, level in ((K, 3000, (K**2 - 1) / (3 * K)), (100, 1000, 5.38)):
        found = np.mean(list(map(rankshift.mean_displacement, *draws(n, pairs=pairs))))
        assert found == pytest.approx(level, abs=0.04)
    for n, shift in {10: 0.18, 5: 2.0, 2: 6.0, 1: 10.0}.items():
        lists = list(range(n)), [*range(n - 1), "new"]
        assert rankshift.mean_displacement(*lists) == pytest.approx(shift, abs=0.005)
    most = rankshift.mean_displacement([*"abc1234def"], [*"def5678abc"])
    assert most == pytest.approx(6.143, abs=5e-4)


# Rank-biased overlap.


def test_figure_5_of_webber():
    assert rankshift.rbo(*WEBBER, 0.9) == pytest.approx(0.288217, abs=5e-7)


# The series summed far down, below the lists nothing or everything in common.
@some
@given(lists, lists, st.floats(0.2, 0.97))
def test_values_are_bounded_symmetric_and_lie_between_what_may_follow(before, after, p):
    if not before and not after:
        return
    below = list(range(100, 700))
    unlike = [*before, *below], [*after, *range(1000, 1600)]
    alike = (
        [*before, *(x for x in after if x not in before), *below],
        [*after, *(x for x in before if x not in after), *below],
    )

    def series(one, other):
        seen, total = (set(), set()), 0.0
        for d, (x, y) in enumerate(zip(one, other, strict=False), 1):
            seen[0].add(x), seen[1].add(y)
            total += (1 - p) * p ** (d - 1) * len(seen[0] & seen[1]) / d
        return total

    value = rankshift.rbo(before, after, p)
    assert series(*unlike) - 1e-7 <= value <= series(*alike) + 1e-7
    assert value == pytest.approx(rankshift.rbo(after, before, p))
    assert rankshift.rbo(before, before, p) in (None, pytest.approx(1))


# What every distance does with its lists.


def test_bad_lists_and_options_are_refused():
    def call(name, before, after, options):
        getattr(rankshift, name)(before, after, **options)

    twice = ["x", "case 7", "y", "case 7"]
    cases = [(("rbo", ["a"], ["b"], {"p": p}), "between 0 and 1") for p in (0, 1, -0.1, "x", None)]
    for name in ("mean_displacement", "rbo"):
        cases += [
            ((name, twice, ["a"], {}), "list before: 'case 7' is there 2 times"),
            ((name, ["a"], twice, {}), "list after: 'case 7' is there 2 times"),
        ]
    cases.append((("mean_displacement", ["a"], ["b"], {"k": 0}), "k must be .* not 0"))
    assert misnamed(call, cases, InputError) == []


# Rank correlation of a few items.


def test_null_of_ties_is_that_of_scipys_permutation_test():
    first, second = [1, 2, 2, 4, 5], [2, 1, 3, 3, 5]
    observed = round(1000 * abs(spearman(first, second)))
    null = spearman_null(first, second)
    beyond = null[np.abs(np.arange(-1000, 1001)) >= observed].sum()
    expected = stats.permutation_test(
        (first,),
        lambda x: stats.spearmanr(x, second).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    assert beyond == pytest.approx(expected.pvalue)
    two = [0, 0, 1, 1, 1]
    expected = stats.spearmanr(first, two).statistic
    assert spearman(first, two) == spearman(two, first) == expected
    with pytest.raises(InputError, match="at most 7"):
        spearman_null(range(8), range(8))


def test_mean_over_cases_is_tested_by_the_enumeration_of_all():
    orders = list(itertools.permutations([1, 2, 3]))
    sums = [spearman([1, 2, 3], a) + spearman([1, 2, 3], b) for a in orders for b in orders]
    for first, second in itertools.product(orders, repeat=2):
        found = mean_spearman_test([([1, 2, 3], first), ([1, 2, 3], second)])
        expected = np.mean(np.abs(sums) >= abs(sum(found["values"])) - 1e-9)
        assert found["p"] == pytest.approx(expected)
    found = mean_spearman_test([([1, 1, 1], [1, 2, 3]), ([1, 2, 3, 4], [1, 2, 3, 4])])
    assert found == {"values": [None, 1], "undefined": 1, "p": pytest.approx(2 / 24)}
    assert mean_spearman_test([([1, 1], [1, 2])])["p"] is None
