import json
import re

import pytest

from casebook.batch.grid import DEFAULT_GRID, Cell, load_grid, select
from casebook.errors import InputError

ROWS = """
- {name: a-one, notebook: 01_a.ipynb, parameters: {dataset: x}, tags: [default]}
- {name: a-two, notebook: 01_a.ipynb, tags: [default, full]}
- {name: b, notebook: 02_b.ipynb, tags: [full], needs: [a-one]}
"""


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.setattr("casebook.paths.NOTEBOOKS", tmp_path)
    parameters = {"cell_type": "code", "metadata": {"tags": ["parameters"]}}
    parameters["source"] = "dataset = k = None"
    for name in ("01_a.ipynb", "02_b.ipynb"):
        (tmp_path / name).write_text(json.dumps({"cells": [parameters]}))
    path = tmp_path / "grid.yml"
    path.write_text(ROWS)
    return load_grid(path)


def names(cells):
    return [cell.name for cell in cells]


def test_an_experiment_without_a_row_is_its_notebook(cells):
    (cell,) = select(cells, ["query_length"])
    assert (cell.name, cell.notebook) == ("query_length", "09_query_length.ipynb")
    (cell,) = select(cells, ["query_length"], overrides={"dataset": "planted"})
    assert re.fullmatch("query_length-[0-9a-f]{8}", cell.name)


def test_overriding_a_cell_keeps_its_other_parameters(cells):
    (cell,) = select(cells, ["a-one"], overrides={"k": 5})
    assert cell == Cell("a-one", "01_a.ipynb", {"dataset": "x", "k": 5}, ("default",))


HUGE = "f" * 5000
ROW = "- {name: a, notebook: 09_query_length.ipynb, tags: [default]"
BAD_GRIDS = [
    ("a: [", "grid.yml:2: "),
    ("just text", "a list of rows"),
    ("- 3", "row 1: "),
    ("- {name: a}", "row 1: field notebook: "),
    ("- {name: a, notebook: b, tag: c}", "row 1: field tag: Unexpected"),
    ("- {name: ../a, notebook: b}", "not allowed"),
    ("- {name: a, notebook: b}\n- {name: a, notebook: b}", "more than one row"),
    ("- {name: a, notebook: b, needs: [c]}", "c: needed, and no row"),
    ("- {name: a.b, notebook: b}", "a.b: no name of a cell"),
    ("!!python/object:os.system {}", "could not determine a constructor"),
    # Tags and names of parameters that are no text, and numbers without an end.
    (
        "- {name: a, notebook: b, tags: [[x]]}",
        "row 1: field tags.0: Input should be a valid string",
    ),
    ("- {name: a, notebook: b, needs: [{b: 1}]}", "row 1: field needs.0: "),
    ("- {name: 3, notebook: b}", "row 1: field name: "),
    ("- {name: a, notebook: 3}", "row 1: field notebook: "),
    (ROW + ", parameters: {1: 2}}", "row 1: field parameters.* valid string"),
    (ROW + ", parameters: {null: 2, seed: 1}}", "row 1: field parameters.* valid string"),
    (ROW + ", parameters: {seed: 2024-01-01}}", "row 1: a value is no text, list or finite"),
    (ROW + ", parameters: {seed: .nan}}", "row 1: .*finite number"),
    (ROW + f", parameters: {{seed: 0x{HUGE}}}}}", "row 1: .* at most 4,300 digits"),
    (ROW + f", parameters: {{seed: {'1' * 5000}}}}}", "Exceeds the limit"),
]


def test_a_bad_grid_is_named_in_one_line(tmp_path):
    path = tmp_path / "grid.yml"
    amiss = []
    for text, message in BAD_GRIDS:
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            load_grid(path)
        line = str(caught.value)
        if "\n" in line or len(line) > 500 or not re.search(message, line):
            amiss.append((text[:80], line[:200]))
    assert amiss == []


def test_unknown_names_and_tags_say_what_is_known_and_what_is_near(cells):
    for name, tag, message in [
        ("nope", "default", "unknown experiment 'nope'; known: a, b"),
        ("a-on", "default", "unknown experiment 'a-on': did you mean 'a-one'?; known"),
        ("a", "nightly", "a has no rows tagged 'nightly'; type --tag default or --tag full"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            select(cells, [name], tag)
    with pytest.raises(InputError, match="has no parameter n_resample: did you mean 'n_resamples'"):
        select(load_grid(DEFAULT_GRID), tag="smoke", overrides={"n_resample": 200})
