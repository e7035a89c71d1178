"""Workbooks and CSV as tables of cells, and text that is safe in a cell.

Cells are read as they are, with limits, and never evaluated.
"""

import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.readers import csv_rows, read_text, unreadable

MOST_ROWS = 20_000
MOST_COLUMNS = 200
MOST_UNPACKED = 200 << 20
MOST_MEMBERS = 500
BOOKS = (".xlsx", ".xlsm")
KINDS = (*BOOKS, ".csv")
LONGEST = 32_767  # UTF-16 units of one cell; longer text would be cut without a word
CUT = "\n[cut here: the text is longer than a cell can hold]"
EMPTY = "(no answer)"


class Formula(str):
    """The text of a formula: a cell of a table is one where no value was stored of it."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Sheet:
    """One sheet: its first row names the columns of `table`, its index holds the row numbers."""

    name: str
    head: int  # number of the row with the names; 0 if all are empty
    table: pd.DataFrame
    hidden: bool = False
    formulas: tuple = ()  # (row number, column, text) of cells whose stored values were read


@dataclass(frozen=True, eq=False)
class Book:
    """All sheets of one file."""

    path: Path
    sheets: tuple


def read_book(path):
    """Read all sheets of a workbook (.xlsx, .xlsm) or a CSV (comma or semicolon)."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        lines = csv_rows(path, read_text(path), ",;")
        rows = ([from_csv(cell) or None for cell in cells] for cells in lines)
        return Book(path, (_sheet(path.name, _frame(path, path.name, rows)),))
    if kind not in BOOKS:
        problem = f"is no form: expected {', '.join(KINDS)}; of an old workbook: save it as .xlsx"
        raise InputError(f"{path}: {problem}")
    try:
        content = path.read_bytes()
        _check_archive(path, content)
        return Book(path, tuple(_workbook_sheets(path, content)))
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # zipfile and openpyxl raise many kinds on damaged files
        raise InputError(f"{path}: is no workbook, or is damaged: {error}") from error


def _frame(path, name, rows):
    """Frame of rows of cells by number, without the empty ones; refused if they are too many."""
    filled_rows = {}
    for number, cells in enumerate(rows, start=1):
        if any(cell is not None for cell in cells):
            filled_rows[number] = cells
            if len(filled_rows) > MOST_ROWS or len(cells) > MOST_COLUMNS:
                most = f"{MOST_ROWS:,} rows or {MOST_COLUMNS} columns"
                problem = f"sheet {name!r} has more than {most}: save a long table as CSV"
                raise InputError(f"{path}: {problem}")
    width = max(map(len, filled_rows.values()), default=0)
    cells = [row + [None] * (width - len(row)) for row in filled_rows.values()]
    return pd.DataFrame(cells, list(filled_rows), dtype=object)


def _sheet(name, frame, hidden=False, stored_values=None):
    """Take the first row as names of columns, and the stored values of formulas for them."""
    if frame.empty:
        return Sheet(name, 0, pd.DataFrame(), hidden)
    is_formula = frame.map(_is_formula)
    table = frame
    if stored_values is not None:
        stored_values = stored_values.reindex_like(frame)
        table = frame.mask(is_formula & stored_values.notna(), stored_values)
    head, *rows = frame.index
    names = ["" if cell is None else str(cell).strip() for cell in table.loc[head]]
    formulas = [
        (rows[row], names[position] or f"number {position + 1}", str(frame.iloc[row + 1, position]))
        for row, position in np.argwhere(is_formula.to_numpy()[1:])
    ]
    return Sheet(name, head, table.drop(head).set_axis(names, axis=1), hidden, tuple(formulas))


def _is_formula(cell):
    return isinstance(cell, Formula)


def _workbook_sheets(path, content):
    """Sheets of a workbook; only where a cell is a formula are stored values read too."""
    from openpyxl import load_workbook

    with_formulas, with_values = (
        load_workbook(io.BytesIO(content), read_only=True, data_only=stored, keep_links=False)
        for stored in (False, True)
    )
    for sheet, values in zip(with_formulas.worksheets, with_values.worksheets, strict=True):
        frame = _cells(path, sheet)
        has_formulas = frame.map(_is_formula).to_numpy().any()
        stored_values = _cells(path, values) if has_formulas else None
        yield _sheet(sheet.title, frame, sheet.sheet_state != "visible", stored_values)


def _cells(path, worksheet):
    # The declared size of a sheet is only a claim, and may be a million rows.
    worksheet.reset_dimensions()
    rows = (list(map(_xlsx_cell, cells)) for cells in worksheet.iter_rows())
    return _frame(path, worksheet.title, rows)


def _check_archive(path, content):
    """Refuse archives that unpack to too much or declare entities."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = [member.file_size for member in archive.infolist()]
        if sum(sizes) > MOST_UNPACKED or len(sizes) > MOST_MEMBERS:
            problem = f"unpacks to {sum(sizes):,} bytes in {len(sizes)} parts"
            raise InputError(f"{path}: {problem}: too much for a form")
        for name in archive.namelist():
            is_xml = name.endswith((".xml", ".rels"))
            if is_xml and re.search(b"<!(DOCTYPE|ENTITY)", archive.open(name).read(2048)):
                raise InputError(f"{path}: {name} declares entities: refused")


def _xlsx_cell(cell):
    if cell.data_type == "f":  # of an array, openpyxl gives an object with its text
        return Formula(str(getattr(cell.value, "text", cell.value)))
    if isinstance(cell.value, str):
        return from_workbook(cell.value) or None
    return cell.value


def require_values(path, sheet, table):
    """Refuse a table of a sheet in which a formula has no value, and name the first."""
    for row, position in np.argwhere(table.map(_is_formula).to_numpy())[:1]:
        formula = table.iloc[row, position]
        raise InputError(
            f"{path}: sheet {sheet!r}, row {table.index[row]}, column {table.columns[position]!r}: "
            f"the formula {formula[:40]!r} has no stored value: open the file in a spreadsheet and "
            "save it, or type the value"
        )


def sheet_records(path, sheet, needed):
    """Rows of a sheet, {column: value}; formulas of `needed` columns must have a value."""
    table = sheet.table.loc[:, ~sheet.table.columns.duplicated(keep="last")]
    require_values(path, sheet.name, table.loc[:, table.columns.isin(needed)])
    return table.to_dict("records")


# Text of cells: what a workbook cannot hold is changed, what a spreadsheet would run is marked.

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
    cell = _CONTROL.sub("", lines)
    if cell != lines:
        changes.append("control_characters")
    if not cell.strip():
        return EMPTY, [*changes, "empty"]
    units = cell.encode("utf-16-le")  # a workbook counts characters beyond U+FFFF twice
    if len(units) > 2 * LONGEST:
        kept = units[: 2 * (LONGEST - len(CUT))].decode("utf-16-le", "ignore")
        return kept + CUT, [*changes, "cut"]
    return cell, changes


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

    texts = {
        name: column.map(of) for name, column in frame.items() if column.dtype.kind not in "biufmM"
    }
    return frame.assign(**texts).rename(columns=of)
