"""Returned forms: every cell read, every defect named."""

import re
from collections import Counter, namedtuple
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.data.tables import ROLES, cell_text, listed, read_roles, read_table, short, to_type
from casebook.errors import InputError, refuse
from casebook.raters.annotations import read_criteria
from casebook.raters.layouts import (
    ABOUT_SHEET,
    KEY_DIGEST,
    LIKERT,
    RUBRIC_SHEET,
    SHEET,
    form_layout,
)
from casebook.sheets import KINDS, Book, Sheet, from_csv, read_book, require_values

# Effects of a defect on the judgement.
NOTE = "note"
REPAIRED = "repaired"
LOST = "lost"
RATED = ("preferred", *(column.name for column in LIKERT.answers))
NO_RATINGS = {"item": "-", "criterion": "-", "rating": "-"}
ITEM = "prompt_id"  # names the rows of a form
FURTHER_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}

#: One thing that is not as it should be in a returned form; no row: in all of the sheet.
Defect = namedtuple("Defect", "file sheet row column kind found effect", defaults=("", NOTE))
#: One rater's form as it came back: a row per judgement, NaN for no rating; the SHA-256 of the key
#: with which it was made, as a workbook says; and defects.
ReturnedForm = namedtuple("ReturnedForm", "path rater layout sheet rows key_sha256 defects")


# Defects of checks of a sheet: row, column, kind, perhaps content and effect.
def defects_of(path, sheet, checks):
    return tuple(Defect(str(path), sheet, *check) for check in checks)


def defect_table(defects):
    return pd.DataFrame(defects, columns=list(Defect._fields))


def read_forms(paths, columns=None):
    """Read returned forms (.xlsx, .xlsm, .csv, folders), ours or in the documented layout.

    Files that hold the judgements of several raters are read as a form of each: a row per rating,
    and tables with a column that names raters.
    ``columns`` maps documented columns to their names in the files. A form's rater is its file's
    base name, or as the file names it. An error names every file that cannot be read.
    """
    files = form_files(paths)
    stems = Counter(path.stem for path in files)
    again = [path for path in files if stems[path.stem] > 1]
    problems = [f"{path}: another form has this name: rename it" for path in again]
    forms = []
    for path in files:
        try:
            forms += _forms_in(path, columns or {})
        except InputError as error:
            problems.append(str(error))
    refuse(problems)
    return forms


# Forms among files and folders, or a single one.
def form_files(paths):
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


# The form that a file is; of a file with a column of raters, one of each.
def _forms_in(path, columns):
    of_ratings = {role: columns[role] for role in columns if role in ROLES["ratings"]}
    of_forms = {name: columns[name] for name in columns if name not in of_ratings}
    if path.suffix.lower() in KINDS:
        book = read_book(path)
        names = {name for sheet in book.sheets for name in sheet.table}
        if "rater" not in of_ratings and names.isdisjoint(ROLES["ratings"]["rater"]):
            return [form_of(book, path.stem, columns)]
    table = read_table(path)
    rows = {}
    if {*RATED, *of_forms.values()} & {*table}:
        reading = read_roles(table, "ratings", ["rater"], NO_RATINGS | of_ratings)
        raters = reading.names("rater")
        cells = table.drop(columns=reading.columns["rater"], errors="ignore")
        cells = cells.map(lambda cell: from_csv(str(cell_text(cell))) or None)
        rows = {rater: cells[raters == rater] for rater in raters.unique()}
    else:
        frames = read_criteria(path, columns=of_ratings, numbers=False)
        by_rater = pd.concat(frames, axis=1).swaplevel(axis=1)
        for rater in by_rater.columns.unique(0):
            of_rater = by_rater[rater].dropna(how="all").rename_axis(ITEM).reset_index()
            rows[rater] = of_rater.astype(object).where(of_rater.notna(), None)
    return [
        form_of(Book(path, (Sheet(path.name, 1, of_rater),)), rater, of_forms)
        for rater, of_rater in rows.items()
    ]


def read_form(path, columns=None):
    """Read the form of one rater."""
    return form_of(read_book(path), Path(path).stem, columns or {})


