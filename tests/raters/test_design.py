import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from casebook.errors import InputError
from casebook.raters.design import balanced_sides, draw_items, make_design


def secret(number):
    return f"{number:064x}"


def items(count):
    return [f"q{n}" for n in range(count)]


def design_of(number, count=7, systems="ab", raters=4, **options):
    names = [f"r{n}" for n in range(raters)]
    return make_design(items(count), list(systems), names, secret(number), **options)


def left_counts(design):
    """Cells and left ones per rater and per comparison, from the numbers themselves."""
    rater, comparison, _, left = design.cells.T
    return [(np.bincount(by), np.bincount(by, left)) for by in (rater, comparison)]


def test_a_thousand_designs_are_exactly_balanced():
    orders, shares = set(), []
    for number in range(1000):
        design = design_of(number, raters=5)
        for n, left in left_counts(design):
            assert (np.abs(left - n / 2) <= 0.5).all()
        orders.add(design.cells[:, 1].tobytes())
        shares.append(design.cells[0, 3])
    assert len(orders) == 1000
    assert 0.45 < np.mean(shares) < 0.55


@given(
    cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, unique=True), seed=st.integers(0, 99)
)
def test_any_incomplete_table_is_balanced_in_rows_and_columns(cells, seed):
    rows, columns = np.array(cells).T
    sides = balanced_sides(rows, columns, np.random.default_rng(seed))
    for by in (rows, columns):
        n, left = np.bincount(by), np.bincount(by, sides)
        assert (np.abs(left - n / 2) <= 0.5).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(6, 20), st.integers(2, 4), st.integers(3, 6), st.integers(2, 3))
def test_overlap_loads_and_links(number, count, systems, raters, per_item):
    design = design_of(number, count, "abcd"[:systems], raters, per_item=per_item)
    frame = design.frame()
    assert set(frame.groupby(["item_id"]).size()) == {len(design.pairs) * per_item}
    loads = frame.groupby("rater").size()
    assert loads.max() - loads.min() <= 1
    assert (design.balance()["off"] <= (systems - 1) / 2).all()
    for _, form in frame.groupby("rater"):
        assert sorted(form["place"]) == list(range(len(form)))


def test_three_systems_stay_within_one_of_half():
    for number in range(50):
        assert design_of(number, 11, "abc").balance()["off"].max() <= 1


def test_pairs_are_used_equally_often():
    design = design_of(3, 13, "abcd", pairs_per_item=2)
    counts = np.bincount([pair for _, pair in design.comparisons])
    assert counts.max() - counts.min() <= 1


def test_unlinked_designs_are_refused():
    with pytest.raises(InputError, match="raters share no item"):
        design_of(0, per_item=1)
    with pytest.raises(InputError, match="systems share no item"):
        design_of(0, 1, "abcd", pairs_per_item=1)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"systems": "a"}, "at least two systems"),
        ({"systems": "aa"}, "named twice: a"),
        ({"per_item": 5}, "only 4"),
        ({"per_item": 0}, "at least 1"),
        ({"count": 0}, "items: none given"),
    ],
)
def test_impossible_designs_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        design_of(0, **options)


def test_the_sides_follow_from_the_secret_only():
    one, again, other = design_of(1), design_of(1), design_of(2)
    assert (one.cells == again.cells).all()
    assert not (one.cells == other.cells).all()
    with pytest.raises(InputError, match="32 characters"):
        make_design(items(4), ["a", "b"], ["r", "s"], "short")


def test_a_stratified_draw_keeps_proportions_and_is_recorded():
    strata = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    draw = draw_items(items(100), 20, strata, seed=4)
    drawn = draw[draw["drawn"]].groupby("stratum").size().to_dict()
    assert drawn == {"a": 12, "b": 6, "c": 2}
    assert len(draw) == 100
    assert draw.equals(draw_items(items(100), 20, strata, seed=4))
    assert not draw.equals(draw_items(items(100), 20, strata, seed=5))
    with pytest.raises(InputError, match="101 items are asked for"):
        draw_items(items(100), 101)


def test_every_item_is_drawn_equally_often():
    hits = sum(draw_items(items(10), 3, seed=s)["drawn"].to_numpy() for s in range(400))
    assert (np.abs(hits - 120) < 40).all()
