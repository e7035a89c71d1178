"""Returned forms: every cell read, every defect named."""

from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.data.tables import listed, short, to_type
from casebook.errors import InputError, refuse
from casebook.raters.layouts import (
    ABOUT_SHEET,
    KEY_DIGEST,
    LIKERT,
    RUBRIC_SHEET,
    SHEET,
    form_layout,
)
from casebook.sheets import KINDS, read_book, require_values

# Effects of a defect on the judgement.
NOTE = "note"
REPAIRED = "repaired"
LOST = "lost"
RATED = {"preferred", *(column.name for column in LIKERT.answers)}
FURTHER_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}

#: One thing that is not as it should be in a returned form; no row: in all of the sheet.
Defect = namedtuple(
    "Defect", "file sheet row column kind found effect", defaults=("", NOTE)
)
#: One rater's form as it came back: a row per judgement, NaN for no rating; the SHA-256 of the key
#: with which it was made, as a workbook says; and defects.
ReturnedForm = namedtuple(
    "ReturnedForm", "path rater layout sheet rows key_sha256 defects"
)


def defects_of(path, sheet, checks):
    """Defects of checks: row, column, kind, perhaps content and effect."""
    return tuple(Defect(str(path), sheet, *check) for check in checks)


def defect_table(defects):
    return pd.DataFrame(defects, columns=list(Defect._fields))


def read_forms(paths, columns=None):
    """Read returned forms (.xlsx, .xlsm, .csv, folders), ours or in the documented layout.

    ``columns`` maps documented columns to their names in the files. A form's rater is its file's
    base name. An error names every file that cannot be read.
    """
    forms = []
    problems = []
    stems = set()
    for path in form_files(paths):
        if path.stem in stems:
            problems.append(f"{path}: another form has this name: rename it")
        stems.add(path.stem)
        try:
            forms.append(form_of(read_book(path), path.stem, columns or {}))
        except InputError as error:
            problems.append(str(error))
    refuse(problems)
    return forms


def form_files(paths):
    """Forms among files and folders, or a single one."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    files = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        for file in sorted(path.iterdir()):
            # Spreadsheets leave a lock file beside an open workbook.
            if file.suffix.lower() in KINDS and not file.name.startswith(("~$", ".")):
                files.append(file)
    if not files:
        raise InputError(f"{listed(paths)}: no forms ({', '.join(KINDS)}) to read")
    return files


def form_of(book, rater, columns):
    """Read the form that a book is."""
    path = book.path
    sheets = _renamed(path, book.sheets, columns)
    candidates = [sheet for sheet in sheets if RATED & {*sheet.table}]
    if not candidates:
        way = f"name it with {to_type('columns', {'preferred': 'COLUMN'})}"
        problem = f"no column 'preferred' (the vote: S1, S2 or Tie); it has {_columns(sheets)}"
        raise InputError(f"{path}: {problem}: {way}")
    sheet = max(candidates, key=lambda sheet: sheet.name == SHEET)
    names = sheet.table.columns
    is_named = ~names.duplicated() & (names != "")
    table = sheet.table.loc[:, is_named]
    layout = form_layout(table)
    used = [column.name for column in layout.columns if column.kind != "note"]
    require_values(path, sheet.name, table[table.columns.intersection(used)])
    rows = _read_rows(table, layout)
    checks = [
        *_form_checks(sheets, sheet, table, layout),
        *_cell_checks(table, layout, rows),
    ]
    # Of rows with one id the first is used, none where their answers differ.
    ids = rows[layout.key]
    again = ids.duplicated()
    answers = [column.name for column in layout.answers]
    differs = ~rows.duplicated([layout.key, *answers])
    lost = ids.isin(ids[again & differs])
    for row, name in ids[again].items():
        effect = LOST if lost[row] else NOTE
        checks.append((row, layout.key, "duplicate", name, effect))
    rows = rows[~again & ~lost].reset_index(drop=True)
    defects = defects_of(path, sheet.name, checks)
    return ReturnedForm(
        path, rater, layout, sheet.name, rows, _key_digest(sheets), defects
    )


def _key_digest(sheets):
    """The SHA-256 of the key with which a workbook was made, as it says."""
    for sheet in sheets:
        if sheet.name == ABOUT_SHEET and sheet.head:
            about = sheet.table.iloc[:, :2].to_numpy()
            return dict(about.tolist()).get(KEY_DIGEST)
    return None


def _renamed(path, sheets, columns):
    """Sheets with documented column names: `columns` maps those to the file's."""
    known = {name for sheet in sheets for name in sheet.table}
    for documented, column in columns.items():
        if column not in known:
            problem = f"no column {column!r}, which is to be read as {documented!r}"
            raise InputError(f"{path}: {problem}; it has {_columns(sheets)}")
    # What is under a documented name that is read elsewhere is another column.
    names = {documented: f"{documented} (own)" for documented in columns}
    names |= {column: documented for documented, column in columns.items()}
    return [replace(sheet, table=sheet.table.rename(columns=names)) for sheet in sheets]


def _columns(sheets):
    names = [
        name
        for sheet in sheets
        if sheet.name not in FURTHER_SHEETS
        for name in sheet.table
    ]
    return listed(names, 30)


# --- cells


def _read_rows(table, layout):
    """The cells of every row: texts, and the choices that they name."""
    rows = pd.DataFrame({"row": table.index}, table.index)
    if layout.key not in table and "prompt_text" in table:
        table = table.assign(**{layout.key: table["prompt_text"]})
    empty = pd.Series(None, table.index, dtype=object)
    for column in layout.columns:
        texts = table.get(column.name, empty).map(_text)
        if column.choices:
            choices = {str(choice).casefold(): choice for choice in column.choices}
            # As choices are compared: without letter case, sign or decimal point.
            plain = texts.str.strip().str.replace(
                r"^\+?(\d+)(\.0+)?$", r"\1", regex=True
            )
            texts = plain.str.casefold().map(choices)
        rows[column.name] = texts.astype(float if column.kind == "rating" else object)
    return rows.join(table[table.columns.difference(layout.names, sort=False)])


def _text(cell):
    return "" if cell is None else str(cell)


def _form_checks(sheets, sheet, table, layout):
    """Sheets and columns that are not as sent out, and formulas."""
    for other in sheets:
        if other is not sheet and other.name not in FURTHER_SHEETS:
            yield None, None, "extra_sheet", other.name
    for column in layout.columns:
        if column.required and column.name not in table:
            yield sheet.head, column.name, "missing_column", "", LOST
    for name in table.columns.difference(layout.names, sort=False):
        yield sheet.head, name, "extra_column"
    for number, name, text in sheet.formulas:
        yield number, name, "formula", short(text)


def _cell_checks(table, layout, rows):
    """Cells that are blank, name no choice, or one in another spelling."""
    for column in layout.answers:
        texts = set(map(str, column.choices))
        for number, cell in table.get(column.name, pd.Series()).items():
            if not _text(cell).strip():
                yield number, column.name, "blank", "", LOST
            elif pd.isna(rows.loc[number, column.name]):
                yield number, column.name, "not_a_choice", short(cell), LOST
            elif isinstance(cell, str) and cell not in texts:
                yield number, column.name, "spelling", short(cell), REPAIRED
