"""Workbooks and CSV as tables of cells, and text that is safe in a cell.

Cells are read as they are, with limits, and never evaluated.
"""

import io
import itertools
import re
import zipfile
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.readers import csv_rows, read_text, unreadable

MOST_UNPACKED = 200 << 20  # bytes
BOOKS = (".xlsx", ".xlsm")
KINDS = (*BOOKS, ".csv")
LONGEST = 32_767  # UTF-16 units of one cell; longer text would be cut without a word
CUT = "\n[cut here: the text is longer than a cell can hold]"
EMPTY = "(no answer)"


class Formula(str):
    """The text of a formula of which no value was stored."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """One sheet: its first row names the columns of `table`, its index holds the row numbers."""

    name: str
    head: int  # number of the row with the names; 0 if all are empty
    table: pd.DataFrame
    formulas: tuple = ()  # (row number, column, text)


#: All sheets of one file.
Book = namedtuple("Book", "path sheets")


def read_book(path):
    """All sheets of a workbook (.xlsx, .xlsm), or a CSV (comma or semicolon)."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        text = read_text(path)
        header = text.partition("\n")[0]
        lines = csv_rows(path, text, max(",;", key=header.count))
        rows = [[from_csv(cell) or None for cell in cells] for cells in lines]
        return Book(path, (_sheet(path.name, rows, rows),))
    if kind not in BOOKS:
        problem = f"is no form: expected {', '.join(KINDS)}; of an old workbook: save it as .xlsx"
        raise InputError(f"{path}: {problem}")
    try:
        return Book(path, tuple(_workbook_sheets(path)))
    except Exception as error:  # zipfile and openpyxl raise many kinds on damaged files
        raise unreadable(path, error) from error


def _workbook_sheets(path):
    """Sheets of a workbook, read with formulas and with their stored values."""
    from openpyxl import load_workbook

    content = io.BytesIO(path.read_bytes())
    size = sum(member.file_size for member in zipfile.ZipFile(content).infolist())
    if size > MOST_UNPACKED:
        raise ValueError(f"unpacks to {size:,} bytes: too much for a form")
    written, stored = (
        load_workbook(content, read_only=True, data_only=values, keep_links=False)
        for values in (False, True)
    )
    for sheet in written.worksheets:
        grids = []
        for source in (sheet, stored[sheet.title]):
            # The declared size of a sheet is only a claim, and may be a million rows.
            source.reset_dimensions()
            grids.append(
                [
                    list(map(_cell, cells))
                    for cells in source.iter_rows(values_only=True)
                ]
            )
        yield _sheet(sheet.title, *grids)


def _cell(value):
    text = getattr(value, "text", value)  # a formula of an array is an object
    return None if text == "" else text


def _sheet(name, written, stored):
    """Sheet of rows of cells as written and as stored, without the empty ones."""
    written, stored = (
        pd.DataFrame(itertools.zip_longest(*rows), dtype=object).T
        for rows in (written, stored)
    )
    is_formula = written.fillna("") != stored.fillna("")
    cells = stored.mask(
        is_formula & stored.isna(), written.map(Formula, na_action="ignore")
    )
    cells = cells.set_axis(cells.index + 1)[written.notna().to_numpy().any(axis=1)]
    if cells.empty:
        return Sheet(name, 0, pd.DataFrame())
    names = ["" if cell is None else str(cell).strip() for cell in cells.iloc[0]]
    formulas = []
    for row, column in np.argwhere(is_formula):
        place = names[column] or f"column {column + 1}"
        formulas.append((int(row) + 1, place, written.iloc[row, column]))
    head = int(cells.index[0])
    return Sheet(name, head, cells.iloc[1:].set_axis(names, axis=1), tuple(formulas))


def require_values(path, sheet, table):
    """Refuse a table of a sheet in which a formula has no value."""
    is_formula = table.map(lambda cell: isinstance(cell, Formula))
    for row, column in np.argwhere(is_formula)[:1]:
        where = (
            f"sheet {sheet!r}, row {table.index[row]}, column {table.columns[column]!r}"
        )
        problem = f"the formula {table.iloc[row, column][:40]!r} has no stored value"
        remedy = "open the file in a spreadsheet and save it, or type the value"
        raise InputError(f"{path}: {where}: {problem}: {remedy}")


# Text of cells: what a workbook cannot hold is changed, what a spreadsheet would run is marked.

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
# Blanks before the sign, and signs of full width, do not keep a spreadsheet from it.
_FORMULA = re.compile("'*(?:[\t\r]|[\\s\u200b\ufeff]*[=+@＝＋－＠-])")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?", re.ASCII)


def clean(text):
    """A text that fits into a cell, and the kinds of changes."""
    lines = re.sub("\r\n?", "\n", text)
    cell = _CONTROL.sub("", lines)
    units = cell.encode("utf-16-le")  # a workbook counts characters beyond U+FFFF twice
    changes = {
        "line_ends": lines != text,
        "control_characters": cell != lines,
        "empty": not cell.strip(),
        "cut": len(units) > 2 * LONGEST,
    }
    if changes["cut"]:
        cell = units[: 2 * (LONGEST - len(CUT))].decode("utf-16-le", "ignore") + CUT
    return cell if cell.strip() else EMPTY, [
        name for name, is_made in changes.items() if is_made
    ]


def for_csv(cell):
    """Mark text that a spreadsheet would take for a formula with an apostrophe."""
    runs = (
        isinstance(cell, str)
        and _FORMULA.match(cell)
        and not _PLAIN_NUMBER.fullmatch(cell)
    )
    return f"'{cell}" if runs else cell


def from_csv(cell):
    """Undo `for_csv`."""
    is_marked = isinstance(cell, str) and cell[:1] == "'" and _FORMULA.match(cell[1:])
    return cell[1:] if is_marked else cell


def table_for_csv(frame):
    """A DataFrame whose texts and names no spreadsheet runs, by `for_csv`."""

    def written(cell):  # a lone return would part the row
        return for_csv(re.sub("\r\n?", "\n", cell)) if isinstance(cell, str) else cell

    return frame.map(written).rename(columns=written)


def table_from_csv(frame):
    """Undo `table_for_csv` on a DataFrame that was read from a file."""
    return frame.map(from_csv).rename(columns=from_csv)
