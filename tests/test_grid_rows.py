"""Rows that stand for many cells, and the mistakes that can be made in them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.grid import expand, load_grid

GRID = """
- name: base
  notebook: 01_a.ipynb
  parameters: {dataset: smoke}
  tags: [full]
  vary:
    product: {k: [1, 2.5], mode: [bm25, dense]}
    zip: {seed: [7, 8], fold: [1, 2]}
    exclude: [{k: 2.5, mode: dense}]
    include: [{k: 9, mode: 'two words', seed: 1, fold: 1}]
- {name: after, notebook: 02_b.ipynb, needs: [base]}
"""


def test_a_row_stands_for_its_combinations(tmp_path):
    path = tmp_path / "grid.yml"
    path.write_text(GRID)
    *made, after = load_grid(path)
    assert [cell.name for cell in made] == [
        "base-1-bm25-7-1",
        "base-1-bm25-8-2",
        "base-1-dense-7-1",
        "base-1-dense-8-2",
        "base-2.5-bm25-7-1",
        "base-2.5-bm25-8-2",
        "base-9-mode0-1-1",
    ]
    assert made[0].parameters == {"dataset": "smoke", "k": 1, "mode": "bm25", "seed": 7, "fold": 1}
    assert after.needs == tuple(cell.name for cell in made)


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), min_size=1
    )
)
def test_a_product_is_every_combination_once(product):
    rows = expand({"name": "x", "vary": {"product": product}}, "here")
    expected = [dict(zip(product, v, strict=True)) for v in itertools.product(*product.values())]
    assert [row["parameters"] for row in rows] == expected
    assert len({row["name"] for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("vary", "problem"),
    [
        ([], "vary takes exclude, include, product, zip"),
        ({"all": {}}, "vary takes"),
        ({"product": {"a": 3}}, "product is a mapping of names to lists"),
        ({"zip": {"a": []}}, "zip is a mapping of names to lists"),
        ({"zip": {"a": [1], "b": [1, 2]}}, "differ in length"),
        ({"zip": {"a": [1]}, "product": {"a": [1]}}, "in product and in zip"),
        ({"include": {"a": 1}}, "include is a list"),
        ({"product": {"a": [1]}, "exclude": [{"a": 1}]}, "stands for 0 cells"),
        ({"product": {c: list(range(99)) for c in "abcdefgh"}}, "stands for 9,2"),
    ],
)
def test_mistakes_are_named(vary, problem):
    with pytest.raises(InputError, match=rf"^here: .*{problem}"):
        expand({"name": "x", "vary": vary}, "here")
