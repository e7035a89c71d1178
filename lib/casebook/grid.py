"""The grid of runs: which notebooks with which parameters make up a report."""

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from casebook.errors import InputError
from casebook.parameters import DATA, MODELS, declared, named_files
from casebook.paths import NOTEBOOKS, valid_name
from casebook.readers import read_yaml
from casebook.runs.record import digest

DEFAULT_GRID = NOTEBOOKS / "experiments.yml"
EVERY = "*"  # need of a cell that runs after every other cell of its run, done or failed
LARGEST = 10_000  # cells of one row; more is a mistake
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[0-9]+)?")


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
    """Read a grid file; a row with a ``vary`` part stands for many cells."""
    path = Path(path)
    rows = read_yaml(path, "grid file")
    if not isinstance(rows, list):
        raise InputError(f"{path}: a grid is a list of rows, each with a name")
    cells, members = [], {}
    for number, row in enumerate(rows, 1):
        made = _cells(f"{path}: row {number}", row)
        cells += made
        members[row["name"]] = tuple(cell.name for cell in made)
    names = Counter(cell.name for cell in cells)
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        raise InputError(f"{path}: {', '.join(twice)}: used by more than one row")
    # A need for a row that stands for many cells is one for each of them.
    cells = [replace(c, needs=tuple(n for need in c.needs for n in members.get(need, (need,)))) for c in cells]
    for cell in cells:
        unknown = sorted(set(cell.needs) - set(names) - {EVERY})
        if unknown:
            raise InputError(f"{path}: {cell.name} needs unknown {', '.join(unknown)}")
    return cells


def _cells(where, row):
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected name, notebook, parameters, tags, needs")
    unknown = sorted(map(str, set(row) - {"name", "notebook", "parameters", "tags", "needs", "vary"}))
    missing = sorted({"name", "notebook"} - set(row))
    if unknown or missing:
        raise InputError(f"{where}: unknown keys {unknown}, missing keys {missing}")
    for key, kind, name in (("parameters", dict, "mapping"), ("tags", list, "list"), ("needs", list, "list")):
        if not isinstance(row.get(key) or kind(), kind):
            raise InputError(f"{where}: {key} is not a {name}")
    if not isinstance(row["name"], str):
        raise InputError(f"{where}: name {row['name']!r} is not allowed: it must be text")
    return [
        Cell(
            valid_name(single["name"], f"{where}: name"),
            valid_name(single["notebook"], f"{where}: notebook"),
            dict(single.get("parameters") or {}),
            tuple(single.get("tags") or ()),
            tuple(single.get("needs") or ()),
        )
        for single in expand(row, where)
    ]


def expand(row, where):
    """Write out a row with a ``vary`` part: product, zip, exclude, include."""
    vary = row.get("vary")
    if vary is None:
        return [row]
    if not isinstance(vary, dict) or not vary or set(vary) - {"product", "zip", "include", "exclude"}:
        raise InputError(f"{where}: vary takes exclude, include, product, zip")
    product, together = vary.get("product", {}), vary.get("zip", {})
    for part, lists in (("product", product), ("zip", together)):
        if not isinstance(lists, dict) or not all(isinstance(v, list) and v for v in lists.values()):
            raise InputError(f"{where}: {part} is a mapping of names to lists")
    for part in ("include", "exclude"):
        rules = vary.get(part, [])
        if not isinstance(rules, list) or not all(isinstance(r, dict) for r in rules):
            raise InputError(f"{where}: {part} is a list of names with values")
    if len({len(values) for values in together.values()}) > 1:
        raise InputError(f"{where}: the lists of zip differ in length")
    if set(product) & set(together):
        raise InputError(f"{where}: a parameter stands in product and in zip")
    total = math.prod(map(len, product.values())) * len(next(iter(together.values()), [None]))
    if total > LARGEST:
        raise InputError(f"{where}: stands for {total:,} cells, not 1 to {LARGEST}")
    excluded = vary.get("exclude", [])
    chosen = [v for v in _combinations(product, together) if not any(rule.items() <= v.items() for rule in excluded)]
    chosen += [values for values in vary.get("include", []) if values not in chosen]
    if not 1 <= len(chosen) <= LARGEST:
        raise InputError(f"{where}: stands for {len(chosen)} cells, not 1 to {LARGEST}")
    fixed = {key: value for key, value in row.items() if key != "vary"}
    return [_named(fixed, values, product | together) for values in chosen]


def _combinations(product, together):
    if not product and not together:
        return
    pairs = [dict(zip(together, values, strict=True)) for values in zip(*together.values(), strict=True)]
    for values in itertools.product(*product.values()):
        for extra in pairs or [{}]:
            yield dict(zip(product, values, strict=True)) | extra


def _named(fixed, values, lists):
    """Name a cell after its values; one that is no plain word goes by its place in the list."""
    parts = []
    for name, value in values.items():
        listed = lists.get(name, [])
        plain = isinstance(value, (str, int, float)) and _PLAIN.fullmatch(str(value))
        parts.append(str(value) if plain else f"{name}{listed.index(value) + 1 if value in listed else 0}")
    parameters = {**(fixed.get("parameters") or {}), **values}
    return fixed | {"name": "-".join([str(fixed["name"]), *parts]), "parameters": parameters}


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
    takes = [set(overrides)] * len(chosen)
    if overrides and not names:  # only the cells whose notebooks have them
        takes = [set(overrides) & set(declared(NOTEBOOKS / cell.notebook)) for cell in chosen]
        unknown = sorted(set(overrides).difference(*takes))
        if unknown:
            raise InputError(f"no experiment has a parameter {', '.join(unknown)}")
    given = [{name: value for name, value in overrides.items() if name in taken} for taken in takes]
    return [replace(c, parameters=c.parameters | values) for c, values in zip(chosen, given, strict=True)]


def _by_name(cells, name, tag, overrides):
    if name.endswith(".ipynb"):  # a notebook of the user's own
        source = Path(name).expanduser().resolve()
        declared(source)
        return [Cell(valid_name(f"{source.stem}-{digest(overrides)[:8]}" if overrides else source.stem), str(source))]
    exact = [cell for cell in cells if cell.name == name]
    group = [cell for cell in cells if cell.experiment == name]
    if not exact and not group:
        known = sorted({c.experiment for c in cells} | {c.name for c in cells})
        raise InputError(f"unknown experiment {name!r}; known: {', '.join(known)}")
    # With other data the other parameters of a configuration mean nothing.
    files = any(named_files(value) for name, value in overrides.items() if name not in (*DATA, *MODELS))
    if exact or not (files or {"dataset", "datasets"} & set(overrides)):
        return exact or [cell for cell in group if tag in cell.tags]
    return [Cell(f"{name}-{digest(overrides)[:8]}", group[0].notebook)]
