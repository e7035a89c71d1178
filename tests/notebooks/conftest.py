"""Chapters whose cells are run one by one."""

import json

import IPython.display
import pytest
from cells import as_text, run_cell

import casebook.notebook
import casebook.titled
from casebook import paths


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Give a function that runs all cells of a chapter with parameters, in a temporary folder.

    It gives the variables, and what each cell displayed as text.
    """
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    displayed = []
    for module in (IPython.display, casebook.notebook, casebook.titled):
        monkeypatch.setattr(
            module, "display", lambda *values: displayed.extend(map(as_text, values))
        )
    (tmp_path / "results" / "mine" / "runs").mkdir(parents=True)

    def run(name, **parameters):
        variables = {}
        shown = {}
        notebook = json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                displayed.clear()
                run_cell("".join(cell["source"]), cell["id"], variables)
                shown[cell["id"]] = "\n".join(displayed)
                if "parameters" in cell["metadata"].get("tags", []):
                    variables.update(parameters | {"run": "mine", "cell": "mine"})
        return variables, shown

    return run
