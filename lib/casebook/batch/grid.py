"""The grid of runs: which notebooks with which parameters make up a report."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from casebook import paths
from casebook.batch.parameters import annotations, as_list, declarations, names_file, resolved
from casebook.errors import InputError
from casebook.paths import home_path, valid_name
from casebook.readers import did_you_mean, read_yaml
from casebook.runs.locations import in_project
from casebook.runs.record import digest

DEFAULT_GRID = paths.NOTEBOOKS / "experiments.yml"
EVERY = "*"  # need of a cell that runs after every other cell of its run, done or failed
REQUIRED_KEYS = {"name", "notebook"}
# A parameter of an experiment that another notebook reads: ratings without systems, and answers
# that nobody has judged yet.
HANDED_OVER = {
    ("rater_agreement", "ratings"): "rating_agreement",
    ("rater_agreement", "log"): "blind_study",
    ("rater_agreement", "questions"): "blind_study",
    ("rater_agreement", "raters"): "blind_study",
    ("rater_agreement", "url"): "blind_study",
}
OPTIONAL_KEYS = {"parameters": dict, "tags": list, "needs": list}


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
        number, _, name = stem.partition("_")
        return name if number[:1].isdigit() else stem

    @property
    def source(self):
        """File of the notebook."""
        return paths.notebook_files().get(self.notebook, paths.NOTEBOOKS / self.notebook)


# --- reading


def load_grid(path=DEFAULT_GRID):
    """Read a grid file."""
    path = Path(path)
    rows = read_yaml(path)
    if not isinstance(rows, list):
        raise InputError(f"{path}: a grid is a list of rows, each with a name")
    cells = [_cell_of(row, f"{path}: row {number}") for number, row in enumerate(rows, 1)]
    if path == DEFAULT_GRID:
        cells = [replace(cell, parameters=_in_project(cell.parameters)) for cell in cells]
    names = Counter(cell.name for cell in cells)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        raise InputError(f"{path}: {', '.join(repeated)}: used by more than one row")
    for cell in cells:
        unknown = sorted(set(cell.needs) - set(names) - {EVERY})
        if unknown:
            raise InputError(f"{path}: {cell.name} needs unknown {', '.join(unknown)}")
    return cells


def _in_project(value):
    """Give parameters whose paths begin at the folder of the project, wherever one works."""
    if isinstance(value, dict):
        return {name: _in_project(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_in_project(member) for member in value]
    if isinstance(value, str) and value.startswith(("./", "../")):
        return str(paths.ROOT / value)
    return value


def _cell_of(row, where):
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected name, notebook, parameters, tags, needs")
    unknown = sorted(map(str, row.keys() - REQUIRED_KEYS - OPTIONAL_KEYS.keys()))
    missing = sorted(REQUIRED_KEYS - row.keys())
    if unknown or missing:
        raise InputError(f"{where}: unknown keys {unknown}, missing keys {missing}")
    refuse_unstorable(row, where)
    for key, kind in OPTIONAL_KEYS.items():
        if row.get(key) and not isinstance(row[key], kind):
            raise InputError(f"{where}: {key} is not a {'mapping' if kind is dict else 'list'}")
    texts = [row["name"], row["notebook"], *(row.get("parameters") or ())]
    for text in (*texts, *(row.get("tags") or ()), *(row.get("needs") or ())):
        if not isinstance(text, str):
            raise InputError(f"{where}: {text!r} is no text: put it in quotes")
    return Cell(
        name=valid_name(row["name"], f"{where}: name"),
        notebook=valid_name(row["notebook"], f"{where}: notebook"),
        parameters=dict(row.get("parameters") or {}),
        tags=tuple(row.get("tags") or ()),
        needs=tuple(row.get("needs") or ()),
    )


def refuse_unstorable(value, where):
    """Refuse values of parameters that a record, which is JSON, cannot hold."""
    try:
        json.dumps(value, allow_nan=False)
    except TypeError:
        raise InputError(f"{where}: a value is no text, number or list: put it in quotes") from None
    except ValueError:
        raise InputError(
            f"{where}: numbers must be finite, and have at most 4,300 digits"
        ) from None


# --- choosing


def select(cells, names=(), tag="default", overrides=None):
    """Choose the cells to run, by name, experiment or tag, and set parameters in them."""
    overrides = overrides or {}
    if names:
        chosen = [cell for name in names for cell in _cells_named(name, cells, tag, overrides)]
    else:
        chosen = [cell for cell in cells if tag in cell.tags]
    if not chosen:
        tags = sorted({tag for cell in cells for tag in cell.tags})
        near = did_you_mean(tag, tags)
        raise InputError(f"no experiment has the tag {tag!r}{near}; tags: {', '.join(tags)}")
    chosen = list({cell.name: cell for cell in chosen}.values())
    if names:
        return [replace(cell, parameters=cell.parameters | overrides) for cell in chosen]
    return _with_declared(chosen, overrides) if overrides else chosen


def _with_declared(cells, overrides):
    """Set in each cell the parameters that its notebook declares; each must be declared by one."""
    changed = []
    used = set()
    for cell in cells:
        names = declarations(cell.source).keys()
        values = {name: value for name, value in overrides.items() if name in names}
        used |= values.keys()
        changed.append(replace(cell, parameters=cell.parameters | values))
    unknown = sorted(overrides.keys() - used)
    if unknown:
        names = {name for cell in cells for name in declarations(cell.source)}
        near = did_you_mean(unknown[0], names)
        raise InputError(f"no experiment has a parameter {', '.join(unknown)}{near}")
    return changed


def _cells_named(name, cells, tag, overrides):
    if name.endswith(".ipynb"):  # a notebook of the user's own
        return [_cell_of_notebook(name, overrides)]
    for parameter in overrides:
        name = HANDED_OVER.get((name, parameter), name)
    exact = [cell for cell in cells if cell.name == name]
    without_row = [Cell(name, notebook) for notebook in notebooks_of(name)]
    group = [cell for cell in cells if cell.experiment == name] or without_row
    if not exact and not group:
        names = {cell.experiment for cell in cells} | {cell.name for cell in cells}
        near = did_you_mean(name, names)
        known = ", ".join(sorted({cell.experiment for cell in cells}))
        raise InputError(f"unknown experiment {name!r}{near}; known: {known}")
    if exact:
        return exact
    # With other data the other parameters of a configuration mean nothing.
    if overrides and _other_data(overrides, group[0].source):
        return [Cell(f"{name}-{_digits(overrides, group[0].source)}", group[0].notebook)]
    if group == without_row:
        return without_row
    return [cell for cell in group if tag in cell.tags]


def _cell_of_notebook(path, overrides):
    source = home_path(path).resolve()
    declarations(source)
    name = f"{source.stem}-{_digits(overrides, source)}" if overrides else source.stem
    return Cell(valid_name(name), str(source))


def notebooks_of(experiment):
    """Give the notebook of an experiment in a list, which no row of the grid has to name."""
    ending = f"_{experiment}.ipynb"
    names = paths.notebook_files()
    return [name for name in names if name.lstrip("0123456789") == ending]


def _digits(overrides, source):
    """Digits for the names of cells of one experiment, the same wherever the project is."""
    values = resolved(overrides, source)
    return digest({name: in_project(value) for name, value in values.items()})[:8]


def _other_data(overrides, source):
    """Whether parameters name data sets, or files of the user's own other than models."""
    kinds = annotations(source)
    return any(
        name in ("dataset", "datasets")
        or any(names_file(text, kinds.get(name, "")) for text in as_list(value))
        for name, value in overrides.items()
    )
