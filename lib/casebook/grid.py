"""The grid of runs: which notebooks with which parameters make up a report."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from casebook.errors import InputError
from casebook.grid_rows import expand
from casebook.notebook_parameters import parameter_names
from casebook.paths import NOTEBOOKS, valid_name
from casebook.plain_yaml import read_yaml
from casebook.runs.record import digest

DEFAULT_GRID = NOTEBOOKS / "experiments.yml"
_KEYS = {"name", "notebook", "parameters", "tags", "needs", "vary"}
# Other data than a configuration's make its other parameters meaningless.
OWN_DATA = {"dataset", "datasets", "forms"}
_KINDS = {dict: "mapping", list: "list"}
EVERY = "*"
"""Need of a cell that runs after every other cell of its run, done or failed."""


@dataclass(frozen=True)
class Cell:
    """One notebook with one set of parameters."""

    name: str
    notebook: str
    parameters: dict = field(default_factory=dict)
    tags: tuple = ()
    needs: tuple = ()

    @property
    def experiment(self):
        """Name of the experiment: the notebook's without number and ending."""
        stem = Path(self.notebook).stem
        return stem.partition("_")[2] if stem[:1].isdigit() else stem


def load_grid(path=DEFAULT_GRID):
    """Read a grid file."""
    path = Path(path)
    rows = read_yaml(path, "grid file")
    if not isinstance(rows, list):
        raise InputError(f"{path}: a grid is a list of rows, each with a name")
    cells, members = [], {}
    for number, row in enumerate(rows, 1):
        made = _cells(f"{path}: row {number}", row)
        cells += made
        if isinstance(row.get("name"), str):
            members[row["name"]] = tuple(cell.name for cell in made)
    cells = [replace(cell, needs=_members(cell.needs, members)) for cell in cells]
    _check_names(path, cells)
    return cells


def _members(needs, members):
    """Write out a need for a row that stands for many cells."""
    return tuple(name for need in needs for name in members.get(need, (need,)))


def _cells(where, row):
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected name, notebook, parameters, tags, needs")
    unknown = sorted(map(str, set(row) - _KEYS))
    missing = sorted({"name", "notebook"} - set(row))
    if unknown or missing:
        raise InputError(f"{where}: unknown keys {unknown}, missing keys {missing}")
    for key, kind in (("parameters", dict), ("tags", list), ("needs", list)):
        if not isinstance(row.get(key) or kind(), kind):
            raise InputError(f"{where}: {key} is not a {_KINDS[kind]}")
    return [_cell(where, single) for single in expand(row, where)]


def _cell(where, row):
    return Cell(
        valid_name(row["name"], f"{where}: name"),
        valid_name(row["notebook"], f"{where}: notebook"),
        dict(row.get("parameters") or {}),
        tuple(row.get("tags") or ()),
        tuple(row.get("needs") or ()),
    )


def _check_names(path, cells):
    names = Counter(cell.name for cell in cells)
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        raise InputError(f"{path}: {', '.join(twice)}: used by more than one row")
    for cell in cells:
        unknown = sorted(set(cell.needs) - set(names) - {EVERY})
        if unknown:
            raise InputError(f"{path}: {cell.name} needs unknown {', '.join(unknown)}")


def select(cells, names=(), tag="default", overrides=None):
    """Choose the cells to run."""
    overrides = overrides or {}
    chosen = [cell for cell in cells if tag in cell.tags] if not names else []
    for name in names:
        chosen += _named(cells, name, tag, overrides)
    if not chosen:
        tags = sorted({tag for cell in cells for tag in cell.tags})
        raise InputError(f"no experiment has the tag {tag!r}; tags: {', '.join(tags)}")
    unique = list({cell.name: cell for cell in chosen}.values())
    if overrides and not names:
        return _where_declared(unique, overrides)
    return [_overridden(cell, overrides) for cell in unique]


def _where_declared(cells, overrides):
    """Set parameters in the cells whose notebooks have them; the others stay."""
    known = [set(parameter_names(NOTEBOOKS / cell.notebook)) for cell in cells]
    unknown = sorted(set(overrides).difference(*known))
    if unknown:
        raise InputError(f"no experiment has a parameter {', '.join(unknown)}")
    return [
        _overridden(cell, {name: overrides[name] for name in overrides if name in its})
        for cell, its in zip(cells, known, strict=True)
    ]


def _named(cells, name, tag, overrides):
    exact = [cell for cell in cells if cell.name == name]
    group = [cell for cell in cells if cell.experiment == name]
    if not exact and not group:
        known = sorted({c.experiment for c in cells} | {c.name for c in cells})
        raise InputError(f"unknown experiment {name!r}; known: {', '.join(known)}")
    if exact or not OWN_DATA & set(overrides):
        return exact or [cell for cell in group if tag in cell.tags]
    return [Cell(f"{name}-{digest(overrides)[:8]}", group[0].notebook)]


def _overridden(cell, overrides):
    parameters = {**cell.parameters, **overrides}
    return Cell(cell.name, cell.notebook, parameters, cell.tags, cell.needs)
