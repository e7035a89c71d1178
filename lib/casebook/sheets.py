"""Spreadsheets: workbooks and CSV as grids of cells, tables of ratings, and text that is safe in a cell.

Cells are read as they are, with limits, and never evaluated.
"""

import io
import math
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from casebook.errors import InputError
from casebook.readers import csv_rows, unreadable

MOST_ROWS, MOST_COLUMNS = 20_000, 200
MOST_FILE, MOST_UNPACKED, MOST_MEMBERS = 50 << 20, 200 << 20, 500
KINDS = (".xlsx", ".xlsm", ".csv")
LONGEST = 32_767  # UTF-16 units of one cell; longer text would be cut without a word
CUT = "\n[cut here: the text is longer than a cell can hold]"
EMPTY = "(no answer)"


@dataclass(frozen=True)
class Formula:
    """A cell that holds a formula, with the value that was stored when it was saved."""

    text: str
    value: object = None


@dataclass(frozen=True)
class Grid:
    """One sheet: cells by row number, empty rows left out."""

    name: str
    rows: dict
    hidden: bool = False


@dataclass(frozen=True)
class Book:
    """All sheets of one file, and remarks (kind, text) on what in it was not read."""

    path: Path
    grids: tuple
    remarks: tuple = ()


def read_book(path):
    """Read all sheets of a workbook (.xlsx, .xlsm) or a CSV (comma or semicolon)."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".xls":
        raise InputError(f"{path}: is an old workbook: save it as .xlsx")
    if kind not in KINDS:
        raise InputError(f"{path}: is no form: expected {', '.join(KINDS)}")
    try:
        size = path.stat().st_size
        if size > MOST_FILE:
            raise InputError(f"{path}: {size:,} bytes: a form has at most {MOST_FILE:,}")
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not content:
        raise InputError(f"{path}: is empty")
    if kind == ".csv":
        return Book(path, (_csv_grid(path, content),))
    return Book(path, *_workbook(path, content))


def _csv_grid(path, content):
    rows = {}
    for number, (_, cells) in enumerate(csv_rows(path, _utf8(path, content), ",;"), start=1):
        _check_size(path, path.name, number, len(cells))
        if any(cells):
            rows[number] = tuple(from_csv(cell) or None for cell in cells)
    return Grid(path.name, rows)


def _utf8(path, content):
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; save it as 'CSV UTF-8'") from error


def _workbook(path, content):
    """Sheets and remarks of a workbook."""
    from openpyxl import load_workbook

    def sheets(stored):
        return load_workbook(io.BytesIO(content), read_only=True, data_only=stored, keep_links=False)

    try:
        remarks = _check_archive(path, content)
        grids = [_xlsx_grid(path, sheet) for sheet in sheets(False).worksheets]
        if any(isinstance(cell, Formula) for grid in grids for row in grid.rows.values() for cell in row):
            stored = sheets(True)
            grids = [_with_stored(grid, stored[grid.name]) for grid in grids]
        return tuple(grids), remarks
    except InputError:
        raise
    except Exception as error:  # zipfile and openpyxl raise many kinds on damaged files
        raise InputError(f"{path}: is no workbook, or is damaged: {error}") from error


def _check_archive(path, content):
    """Refuse archives that unpack to too much or declare entities; remark on links and macros."""
    traces = {
        "xl/externalLinks/": ("external_link", "links to another file; not followed"),
        "xl/vbaProject": ("macro", "holds macros; not run"),
        "xl/connections": ("connection", "holds a data connection; not opened"),
        "xl/comments": ("cell_comment", "holds cell comments; not read"),
    }
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if size > MOST_UNPACKED or len(members) > MOST_MEMBERS:
            raise InputError(f"{path}: unpacks to {size:,} bytes in {len(members)} parts: too much for a form")
        names = [member.filename for member in members]
        for name in names:
            if name.endswith((".xml", ".rels")):
                with archive.open(name) as stream:
                    head = stream.read(2048)
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                    raise InputError(f"{path}: {name} declares entities: refused")
    return tuple(remark for start, remark in traces.items() if any(name.startswith(start) for name in names))


def _xlsx_grid(path, sheet):
    sheet.reset_dimensions()  # its declared size is only a claim, and may be a million rows
    rows = {}
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        values = tuple(_xlsx_cell(cell) for cell in cells)
        if any(value is not None for value in values):
            rows[number] = values
            _check_size(path, sheet.title, len(rows), len(cells))
    return Grid(sheet.title, rows, sheet.sheet_state != "visible")


def _xlsx_cell(cell):
    if cell.data_type == "f":  # of an array, openpyxl gives an object with its text
        return Formula(str(getattr(cell.value, "text", cell.value)))
    return (from_workbook(cell.value) or None) if isinstance(cell.value, str) else cell.value


def _with_stored(grid, sheet):
    """The grid with the value that was stored with every formula."""
    sheet.reset_dimensions()
    rows = dict(grid.rows)
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        if number in rows:
            rows[number] = tuple(
                Formula(cell.text, _xlsx_cell(stored)) if isinstance(cell, Formula) else cell
                for cell, stored in zip(rows[number], cells, strict=True)
            )
    return Grid(grid.name, rows, grid.hidden)


def _check_size(path, sheet, rows, columns):
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise InputError(
            f"{path}: sheet {sheet!r} has more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns: this is no form"
        )


def value_of(path, sheet, row, column, cell):
    """Value of a cell that is needed: that of a formula, if it was stored."""
    if not isinstance(cell, Formula):
        return cell
    if cell.value is None:
        raise InputError(
            f"{path}: sheet {sheet!r}, row {row}, column {column!r}: the formula {cell.text[:40]!r} has no "
            "stored value: open the file in a spreadsheet and save it, or type the value"
        )
    return cell.value


def header_of(grid):
    """Row number of a sheet's header (0: empty) and the columns' names."""
    for number, row in grid.rows.items():
        return number, ["" if cell is None else str(cell).strip() for cell in row]
    return 0, []


def sheet_records(path, grid, needed=None):
    """Rows of a sheet as [(row number, {column: value})]; only `needed` formulas must have a value."""
    head, names = header_of(grid)
    if not head:
        raise InputError(f"{path}: sheet {grid.name!r} is empty")
    found = []
    for number, cells in grid.rows.items():
        if number > head:
            padded = [*cells, *[None] * (len(names) - len(cells))]
            record = {
                name: value_of(path, grid.name, number, name, cell) if needed is None or name in needed else cell
                for name, cell in zip(names, padded, strict=False)
                if name
            }
            found.append((number, record))
    return found


# Ratings: items in rows, raters in columns

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ID_NAMES = {
    *("", "id", "ids", "item", "items", "unit", "units", "subject", "subjects", "case"),
    *("cases", "question", "prompt", "index", "row", "no", "nr", "#"),
}


def read_ratings(path, *, numbers=None, id_column=None):
    r"""Read ratings, items x raters, from a CSV or workbook; blank cells are missing.

    Parameters
    ----------
    path : path-like
        CSV (comma, semicolon or tab; UTF-8), ``.xlsx`` or ``.xlsm``; the first row names
        the raters.
    numbers : bool, optional
        Whether ratings must be numbers (True) or may be labels (False); by default most
        of the cells tell.
    id_column : str, optional
        Column that names the items, ``""`` if there is none; by default the first column,
        if it is not a rater's.

    Returns
    -------
    pandas.DataFrame, shape [items, raters]
        Numbers (float, NaN missing) or labels (object, None missing).

    Raises
    ------
    InputError
        If the table is damaged, names no raters, repeats an item, holds text among
        numbers, or a column that is not the first looks like names of the items.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("item,ann,bob\nq1,4,5\nq2,2,\n")
    >>> read_ratings(path).to_dict("index")
    {'q1': {'ann': 4.0, 'bob': 5.0}, 'q2': {'ann': 2.0, 'bob': nan}}
    """
    import pandas as pd  # who only reads or marks cells starts faster without

    path = Path(path)
    found = [(line, cells) for line, cells in _rating_rows(path) if cells]
    if not found:
        raise InputError(f"{path}: is empty")
    (_, header), *rows = found
    _check_raters(path, header)
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError.at(path, line, f"has {len(cells)} cells, the header has {len(header)}")
    if not rows:
        raise InputError(f"{path}: has a header but no items")
    table = pd.DataFrame([cells for _, cells in rows], [line for line, _ in rows], header, dtype=object)
    column = _id_column(path, table, id_column)
    if column is None:
        return _as_ratings(path, table, numbers).rename_axis("row")
    ids = table.pop(column)
    _check_ids(path, ids)
    ratings = _as_ratings(path, table, numbers)
    return ratings.set_axis(pd.Index(ids.to_list(), name=column))


def _rating_rows(path):
    """[(row number, cells as text)] of a CSV, or of the first sheet of a workbook."""
    if path.suffix.lower() not in (".xlsx", ".xlsm", ".xls"):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise unreadable(path, error) from None
        rows = csv_rows(path, _utf8(path, content), ",;\t")
        return [(line, [cell.strip() for cell in cells]) for line, cells in rows]
    grid = read_book(path).grids[0]
    names = header_of(grid)[1]
    rows = []
    for number, cells in grid.rows.items():
        padded = [*cells, *[None] * (len(names) - len(cells))]
        values = zip(names, padded, strict=False)
        row = [_as_text(value_of(path, grid.name, number, name, cell)) for name, cell in values]
        rows.append((number, row if any(row) else []))
    return rows


def _as_text(cell):
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _check_raters(path, header):
    if len(header) < 2:
        raise InputError(f"{path}: there is one column only: separate cells by comma, one per rater")
    unnamed = [place for place, name in enumerate(header, start=1) if not name and place > 1]
    if unnamed:
        raise InputError(f"{path}: column {unnamed[0]} has no name in the first row")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{path}: column {twice[0]!r} stands twice; the first row must name the raters, each once")


def _id_column(path, table, wanted):
    """Name of the column that names the items, or None."""
    if wanted == "":
        return None
    if wanted is not None:
        if wanted not in table:
            raise InputError(f"{path}: has no column {wanted!r}: it has {', '.join(table)}")
        return wanted
    first = table.columns[0]
    column = first if _names_rows(table) else None
    for name in table.columns.drop(column or []):
        others = [table[other].to_list() for other in table if other not in (name, column)]
        if names_items(name, table[name].to_list(), others):
            raise InputError(
                f"{path}: column {name!r} looks like names of the items, not ratings: "
                f"say --id {name!r}, leave it out, or say --no-id if it is a rater"
            )
    return column


def _names_rows(table):
    """Tell whether the first column is an id rather than a rater."""
    name, values = table.columns[0], table.iloc[:, 0].to_list()
    if name == "" or names_items(name, None, None):
        return True
    if "" in values or len(set(values)) < len(values):
        return False
    if not all(map(_is_number, values)):
        return True
    return names_items(name, values, [table[other].to_list() for other in table.columns[1:]], least=1)


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
    repeated = all(len(set(column)) < len(column) for column in given)
    try:
        numbers, pool = [float(v) for v in values], [float(v) for v in pool]
    except (TypeError, ValueError):
        return repeated and not set(values) & set(pool)
    if not pool:
        return False
    if numbers in ([float(k + start) for k in range(len(numbers))] for start in (0, 1)):
        return not set(numbers) <= set(pool)
    outside = sum(not min(pool) <= number <= max(pool) for number in numbers)
    return repeated and outside > len(numbers) / 2


def _check_ids(path, ids):
    seen = {}
    for line, value in ids.items():
        if not value:
            raise InputError.at(path, line, f"column {ids.name!r} is blank: name the item")
        if value in seen:
            raise InputError.at(path, line, f"{ids.name} {value!r} stands in row {seen[value]} already")
        seen[value] = line


def _as_ratings(path, table, numbers):
    """Turn text into numbers or labels."""
    present = [cell for cell in table.to_numpy().ravel() if cell]
    numeric = sum(map(_is_number, present))
    if numbers is None:
        numbers = numeric >= len(present) / 2
    if numeric == len(present):
        return table.map(lambda cell: float(cell or "nan")).astype(float)
    if not numbers:
        return table.map(lambda cell: cell or None).astype(object)
    line, rater, cell = next(
        (line, rater, cell)
        for line, row in table.iterrows()
        for rater, cell in row.items()
        if cell and not _is_number(cell)
    )
    raise InputError.at(
        path,
        line,
        f"column {rater!r}: {cell[:40]!r} is not a number; "
        "leave a missing rating blank, or treat the ratings as nominal",
    )


def _is_number(cell):
    return bool(_NUMBER.fullmatch(cell)) and math.isfinite(float(cell))


# Text of cells: what a workbook cannot hold is changed and named, what a spreadsheet would run is marked

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
# Blanks before the sign, and signs of full width, do not keep a spreadsheet from it.
_FORMULA = re.compile("'*(?:[\t\r]|[\\s\u200b\ufeff]*[=+@＝＋－＠-])")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?", re.ASCII)


def clean(text):
    """Make a text fit for a cell; also give the kinds of changes."""
    changes = []
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if lines != text:
        changes.append("line_ends")
    kept = _CONTROL.sub("", lines)
    if kept != lines:
        changes.append("control_characters")
    if not kept.strip():
        return EMPTY, [*changes, "empty"]
    if _units(kept) > LONGEST:
        room = LONGEST - len(CUT)
        kept = kept[:room]
        while _units(kept) > room:
            kept = kept[: len(kept) - max(1, (_units(kept) - room) // 2)]
        return kept + CUT, [*changes, "cut"]
    return kept, changes


def _units(text):
    """Length as a workbook counts it: characters beyond U+FFFF count twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def for_workbook(text):
    """Escape what a workbook would read as an escaped character, such as ``_x0041_``."""
    return re.sub("_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)


def from_workbook(text):
    """Undo `for_workbook`."""
    return re.sub("_x005F_(?=x[0-9A-Fa-f]{4}_)", "_", text)


def for_csv(text):
    """Mark text that a spreadsheet would take for a formula with an apostrophe."""
    runs = _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


def from_csv(text):
    """Undo `for_csv`."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text


def table_for_csv(frame):
    """A DataFrame whose texts and names no spreadsheet runs, by `for_csv`."""
    return _each_text(frame, lambda text: for_csv(re.sub("\r\n?", "\n", text)))


def table_from_csv(frame):
    """Undo `table_for_csv` on a DataFrame that was read from a file."""
    return _each_text(frame, from_csv)


def _each_text(frame, change):
    def of(cell):
        return change(cell) if isinstance(cell, str) else cell

    texts = {name: column.map(of) for name, column in frame.items() if column.dtype.kind not in "biufmM"}
    return frame.assign(**texts).rename(columns=of)
