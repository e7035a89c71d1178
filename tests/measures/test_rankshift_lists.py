"""What every distance does with its lists: batches, depth, gaps and bad input."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rankshift import K, lists, some

from casebook.errors import InputError
from casebook.measures import rankshift


@some
@given(st.lists(st.tuples(lists, lists), min_size=1, max_size=6))
def test_batches_equal_single_pairs(pairs):
    before, after = zip(*pairs, strict=True)
    arrays = rankshift.as_arrays(before, after)
    for name in (
        "mean_displacement",
        "normalised_footrule",
        "footrule",
        "jaccard",
        "kendall_topk",
        "average_overlap",
    ):
        found = getattr(rankshift, name + "_batch")(*arrays, 6)
        single = [getattr(rankshift, name)(b, a, 6) for b, a in pairs]
        for one, many in zip(single, found, strict=True):
            assert math.isnan(many) if one is None else one == many


def test_only_the_first_k_count():
    before, after = list(range(20)), [*range(10), *range(30, 40)]
    assert rankshift.normalised_footrule(before, after, 10) == 0
    assert rankshift.jaccard(before, after, 10) == 1
    assert rankshift.normalised_footrule(before, after, 20) > 0


def test_two_empty_lists_have_no_value_and_one_has():
    for name in (
        "mean_displacement",
        "normalised_footrule",
        "jaccard",
        "kendall_topk",
        "average_overlap",
        "rbo",
        "rbo_ties",
    ):
        assert getattr(rankshift, name)([], []) is None
        assert getattr(rankshift, name)(["a"], []) is not None
    assert rankshift.undefined_reason([], []) == "both_lists_empty"
    # Document: (2K + 1 - n) / 2 for n cases against none.
    assert rankshift.mean_displacement(list("abc"), [], K) == pytest.approx(9)


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_id_that_stands_twice_is_named(side):
    pair = {"before": ["a"], "after": ["a"], side: ["x", "case 7", "y", "case 7"]}
    for name in ("mean_displacement", "normalised_footrule", "rbo", "kendall_topk"):
        with pytest.raises(
            InputError, match=f"list {side}: 'case 7' stands at ranks 2"
        ):
            getattr(rankshift, name)(**pair)
    arrays = {"before": [[1, 2]], "after": [[1, 2]], side: [[3, 3]]}
    with pytest.raises(InputError, match=f"list {side}, row 0: id 3"):
        rankshift.footrule_batch(**arrays)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([[1.5]], [[1]], "integers"),
        ([1, 2], [1, 2], "integers of shape"),
        ([[1], [2]], [[1]], "do not pair"),
        ([[-1, 2]], [[1, 2]], "follows an empty rank"),
        ([[2**61]], [[1]], "too large"),
    ],
)
def test_arrays_that_are_no_lists_are_refused(before, after, message):
    with pytest.raises(InputError, match=message):
        rankshift.footrule_batch(before, after)


def test_ids_of_any_size_and_any_negative_filling():
    small = rankshift.footrule_batch([[1, 2, 3, -1]], [[3, 4, -1, -1]], 4)
    large = rankshift.footrule_batch(
        [[10**12, 2, 3, -(10**12)]], [[3, 4, -5, -(10**15)]], 4
    )
    assert small == large


def test_wrong_options_are_refused():
    for name, value in {"k": 0, "affected": "all", "absent": "0"}.items():
        with pytest.raises(InputError, match=rf"\b{name}\b.* '?{value}\b"):
            rankshift.mean_displacement(["a"], ["b"], **{name: value})
    with pytest.raises(InputError, match="penalty"):
        rankshift.kendall_topk(["a"], ["b"], penalty=2)
    for missing in (None, math.nan):
        with pytest.raises(InputError, match="no id at rank 2"):
            rankshift.mean_displacement(["a", missing], ["a"])
