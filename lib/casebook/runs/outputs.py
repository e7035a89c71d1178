"""Where one executed notebook puts its numbers, rows, tables and figures."""

import gzip
import json
import math

from casebook.errors import InputError
from casebook.files import replacing, write_json, write_text
from casebook.paths import run_dir, valid_name
from casebook.runs.items import as_json, page_address
from casebook.sheets import table_for_csv

DIGITS = 6  # of every stored number: far below any interval, above float noise


class RunOutputs:
    """The part of ``results/<run>`` that belongs to one cell of the grid."""

    def __init__(self, run, cell):
        self.run, self.cell = run, valid_name(cell, "cell")
        self.folder = run_dir(run)

    def rows(self, frame):
        """Keep the tidy per-unit rows, so that any later comparison can be paired."""
        path = self.folder / "rows" / f"{self.cell}.csv.gz"
        # Without time and file name in the header, equal rows give equal bytes.
        with replacing(path) as temporary:
            temporary.write_bytes(gzip.compress(_csv(frame).encode(), mtime=0))
        return path

    def table(self, name, frame):
        """Write a table that readers can download."""
        path = self.folder / "tables" / f"{self.cell}.{valid_name(name, 'table')}.csv"
        return write_text(path, _csv(frame))

    def figure(self, name, figure):
        """Write a figure as SVG without a date, so that reruns give the same bytes."""
        path = self.folder / "figures" / f"{self.cell}.{valid_name(name, 'figure')}.svg"
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        return path

    def timing(self, name, frame):
        """Write measurements of time, apart from what reruns must reproduce."""
        path = self.folder / "timings" / f"{self.cell}.{valid_name(name, 'timing')}.csv"
        return write_text(path, _csv(frame))

    def items(self, found):
        """Keep single items, such as questions or claims, with what became of them."""
        return write_text(self.folder / "items" / f"{self.cell}.json", as_json(found))

    def item_page(self, tag):
        """Give the address of this cell's items of one kind, from its own page."""
        return f"../../generated/{page_address(self.cell, only=tag)}"

    def numbers(self, experiment, values):
        """Write the numbers that the book may quote."""
        path = self.folder / "numbers" / f"{self.cell}.json"
        return write_json(path, {experiment: _rounded(values)})


def read_numbers(run, cell):
    """Read what a cell reported."""
    path = run_dir(run) / "numbers" / f"{cell}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _csv(frame):
    # Of a column that also holds None, pandas would write floats with all digits.
    mixed = [name for name in frame if frame[name].dtype == object]
    frame = frame.assign(**{name: frame[name].map(_six_digits) for name in mixed})
    options = {"float_format": _six_digits, "lineterminator": "\n"}
    return table_for_csv(frame).to_csv(index=False, **options)


def _six_digits(value):
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:z.{DIGITS}f}"  # z: a rounded zero has no sign
    return value


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value


def merge_numbers(run):
    """Join the numbers of all cells of a run into ``numbers.json``."""
    merged, owners = {}, {}
    for path in sorted((run_dir(run) / "numbers").glob("*.json")):
        for names, number in _numbers(json.loads(path.read_text(encoding="utf-8"))):
            if owners.setdefault(names, path) != path and _at(merged, names) != number:
                raise InputError(_conflict(run, names, owners[names], path))
            _at(merged, names[:-1])[names[-1]] = number
    write_json(run_dir(run) / "numbers.json", merged)
    return merged


def _numbers(tree, names=()):
    """Yield the names and the content of every number."""
    for name, inner in tree.items():
        if isinstance(inner, dict) and "value" not in inner:
            yield from _numbers(inner, (*names, name))
        else:
            yield (*names, name), inner


def _at(tree, names):
    for name in names:
        tree = tree.setdefault(name, {})
    return tree


def _conflict(run, names, former, path):
    """Say which number two cells of a run disagree on, and what to do."""
    return (
        f"results/{run}: the cells {former.stem} and {path.stem} both report "
        f"{' / '.join(names)}, with other values, so the run has no such number: keep "
        f"them apart with --run, and remove {path} or {former}"
    )
