"""The grid of runs: which notebooks with which parameters make up a report."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from casebook import paths
from casebook.batch.parameters import DATA, MODELS, declared, named_files
from casebook.errors import InputError
from casebook.paths import home_path, valid_name
from casebook.readers import read_yaml
from casebook.runs.record import digest

DEFAULT_GRID = paths.NOTEBOOKS / "experiments.yml"
EVERY = "*"  # need of a cell that runs after every other cell of its run, done or failed


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
    cells = [_cell(f"{path}: row {number}", row) for number, row in enumerate(rows, 1)]
    names = Counter(cell.name for cell in cells)
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        raise InputError(f"{path}: {', '.join(twice)}: used by more than one row")
    for cell in cells:
        unknown = sorted(set(cell.needs) - set(names) - {EVERY})
        if unknown:
            raise InputError(f"{path}: {cell.name} needs unknown {', '.join(unknown)}")
    return cells


def _cell(where, row):
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected name, notebook, parameters, tags, needs")
    unknown = sorted(map(str, set(row) - {"name", "notebook", "parameters", "tags", "needs"}))
    missing = sorted({"name", "notebook"} - set(row))
    if unknown or missing:
        raise InputError(f"{where}: unknown keys {unknown}, missing keys {missing}")
    for key, kind, name in (
        ("parameters", dict, "mapping"),
        ("tags", list, "list"),
        ("needs", list, "list"),
    ):
        if not isinstance(row.get(key) or kind(), kind):
            raise InputError(f"{where}: {key} is not a {name}")
    if not isinstance(row["name"], str):
        raise InputError(f"{where}: name {row['name']!r} is not allowed: it must be text")
    return Cell(
        valid_name(row["name"], f"{where}: name"),
        valid_name(row["notebook"], f"{where}: notebook"),
        dict(row.get("parameters") or {}),
        tuple(row.get("tags") or ()),
        tuple(row.get("needs") or ()),
    )


def select(cells, names=(), tag="default", overrides=None):
    """Choose the cells to run, by name, experiment or tag, and set parameters in them."""
    overrides = overrides or {}
    chosen = [cell for cell in cells if tag in cell.tags] if not names else []
    for name in names:
        chosen += _by_name(cells, name, tag, overrides)
    if not chosen:
        tags = sorted({tag for cell in cells for tag in cell.tags})
        raise InputError(f"no experiment has the tag {tag!r}; tags: {', '.join(tags)}")
    chosen = list({cell.name: cell for cell in chosen}.values())
    if names or not overrides:
        return [replace(cell, parameters=cell.parameters | overrides) for cell in chosen]
    taken = [overrides.keys() & declared(paths.NOTEBOOKS / cell.notebook) for cell in chosen]
    unknown = sorted(overrides.keys() - set().union(*taken))
    if unknown:
        raise InputError(f"no experiment has a parameter {', '.join(unknown)}")
    return [
        replace(
            cell,
            parameters=cell.parameters
            | {name: value for name, value in overrides.items() if name in takes},
        )
        for cell, takes in zip(chosen, taken, strict=True)
    ]


def _by_name(cells, name, tag, overrides):
    if name.endswith(".ipynb"):  # a notebook of the user's own
        source = home_path(name).resolve()
        declared(source)
        return [
            Cell(
                valid_name(f"{source.stem}-{digest(overrides)[:8]}" if overrides else source.stem),
                str(source),
            )
        ]
    exact = [cell for cell in cells if cell.name == name]
    group = [cell for cell in cells if cell.experiment == name]
    if not exact and not group:
        known = sorted({c.experiment for c in cells} | {c.name for c in cells})
        raise InputError(f"unknown experiment {name!r}; known: {', '.join(known)}")
    # With other data the other parameters of a configuration mean nothing.
    files = any(
        named_files(value) for name, value in overrides.items() if name not in (*DATA, *MODELS)
    )
    if exact or not (files or {"dataset", "datasets"} & set(overrides)):
        return exact or [cell for cell in group if tag in cell.tags]
    return [Cell(f"{name}-{digest(overrides)[:8]}", group[0].notebook)]
