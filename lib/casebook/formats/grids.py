"""Cells of returned files: read as they are, with limits, and never evaluated."""

import csv
import io
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from casebook.errors import InputError
from casebook.formats.celltext import from_csv, from_workbook

MOST_ROWS, MOST_COLUMNS = 20_000, 200
MOST_FILE, MOST_UNPACKED, MOST_MEMBERS = 50 << 20, 200 << 20, 500
KINDS = (".xlsx", ".xlsm", ".csv")


@dataclass(frozen=True)
class Formula:
    """A cell that holds a formula, with the value that was stored when it was saved."""

    text: str
    value: object = None


@dataclass(frozen=True)
class Grid:
    """One sheet."""

    name: str
    rows: dict
    hidden: bool = False


@dataclass(frozen=True)
class Book:
    """All sheets of one file."""

    path: Path
    grids: tuple
    remarks: tuple = field(default=())


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
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not content:
        raise InputError(f"{path}: is empty")
    if kind == ".csv":
        return Book(path, (_csv_grid(path, content),))
    return Book(path, _xlsx_grids(path, content), _remarks(path, content))


def _csv_grid(path, content):
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; save it as 'CSV UTF-8'") from error
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    longest = csv.field_size_limit(MOST_FILE)
    try:
        # Strict, so that a file cut within a quoted cell is an error.
        reader = csv.reader(io.StringIO(text, ""), delimiter=delimiter, strict=True)
        rows = {}
        for number, cells in enumerate(reader, start=1):
            _check_size(path, path.name, number, len(cells))
            if any(cells):
                rows[number] = tuple(from_csv(cell) or None for cell in cells)
    except csv.Error as error:
        raise InputError(f"{path}: is damaged or cut: {error}") from error
    finally:
        csv.field_size_limit(longest)
    return Grid(path.name, rows)


def _xlsx_grids(path, content):
    from openpyxl import load_workbook

    _check_archive(path, content)

    def sheets(stored):
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=stored, keep_links=False)
        return {sheet.title: sheet for sheet in book.worksheets}

    try:
        grids = [_xlsx_grid(path, sheet) for sheet in sheets(False).values()]
        if any(isinstance(c, Formula) for g in grids for r in g.rows.values() for c in r):
            stored = sheets(True)
            grids = [_with_stored(path, grid, stored[grid.name]) for grid in grids]
        return tuple(grids)
    except InputError:
        raise
    except Exception as error:  # openpyxl raises many kinds on damaged files
        raise InputError(f"{path}: is no workbook, or is damaged: {error}") from error


def _xlsx_grid(path, sheet):
    # The declared size of a sheet is only a claim, and may be a million rows.
    sheet.reset_dimensions()
    rows = {}
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        values = tuple(_value(cell) for cell in cells)
        if any(value is not None for value in values):
            rows[number] = values
            _check_size(path, sheet.title, len(rows), len(cells))
    return Grid(sheet.title, rows, sheet.sheet_state != "visible")


def _value(cell):
    if cell.data_type == "f":  # of an array, openpyxl gives an object with its text
        return Formula(str(getattr(cell.value, "text", cell.value)))
    return _plain(cell.value)


def _plain(value):
    return (from_workbook(value) or None) if isinstance(value, str) else value


def _with_stored(path, grid, sheet):
    """Give every formula of a sheet the value that was stored with it."""
    sheet.reset_dimensions()
    rows = dict(grid.rows)
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        row = rows.get(number, ())
        if any(isinstance(cell, Formula) for cell in row):
            values = [_plain(cell.value) for cell in cells]
            rows[number] = tuple(
                Formula(cell.text, value) if isinstance(cell, Formula) else cell
                for cell, value in zip(row, values, strict=True)
            )
    return Grid(grid.name, rows, grid.hidden)


def value_of(path, sheet, row, column, cell):
    """Give the value of a cell that is needed: that of a formula, if it was stored."""
    if not isinstance(cell, Formula):
        return cell
    if cell.value is None:
        raise InputError(
            f"{path}: sheet {sheet!r}, row {row}, column {column!r}: the formula "
            f"{cell.text[:40]!r} has no stored value: open the file in a spreadsheet "
            "and save it, or type the value"
        )
    return cell.value


def header_of(grid):
    """Give the row number of a sheet's header (0: empty) and the columns' names."""
    for number, row in grid.rows.items():
        return number, ["" if cell is None else str(cell).strip() for cell in row]
    return 0, []


def sheet_records(path, grid, needed=None):
    """Give the rows of a sheet as (row number, column to value)."""
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


def _check_size(path, sheet, rows, columns):
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise InputError(
            f"{path}: sheet {sheet!r} has more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns: this is no form"
        )


_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)


def _check_archive(path, content):
    """Refuse archives that unpack to too much, or whose XML declares entities."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > MOST_UNPACKED or len(members) > MOST_MEMBERS:
                raise InputError(f"{path}: unpacks to {size:,} bytes in {len(members)} parts: too much for a form")
            for member in members:
                if member.filename.endswith((".xml", ".rels")):
                    _check_xml(path, archive, member)
    except (*_DAMAGED, NotImplementedError) as error:
        raise InputError(f"{path}: is no workbook, or is damaged: {error}") from error


def _check_xml(path, archive, member):
    with archive.open(member) as stream:
        head = stream.read(2048)
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise InputError(f"{path}: {member.filename} declares entities: refused")


_TRACES = {
    "xl/externalLinks/": ("external_link", "links to another file; not followed"),
    "xl/vbaProject": ("macro", "holds macros; not run"),
    "xl/connections": ("connection", "holds a data connection; not opened"),
    "xl/comments": ("cell_comment", "holds cell comments; not read"),
}


def _remarks(path, content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
    return tuple(remark for start, remark in _TRACES.items() if any(name.startswith(start) for name in names))
