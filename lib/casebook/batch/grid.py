"""The grid of runs: which notebooks with which parameters make up a report."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from casebook import paths
from casebook.batch.parameters import annotations, declarations, resolved
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.paths import home_path, valid_name
from casebook.readers import did_you_mean, read_yaml
from casebook.runs.record import digest

DEFAULT_GRID = paths.NOTEBOOKS / "experiments.yml"
# Need of a cell that runs after every other cell of its run, done or failed.
EVERY = "*"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Cell:
    name: str
    notebook: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def experiment(self):
        return re.sub(r"^\d[^_]*_", "", Path(self.notebook).stem)  # without its number

    @property
    def source(self):
        return paths.notebook_files().get(
            self.notebook, paths.NOTEBOOKS / self.notebook
        )


# --- reading


def load_grid(path=DEFAULT_GRID):
    path = Path(path)
    rows = read_yaml(path)
    if not isinstance(rows, list):
        raise InputError(
            f"{path}: a grid is a list of rows, each with a name and a notebook"
        )
    cells = []
    for number, row in enumerate(rows, 1):
        where = f"{path}: row {number}"
        refuse_unstorable(row, where)
        try:
            cell = TypeAdapter(Cell).validate_python(row)
        except ValidationError as error:
            raise InputError(f"{where}: {first_problem(error)}") from None
        valid_name(cell.name, where)
        valid_name(cell.notebook, where)
        if path == DEFAULT_GRID:
            cell = replace(cell, parameters=_in_project(cell.parameters))
        cells.append(cell)
    names = [cell.name for cell in cells]
    needed = {need for cell in cells for need in cell.needs}
    faults = {
        "used by more than one row": [
            name for name in set(names) if names.count(name) > 1
        ],
        "needed, and no row": sorted(needed - {*names, EVERY}),
        "no name of a cell: leave the dot out": [name for name in names if "." in name],
    }
    for fault, wrong in faults.items():
        if wrong:
            raise InputError(f"{path}: {', '.join(wrong)}: {fault}")
    return cells


def _in_project(parameters):
    # Paths of the project's grid begin at its folder, wherever one works.
    changed = dict(parameters)
    for name, value in parameters.items():
        if isinstance(value, str) and value.startswith(("./", "../")):
            changed[name] = str(paths.ROOT / value)
    return changed


def refuse_unstorable(value, where):
    """Refuse values of parameters that a record, which is JSON, cannot hold."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        problem = "a value is no text, list or finite number of at most 4,300 digits"
        raise InputError(f"{where}: {problem}: put it in quotes") from None


# --- choosing


def select(cells, names=(), tag="default", overrides=None):
    """Choose the cells to run, by name, experiment or tag, and set parameters in them."""
    overrides = overrides or {}
    found = [] if names else _tagged(cells, tag, "the grid")
    for name in names:
        found += _cells_named(name, cells, tag, overrides)
    chosen = []
    known = set()
    for cell in {cell.name: cell for cell in found}.values():
        declared = declarations(cell.source) if overrides else {}
        values = {name: value for name, value in overrides.items() if name in declared}
        chosen.append(replace(cell, parameters=cell.parameters | values))
        known.update(declared)
    for name in overrides.keys() - known:
        near = f"{did_you_mean(name, known)}; known: {', '.join(sorted(known))}"
        raise InputError(f"{chosen[0].notebook}: has no parameter {name}{near}")
    return chosen


def _cells_named(name, cells, tag, overrides):
    """The cells of a name: of one's own notebook, a row, an experiment or one of our notebooks."""
    if name.endswith(".ipynb"):
        source = home_path(name).resolve()
        cell = Cell(valid_name(source.stem.replace(".", "_")), str(source))
        return [_marked(cell, overrides)] if overrides else [cell]
    exact = [cell for cell in cells if cell.name == name]
    if exact:
        return exact
    group = [cell for cell in cells if cell.experiment == name]
    notebooks = {Cell("", file).experiment: file for file in paths.notebook_files()}
    notebooks |= {cell.experiment: cell.notebook for cell in group}
    if name not in notebooks:
        names = sorted({cell.experiment for cell in cells})
        near = did_you_mean(name, {*names, *(cell.name for cell in cells)})
        raise InputError(
            f"unknown experiment {name!r}{near}; known: {', '.join(names)}"
        )
    cell = Cell(name, notebooks[name])
    # With other data the other parameters of a configuration mean nothing.
    kinds = annotations(cell.source)
    if any(
        key in ("dataset", "datasets") or "Path" in kinds.get(key, "")
        for key in overrides
    ):
        return [_marked(cell, overrides)]
    return _tagged(group, tag, name) if group else [cell]


def _tagged(cells, tag, whose):
    """Cells with a tag; where there are none, a refusal that lists the tags."""
    found = [cell for cell in cells if tag in cell.tags]
    if not found:
        tags = sorted({tag for cell in cells for tag in cell.tags})
        way = " or ".join(f"--tag {tag}" for tag in tags) or "the name of a row"
        raise InputError(
            f"{whose} has no rows tagged {tag!r}{did_you_mean(tag, tags)}; type {way}"
        )
    return found


def _marked(cell, overrides):
    text = json.dumps(resolved(overrides, cell.source), sort_keys=True)
    mark = digest(text.replace(str(paths.ROOT), "."))[:8]
    return replace(cell, name=f"{cell.name}-{mark}")
