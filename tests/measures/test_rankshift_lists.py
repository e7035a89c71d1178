"""What every distance does with its lists: depth, empty lists and bad input."""

import math

import pytest
from plain_rankshift import K

from casebook.errors import InputError
from casebook.measures import rankshift


def test_only_the_first_k_count():
    before, after = list(range(20)), [*range(10), *range(30, 40)]
    assert rankshift.normalised_footrule(before, after, 10) == 0
    assert rankshift.jaccard(before, after, 10) == 1
    assert rankshift.normalised_footrule(before, after, 20) > 0


def test_two_empty_lists_have_no_value_and_one_has():
    for name in ("mean_displacement", "normalised_footrule", "jaccard", "kendall_topk", "average_overlap", "rbo"):
        assert getattr(rankshift, name)([], []) is None
        assert getattr(rankshift, name)(["a"], []) is not None
    assert rankshift.undefined_reason([], []) == "both_lists_empty"
    # Document: (2K + 1 - n) / 2 for n cases against none.
    assert rankshift.mean_displacement(list("abc"), [], K) == pytest.approx(9)


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_id_that_stands_twice_is_named(side):
    pair = {"before": ["a"], "after": ["a"], side: ["x", "case 7", "y", "case 7"]}
    for name in ("mean_displacement", "normalised_footrule", "rbo", "kendall_topk"):
        with pytest.raises(InputError, match=f"list {side}: 'case 7' stands at ranks 2"):
            getattr(rankshift, name)(**pair)


def test_wrong_options_are_refused():
    for name, value in {"k": 0, "affected": "all", "absent": "0"}.items():
        with pytest.raises(InputError, match=rf"\b{name}\b.* '?{value}\b"):
            rankshift.mean_displacement(["a"], ["b"], **{name: value})
    with pytest.raises(InputError, match="penalty"):
        rankshift.kendall_topk(["a"], ["b"], penalty=2)
    for missing in (None, math.nan):
        with pytest.raises(InputError, match="no id at rank 2"):
            rankshift.mean_displacement(["a", missing], ["a"])
