"""Source notebooks are readable, clean and runnable by parameter."""

import json

import pytest

from casebook.batch.grid import load_grid, select
from casebook.batch.parameters import declarations
from casebook.paths import NOTEBOOKS, ROOT

SOURCES = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def source(request):
    return request.param


def code_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [c for c in cells if c["cell_type"] == "code"]


def test_run_and_cell_are_parameters(source):
    assert {"run", "cell"} <= set(declarations(source))


# `make smoke` makes it again after a source has changed.
def test_the_reference_run_was_made_from_the_sources():
    for cell in select(load_grid(), tag="smoke"):
        made = code_cells(ROOT / "results/smoke/notebooks" / f"{cell.name}.ipynb")
        sources = [c["source"] for c in code_cells(NOTEBOOKS / cell.notebook)]
        executed = [c["source"] for c in made if c["id"] != "injected-parameters"]
        assert executed == sources, f"{cell.notebook} has changed: run make smoke"
