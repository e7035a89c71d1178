"""Draw, overlap, sides: balanced, linked, and from the secret only."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from casebook.errors import InputError
from casebook.raters.design import balanced_sides, draw_items, make_design, opaque_id

ITEMS = [f"q{n}" for n in range(100)]


def design_of(number, count=7, systems="ab", raters=4, **options):
    names = [f"r{n}" for n in range(raters)]
    return make_design(ITEMS[:count], list(systems), names, f"{number:064x}", **options)


def off(design, by):
    """Largest distance from one half of the presentations in which the pair's first system stands
    left."""
    first = design["left"] < design["right"]
    counts = first.groupby([design[name] for name in by]).agg(["sum", "size"])
    return (counts["sum"] - counts["size"] / 2).abs().max()


def test_hundreds_of_designs_are_exactly_balanced():
    orders, lefts = set(), []
    for number in range(200):
        design = design_of(number, raters=5)
        assert off(design, ["rater"]) <= 0.5 and off(design, ["item_id"]) <= 0.5
        orders.add(tuple(design["item_id"]))
        lefts.append(design["left"].iloc[0] == "a")
    assert len(orders) == 200
    assert 0.4 < np.mean(lefts) < 0.6


@given(
    cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, unique=True),
    seed=st.integers(0, 99),
)
def test_any_incomplete_table_is_balanced_in_rows_and_columns(cells, seed):
    rows, columns = np.array(cells).T
    sides = balanced_sides(rows, columns, np.random.default_rng(seed))
    for by in (rows, columns):
        assert (np.abs(np.bincount(by, sides) - np.bincount(by) / 2) <= 0.5).all()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(6, 20),
    st.integers(2, 4),
    st.integers(3, 6),
    st.integers(2, 3),
)
def test_overlap_loads_and_links(number, count, systems, raters, per_item):
    design = design_of(number, count, "abcd"[:systems], raters, per_item=per_item)
    assert set(design.groupby("item_id").size()) == {systems * (systems - 1) // 2 * per_item}
    loads = design.groupby("rater").size()
    assert loads.max() - loads.min() <= 1
    shown = design.melt("rater", ["left", "right"], "side", "system")
    sides = pd.crosstab([shown["rater"], shown["system"]], shown["side"])
    assert ((sides["left"] - sides["right"]).abs() / 2 <= (systems - 1) / 2).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"per_item": 1}, "raters share no item"),
        ({"systems": "a"}, "at least two systems"),
        ({"per_item": 5}, "5 raters per item are asked for"),
        ({"per_item": 0}, "at least 1"),
    ],
)
def test_impossible_designs_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        design_of(0, **options)


def test_everything_follows_from_the_secret_only():
    assert design_of(1).equals(design_of(1)) and not design_of(1).equals(design_of(2))
    assert opaque_id("s" * 32, "a", "bc") != opaque_id("s" * 32, "ab", "c")
    with pytest.raises(InputError, match="32 characters"):
        opaque_id("s" * 31, "a")


def test_a_stratified_draw_keeps_proportions_and_is_recorded():
    strata = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    draw = draw_items(ITEMS, 20, strata, seed=4)
    assert draw[draw["drawn"]].groupby("stratum").size().to_dict() == {"a": 12, "b": 6, "c": 2}
    assert len(draw) == 100 and draw.equals(draw_items(ITEMS, 20, strata, seed=4))
    assert not draw.equals(draw_items(ITEMS, 20, strata, seed=5))
    with pytest.raises(InputError, match="101 items are asked for"):
        draw_items(ITEMS, 101)
