"""Cells of returned files: read as they are, with limits, and never evaluated."""

import csv
import io
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from casebook.datasets.records import long_fields
from casebook.errors import InputError
from casebook.raters.celltext import from_csv, from_workbook

MOST_ROWS, MOST_COLUMNS = 20_000, 200
MOST_FILE, MOST_UNPACKED, MOST_MEMBERS = 50 << 20, 200 << 20, 500
KINDS = (".xlsx", ".xlsm", ".xls", ".csv")


@dataclass(frozen=True)
class Formula:
    """A cell that holds a formula instead of a value; it is not evaluated."""

    text: str


@dataclass(frozen=True)
class Grid:
    """One sheet.

    Attributes
    ----------
    name : str
        Of the sheet; the file name for CSV.
    rows : dict of tuple
        Row number, from 1, to its cells: str, int, float, bool, None, `Formula` or a
        date. Rows without a value are left out.
    hidden : bool
        Whether the sheet was hidden.
    """

    name: str
    rows: dict
    hidden: bool = False


@dataclass(frozen=True)
class Book:
    """All sheets of one file.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    grids : tuple of Grid
        In order.
    remarks : tuple of (str, str)
        Kind and description of what a returned form should not hold, such as
        links to other files or macros; they were not followed.
    """

    path: Path
    grids: tuple
    remarks: tuple = field(default=())


def read_book(path):
    """Read a returned form.

    Parameters
    ----------
    path : path-like
        Workbook (.xlsx, .xlsm, .xls) or CSV (comma or semicolon).

    Returns
    -------
    Book
        All sheets. Formulas are not evaluated, links are not followed, macros are not
        run. Old workbooks (.xls) do not tell a formula from its last value.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another kind, or larger than the limits.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{path}: is no form: expected {', '.join(KINDS)}")
    try:
        size = path.stat().st_size
        if size > MOST_FILE:
            raise InputError(
                f"{path}: {size:,} bytes: a form has at most {MOST_FILE:,}"
            )
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not content:
        raise InputError(f"{path}: is empty")
    if kind == ".csv":
        return Book(path, (_csv_grid(path, content),))
    if kind == ".xls":
        return Book(path, _xls_grids(path, content))
    return Book(path, _xlsx_grids(path, content), _remarks(path, content))


@long_fields(MOST_FILE)
def _csv_grid(path, content):
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; save it as 'CSV UTF-8'") from error
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
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
    return Grid(path.name, rows)


def _xls_grids(path, content):
    import xlrd

    try:
        book = xlrd.open_workbook(file_contents=content)
    except Exception as error:  # xlrd raises many kinds on damaged files
        raise InputError(f"{path}: is no workbook, or is damaged: {error}") from error
    return tuple(_xls_grid(path, sheet) for sheet in book.sheets())


def _xls_grid(path, sheet):
    _check_size(path, sheet.name, sheet.nrows, sheet.ncols)
    rows = {}
    for number in range(sheet.nrows):
        cells = tuple(
            value if value != "" else None for value in sheet.row_values(number)
        )
        if any(cell is not None for cell in cells):
            rows[number + 1] = cells
    return Grid(sheet.name, rows, sheet.visibility != 0)


def _xlsx_grids(path, content):
    from openpyxl import load_workbook

    _check_archive(path, content)
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, keep_links=False)
        return tuple(_xlsx_grid(path, sheet) for sheet in book.worksheets)
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
    if cell.data_type == "f":
        return Formula(str(cell.value))
    if isinstance(cell.value, str):
        return from_workbook(cell.value) or None
    return cell.value


def _check_size(path, sheet, rows, columns):
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise InputError(
            f"{path}: sheet {sheet!r} has more than {MOST_ROWS:,} rows or "
            f"{MOST_COLUMNS} columns: this is no form"
        )


_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)


def _check_archive(path, content):
    """Refuse archives that unpack to too much, or whose XML declares entities."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > MOST_UNPACKED or len(members) > MOST_MEMBERS:
                raise InputError(
                    f"{path}: unpacks to {size:,} bytes in {len(members)} parts: "
                    "too much for a form"
                )
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
    return tuple(
        remark
        for start, remark in _TRACES.items()
        if any(name.startswith(start) for name in names)
    )
