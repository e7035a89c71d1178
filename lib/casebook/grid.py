"""The grid of runs: which notebooks with which parameters make up a report."""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from casebook.errors import InputError
from casebook.paths import NOTEBOOKS, valid_name
from casebook.runs.fingerprint import digest

DEFAULT_GRID = NOTEBOOKS / "experiments.yml"


@dataclass(frozen=True)
class Cell:
    """One notebook with one set of parameters.

    Parameters
    ----------
    name : str
        Unique; names the executed notebook and all that it writes.
    notebook : str
        File name below ``notebooks/``, ``NN_<experiment>.ipynb``.
    parameters : dict
        What is injected.
    tags : tuple of str
        Sets that the cell belongs to: smoke, default, permissive, full.
    needs : tuple of str
        Cells that must be complete before this one starts.
    """

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
    """Read a grid file.

    Parameters
    ----------
    path : path-like
        YAML: a list of rows with name, notebook, parameters, tags and needs.

    Returns
    -------
    list of Cell
        In file order.

    Raises
    ------
    InputError
        Naming the file, the row and what is wrong with it.
    """
    path = Path(path)
    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such grid file") from None
    except yaml.YAMLError as error:
        line = getattr(error, "problem_mark", None)
        raise InputError.at(path, line.line + 1 if line else 1, error.problem) from None
    if not isinstance(rows, list):
        raise InputError(f"{path}: a grid is a list of rows, each with a name")
    cells = [_cell(path, number, row) for number, row in enumerate(rows, 1)]
    _check_names(path, cells)
    return cells


def _cell(path, number, row):
    where = f"{path}: row {number}"
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected name, notebook, parameters, tags, needs")
    unknown = sorted(set(row) - {"name", "notebook", "parameters", "tags", "needs"})
    missing = sorted({"name", "notebook"} - set(row))
    if unknown or missing:
        raise InputError(f"{where}: unknown keys {unknown}, missing keys {missing}")
    return Cell(
        valid_name(row["name"], f"{where}: name"),
        valid_name(row["notebook"], f"{where}: notebook"),
        dict(row.get("parameters") or {}),
        tuple(row.get("tags") or ()),
        tuple(row.get("needs") or ()),
    )


def _check_names(path, cells):
    names = [cell.name for cell in cells]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path}: {', '.join(twice)}: used by more than one row")
    for cell in cells:
        unknown = sorted(set(cell.needs) - set(names))
        if unknown:
            raise InputError(f"{path}: {cell.name} needs unknown {', '.join(unknown)}")


def select(cells, names=(), tag="default", overrides=None):
    """Choose the cells to run.

    Parameters
    ----------
    cells : list of Cell
        The grid.
    names : sequence of str
        Names of cells or of experiments; none means every cell with the tag.
    tag : str
        Which cells of an experiment count when no cell is named.
    overrides : dict, optional
        Parameters set on the command line. With an experiment's name they make one
        cell of their own, with the notebook's defaults for all others.

    Returns
    -------
    list of Cell
        In grid order.

    Raises
    ------
    InputError
        If a name is unknown, or nothing carries the tag.
    """
    overrides = overrides or {}
    chosen = [cell for cell in cells if tag in cell.tags] if not names else []
    for name in names:
        chosen += _named(cells, name, tag, overrides)
    if not chosen:
        tags = sorted({tag for cell in cells for tag in cell.tags})
        raise InputError(f"no experiment has the tag {tag!r}; tags: {', '.join(tags)}")
    unique = {cell.name: cell for cell in chosen}
    return [_overridden(cell, overrides) for cell in unique.values()]


def _named(cells, name, tag, overrides):
    exact = [cell for cell in cells if cell.name == name]
    group = [cell for cell in cells if cell.experiment == name]
    if not exact and not group:
        known = sorted({c.experiment for c in cells} | {c.name for c in cells})
        raise InputError(f"unknown experiment {name!r}; known: {', '.join(known)}")
    if exact or not overrides:
        return exact or [cell for cell in group if tag in cell.tags]
    return [Cell(f"{name}-{digest(overrides)[:8]}", group[0].notebook)]


def _overridden(cell, overrides):
    parameters = {**cell.parameters, **overrides}
    return Cell(cell.name, cell.notebook, parameters, cell.tags, cell.needs)