# Read the form that a book is.
def form_of(book, rater, columns):
    path = book.path
    sheets = rename_columns(path, book.sheets, columns)
    candidates = [sheet for sheet in sheets if not sheet.table.columns.intersection(RATED).empty]
    candidates.sort(key=lambda sheet: sheet.name != SHEET)
    if not candidates:
        way = f"name it with {to_type('columns', {'preferred': 'COLUMN'})}"
        problem = f"no column 'preferred' (the vote: S1, S2 or Tie); {_columns(sheets)}"
        raise InputError(f"{path}: {problem}: {way}")
    sheet = candidates[0]
    names = sheet.table.columns
    table = sheet.table.loc[:, ~names.duplicated() & (names != "")]
    layout = form_layout(table)
    key = layout.key
    rated = [column.name for column in layout.columns if column.kind != "note"]
    require_values(path, sheet.name, table.loc[:, table.columns.isin(rated)])
    rows = _read_rows(table, layout)
    checks = [*_form_checks(sheets, sheet, table, layout), *_cell_checks(table, layout, rows)]
    # Of rows with one id the first is used, none where their answers differ.
    answers = [column.name for column in layout.answers]
    distinct = rows.drop_duplicates([key, *answers])[key].value_counts()
    is_repeated = rows[key].duplicated()
    is_used = ~is_repeated & (rows[key].map(distinct) == 1) & (rows[key] != "")
    for row, name in rows.loc[is_repeated | (rows[key] == ""), ["row", key]].itertuples(
        index=False
    ):
        kind = "duplicate" if name else "no_id"
        is_same = kind == "duplicate" and distinct[name] == 1
        checks.append((row, key, kind, name, NOTE if is_same else LOST))
    checks.sort(key=lambda check: check[0] or 0)
    about = [other.table for other in sheets if other.name == ABOUT_SHEET and other.head]
    said = dict(about[0].iloc[:, :2].to_numpy().tolist()) if about else {}
    used = rows[is_used].reset_index(drop=True)
    defects = defects_of(path, sheet.name, checks)
    return ReturnedForm(path, rater, layout, sheet.name, used, said.get(KEY_DIGEST), defects)


# Give sheets their documented column names: `columns` maps those to the file's.
def rename_columns(path, sheets, columns):
    for documented, column in columns.items():
        if not any(column in sheet.table for sheet in sheets):
            problem = f"no column {column!r}, which is to be read as {documented!r}"
            raise InputError(f"{path}: {problem}; {_columns(sheets)}")
    # What stood under a documented name that is read elsewhere is another column.
    names = {documented: f"{documented} (own)" for documented in columns}
    names |= {column: documented for documented, column in columns.items()}
    return [replace(sheet, table=sheet.table.rename(columns=names)) for sheet in sheets]


def _columns(sheets):
    texts = []
    for sheet in sheets:
        if sheet.name not in FURTHER_SHEETS:
            texts.append(f"sheet {sheet.name!r} has {listed(filter(None, sheet.table), 30)}")
    return "; ".join(texts) or "there is no other sheet"


# --- cells


# The cells of every row: texts, and the choices that they name.
def _read_rows(table, layout):
    rows = pd.DataFrame({"row": table.index}, table.index)
    if layout.key not in table and "prompt_text" in table:
        table = table.assign(**{layout.key: table["prompt_text"]})
    for column in layout.columns:
        cells = table.get(column.name, pd.Series(None, table.index, dtype=object))
        if column.choices:
            choices = {str(choice).casefold(): choice for choice in column.choices}
            cells = pd.Series([choices.get(_spelling(cell)) for cell in cells], table.index)
        else:
            cells = cells.map(lambda cell: "" if cell is None else str(cell))
        rows[column.name] = cells.astype(float if column.kind == "rating" else object)
    others = table.columns.difference(rows.columns, sort=False)
    return rows.join(table[others])


# A cell as choices are compared: without letter case, sign or decimal point.
def _spelling(cell):
    text = "" if cell is None else str(cell).strip()
    return re.sub(r"^\+?(\d+)(\.0+)?$", r"\1", text).casefold()


# Sheets and columns that are not as sent out, and formulas.
def _form_checks(sheets, sheet, table, layout):
    if sheet.hidden:
        yield None, None, "hidden_sheet"
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


# Cells that are blank, that name no choice, or name one in another spelling.
def _cell_checks(table, layout, rows):
    for column in layout.columns:
        if not column.choices or column.name not in table:
            continue
        texts = list(map(str, column.choices))
        is_choice = rows[column.name].notna()
        for (number, cell), is_read in zip(table[column.name].items(), is_choice, strict=True):
            if is_read and isinstance(cell, str) and cell not in texts:
                yield number, column.name, "spelling", short(cell), REPAIRED
            elif not is_read and _spelling(cell):
                yield number, column.name, "not_a_choice", short(cell), LOST
            elif not is_read and column.required:
                yield number, column.name, "blank", "", LOST
