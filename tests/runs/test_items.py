"""Single items: budgets, marked changes, addresses."""

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.runs.outputs import (
    item_page_address,
    items_json,
    items_within,
    one_line,
    word_changes,
)

WORDS = st.lists(st.sampled_from(["a", "b", "-c", "+d", "=e", "é"]), max_size=12)


@given(WORDS, WORDS)
def test_runs_of_a_change_give_both_texts_back(before, after):
    runs = word_changes(" ".join(before), " ".join(after))
    for sign, text in (("-", before), ("+", after)):
        kept = [run[1:] for run in runs if run[0] in ("=", sign)]
        assert " ".join(kept).split() == text
    assert all(run[0] in "=-+" and run[1:] for run in runs)
    same = [run for run in runs if run[0] == "="]
    assert (before == after) == (runs == same)


def test_a_budget_cuts_texts_first_and_then_items():
    def collect(chosen, opening):
        return {"items": [f"{row:02d}" + "x" * opening for row in chosen]}

    order = [3, 0, 2, 1]
    whole = len(items_json(collect(range(4), 100)))
    assert items_within(collect, order, (100, 10), whole) == collect([0, 1, 2, 3], 100)
    assert items_within(collect, order, (100, 10), whole - 1) == collect([0, 1, 2, 3], 10)
    half = len(items_json(collect([0, 3], 10)))
    assert items_within(collect, order, (100, 10), half) == collect([0, 3], 10)
    assert items_within(collect, order, (100, 10), 1) == collect([3], 10)
    assert items_within(collect, [], (100, 10), 1) == collect([], 10)


def test_texts_become_one_line_of_a_length():
    assert one_line("a  b\nc") == "a b c"
    assert one_line("x" * 500, 10) == "x" * 9 + "…"


def test_an_undefined_number_is_refused_rather_than_written():
    with pytest.raises(ValueError, match="JSON"):
        items_json({"items": [float("nan")]})


def test_addresses_hold_any_id():
    assert item_page_address("cell") == "items/cell.html"
    address = item_page_address("cell", q="a&b #2", only="hops: 1")
    path, choice = address.split("#")
    assert path == "items/cell.html"
    assert parse_qs(choice) == {"q": ["a&b #2"], "only": ["hops: 1"]}
