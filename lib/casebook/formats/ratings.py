"""Tables of ratings, items in rows and raters in columns, from CSV and workbooks."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.formats.grids import header_of, read_book, value_of

WORKBOOKS = {".xlsx", ".xlsm", ".xls"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ID_NAMES = {
    *("", "id", "ids", "item", "items", "unit", "units", "subject", "subjects", "case"),
    *("cases", "question", "prompt", "index", "row", "no", "nr", "#"),
}


def read_ratings(path, *, numbers=None, id_column=None):
    """Read ratings; blank cells are missing."""
    path = Path(path)
    (_, header), *rows = _rows(path)
    header = _checked_header(path, header)
    for line, cells in rows:
        if len(cells) != len(header):
            problem = f"has {len(cells)} cells, the header has {len(header)}"
            raise InputError.at(path, line, problem)
    if not rows:
        raise InputError(f"{path}: has a header but no items")
    column = _id_position(path, header, rows, id_column)
    if id_column is None:
        _refuse_ids(path, header, rows, column)
    raters = [name for k, name in enumerate(header) if k != column]
    lines = [line for line, _ in rows]
    cells = [[c for k, c in enumerate(row) if k != column] for _, row in rows]
    values = _values(path, lines, raters, cells, numbers)
    if column is None:
        return pd.DataFrame(values, pd.Index(lines, name="row"), raters)
    ids = _ids(path, rows, column, header[column])
    return pd.DataFrame(values, pd.Index(ids, name=header[column]), raters)


def _rows(path):
    """Give (number, cells as text) of every row that is not empty."""
    read = _workbook if path.suffix.lower() in WORKBOOKS else _text
    try:
        rows = read(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    found = [(line, cells) for line, cells in rows if cells]
    if not found:
        raise InputError(f"{path}: is empty")
    return found


def _text(path):
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; save it as CSV UTF-8") from None
    first = content.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(content), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, [c.strip() for c in row]) for row in reader]
    except csv.Error as error:
        raise InputError.at(path, reader.line_num, f"is not CSV: {error}") from None


def _workbook(path):
    grid = read_book(path).grids[0]
    names = header_of(grid)[1]
    rows = []
    for number, cells in grid.rows.items():
        row = []
        for place in range(len(names)):
            cell = cells[place] if place < len(cells) else None
            cell = value_of(path, grid.name, number, names[place], cell)
            row.append(_as_text(cell))
        rows.append((number, row if any(row) else []))
    return rows


def _as_text(cell):
    if cell is None:
        return ""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell).strip()


def _checked_header(path, header):
    if len(header) < 2:
        problem = "there is one column only: separate cells by comma, one per rater"
        raise InputError(f"{path}: {problem}")
    unnamed = [k for k, name in enumerate(header, start=1) if not name and k > 1]
    if unnamed:
        raise InputError(f"{path}: column {unnamed[0]} has no name in the first row")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{path}: column {twice[0]!r} stands twice; the first row must name the raters, each once")
    return header


def _id_position(path, header, rows, id_column):
    if id_column is None:
        return 0 if _names_items(header, rows) else None
    if id_column == "":
        return None
    if id_column not in header:
        known = ", ".join(header)
        raise InputError(f"{path}: has no column {id_column!r}: it has {known}")
    return header.index(id_column)


def _refuse_ids(path, header, rows, column):
    """Refuse ids that stand among the ratings, not in the first column."""
    cells = {k: [row[k] for _, row in rows] for k in range(len(header)) if k != column}
    for k, name in enumerate(header):
        others = [cells[j] for j in cells if j != k]
        if k in cells and names_items(name, cells[k], others):
            raise InputError(
                f"{path}: column {name!r} looks like names of the items, not ratings: "
                f"say --id {name!r}, leave it out, or say --no-id if it is a rater"
            )


def _names_items(header, rows):
    """Tell whether the first column is an id rather than a rater."""
    first = [cells[0] for _, cells in rows]
    if header[0] == "" or names_items(header[0], None, None):
        return True
    if "" in first or len(set(first)) < len(first):
        return False
    if not all(map(_is_number, first)):
        return True
    others = [[cells[k] for _, cells in rows] for k in range(1, len(header))]
    return names_items(header[0], first, others, least=1)


def names_items(name, values, others, least=5):
    """Tell whether a column beside ratings names the items instead of rating them."""
    name = str(name).strip().lower()
    if name and (name in _ID_NAMES or name.endswith(("_id", " id"))):
        return True
    if values is None or len(others) < 2 or len(set(values)) < max(least, len(values)):
        return False
    given = [[v for v in column if v not in ("", None) and v == v] for column in others]
    if len(given) < len(others) or any(v in ("", None) or v != v for v in values):
        return False
    pool = [value for column in given for value in column]
    try:
        numbers, pool = [float(v) for v in values], [float(v) for v in pool]
    except (TypeError, ValueError):
        numbers = None
    repeated = all(len(set(c)) < len(c) for c in given)
    if numbers is None:
        return repeated and not set(values) & set(pool)
    if not pool:
        return False
    if numbers in ([float(k + s) for k in range(len(numbers))] for s in (0, 1)):
        return not set(numbers) <= set(pool)
    outside = sum(not min(pool) <= number <= max(pool) for number in numbers)
    return repeated and outside > len(numbers) / 2


def _ids(path, rows, column, name):
    seen = {}
    for line, cells in rows:
        value = cells[column]
        if not value:
            raise InputError.at(path, line, f"column {name!r} is blank: name the item")
        if value in seen:
            problem = f"{name} {value!r} stands in row {seen[value]} already"
            raise InputError.at(path, line, problem)
        seen[value] = line
    return list(seen)


def _values(path, lines, raters, cells, numbers):
    """Turn text into numbers or labels."""
    present = [cell for row in cells for cell in row if cell]
    numeric = sum(map(_is_number, present))
    if numbers is None:
        numbers = numeric >= len(present) / 2
    if not (numbers or numeric == len(present)):
        labels = [[cell or None for cell in row] for row in cells]
        return np.array(labels, dtype=object)
    if numeric < len(present):
        _refuse_text(path, lines, raters, cells)
    return np.array([[float(cell or "nan") for cell in row] for row in cells])


def _is_number(cell):
    return bool(_NUMBER.fullmatch(cell)) and np.isfinite(float(cell))


def _refuse_text(path, lines, raters, cells):
    for line, row in zip(lines, cells, strict=True):
        for rater, cell in zip(raters, row, strict=True):
            if cell and not _is_number(cell):
                raise InputError.at(
                    path,
                    line,
                    f"column {rater!r}: {cell[:40]!r} is not a number; leave a missing "
                    "rating blank, or treat the ratings as nominal",
                )
