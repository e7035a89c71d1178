"""Any cell of a chapter can be run twice in a row: it shows and writes the same again."""

import ast
import json

import IPython.display
import pytest

import casebook.notebook
from casebook import paths
from casebook.batch.grid import load_grid, select
from casebook.paths import NOTEBOOKS

SMOKE = select(load_grid(), tag="smoke")
WRITTEN = ("*/*.json", "*/*.csv", "*/*.svg", "*/*.gz")
MEASURED_TIMES = "timings"


def as_text(value):
    for kind in ("_repr_markdown_", "_repr_html_"):
        if hasattr(value, kind):
            text = getattr(value, kind)()
            return text[0] if isinstance(text, tuple) else text
    return repr(value)


def run_cell(source, name, variables):
    """Execute a cell as a kernel does; gives the value of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), variables)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), variables)


def written(folder):
    files = [path for pattern in WRITTEN for path in folder.glob(pattern)]
    return {path: path.read_bytes() for path in files if path.parent.name != MEASURED_TIMES}


@pytest.mark.slow
@pytest.mark.parametrize("cell", SMOKE, ids=lambda cell: cell.name)
def test_every_cell_twice_in_a_row_gives_the_same(cell, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    displayed = []
    for module in (IPython.display, casebook.notebook):
        monkeypatch.setattr(
            module, "display", lambda *values: displayed.extend(map(as_text, values))
        )
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
