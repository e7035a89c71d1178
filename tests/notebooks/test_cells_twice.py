"""Any cell of a chapter can be run twice in a row: it shows and writes the same again."""

import json

import pytest
from cells import as_text, run_cell

from casebook.batch.grid import load_grid, select
from casebook.paths import NOTEBOOKS

SMOKE = select(load_grid(), tag="smoke")
WRITTEN = ("*/*.json", "*/*.csv", "*/*.svg", "*/*.gz")
MEASURED_TIMES = "timings"


def written(folder):
    files = [path for pattern in WRITTEN for path in folder.glob(pattern)]
    return {path: path.read_bytes() for path in files if path.parent.name != MEASURED_TIMES}


@pytest.mark.slow
@pytest.mark.parametrize("cell", SMOKE, ids=lambda cell: cell.name)
def test_every_cell_twice_in_a_row_gives_the_same(cell, tmp_path, displayed):
    (tmp_path / "results" / "twice" / "runs").mkdir(parents=True)
    variables = {}
    notebook = json.loads((NOTEBOOKS / cell.notebook).read_text(encoding="utf-8"))
    for source in notebook["cells"]:
        if source["cell_type"] != "code":
            continue
        outputs = []
        for _ in range(2):
            displayed.clear()
            value = run_cell("".join(source["source"]), source["id"], variables)
            outputs.append(([*displayed, as_text(value)], written(tmp_path / "results" / "twice")))
            if "parameters" in source["metadata"].get("tags", []):
                variables.update(cell.parameters | {"run": "twice", "cell": cell.name})
        if "nbval-ignore-output" not in source["metadata"].get("tags", []):
            assert outputs[0] == outputs[1], source["id"]
