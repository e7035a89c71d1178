"""Returned forms: every cell read, every defect named."""

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from casebook.data.tables import ROLES, cell_text, read_roles, read_table, to_type
from casebook.errors import InputError, refuse
from casebook.raters.layouts import (
    ABOUT_SHEET,
    KEY_DIGEST,
    LIKERT,
    RUBRIC_SHEET,
    SHEET,
    FormLayout,
    form_layout,
)
from casebook.sheets import BOOKS, KINDS, Book, Sheet, from_csv, read_book, require_values

# Effects of a defect on the judgement.
NOTE = "note"
REPAIRED = "repaired"
LOST = "lost"
RATED = ("preferred", *(column.name for column in LIKERT.answers))
NO_RATINGS = {"item": "-", "criterion": "-", "rating": "-"}
ITEM = "prompt_id"  # names the rows of a form
FURTHER_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}
LONGEST_CONTENT = 60  # characters of a cell that a message quotes


class Defect(NamedTuple):
    """One thing that is not as it should be in a returned form; no row: in all of the sheet."""

    file: str
    sheet: str
    row: int | None
    column: str | None
    kind: str
    found: str = ""
    effect: str = NOTE


def defects_of(path, sheet, checks):
    """Make defects of checks of a sheet: row, column, kind, perhaps content and effect."""
    return [Defect(str(path), sheet, *check) for check in checks]


def defect_table(defects):
    """Give defects as a table."""
    return pd.DataFrame(defects, columns=list(Defect._fields))


@dataclass(frozen=True, eq=False)
class ReturnedForm:
    """One rater's form as it came back: a row per judgement, NaN for no rating; and defects."""

    path: Path
    rater: str
    layout: FormLayout
    sheet: str
    rows: pd.DataFrame
    has_about_sheet: bool  # as only workbooks that `casebook raters forms` made
    key_sha256: str | None  # of the key with which it was made, as a workbook says
    defects: tuple


def read_forms(paths, columns=None):
    """Read returned forms (.xlsx, .xlsm, .csv, folders), ours or in the documented layout.

    Files that hold the judgements of several raters are read as a form of each: a row per rating,
    and tables with a column that names raters.
    ``columns`` maps documented columns to their names in the files. A form's rater is its file's
    base name, or as the file names it, with its folder where several have one name. An error names
    every file that cannot be read.
    """
    files = form_files(paths)
    # Unlike Path.resolve, realpath leaves a link to itself to whoever opens it.
    counts = Counter(map(os.path.realpath, files))
    problems = [f"{path}: is given twice" for path, count in counts.items() if count > 1]
    forms = []
    for path in files:
        try:
            for rater, book, names in _books_by_rater(path, columns or {}):
                forms.append(form_of(book, rater, names))
        except InputError as error:
            problems.append(str(error))
    refuse(problems)
    n_forms_of_name = Counter(form.rater for form in forms)
    return [_with_folder(form) if n_forms_of_name[form.rater] > 1 else form for form in forms]


def _with_folder(form):
    """Name a form's rater with the folder of its file."""
    rater = f"{form.path.resolve().parent.name}/{form.rater}"
    defect = Defect(str(form.path), "", None, None, "same_name", f"called {rater} here")
    return replace(form, rater=rater, defects=(*form.defects, defect))


def read_form(path, columns=None):
    """Read the form of one rater."""
    return form_of(read_book(path), Path(path).stem, columns or {})


def form_of(book, rater, columns):
    """Read the form that a book is."""
    sheets = rename_columns(book.path, book.sheets, columns) if columns else book.sheets
    sheet = _rating_sheet(book.path, sheets)
    names = sheet.table.columns
    table = sheet.table.loc[:, ~names.duplicated() & (names != "")]
    layout = form_layout(table)
    rated = [column.name for column in layout.columns if column.kind != "note"]
    require_values(book.path, sheet.name, table.loc[:, table.columns.isin(rated)])
    rows = _read_rows(table, layout)
    ids = rows[layout.key]
    contradicts = _contradicts(rows, layout)
    checks = [
        *_column_defects(sheet, table, layout),
        *_cell_defects(table, layout, rows),
        *_id_defects(rows, layout.key, contradicts),
    ]
    defects = [*_sheet_defects(book.path, sheets, sheet)]
    defects += defects_of(book.path, sheet.name, checks)
    about = next((table for table in sheets if table.name == ABOUT_SHEET and table.head), None)
    return ReturnedForm(
        path=book.path,
        rater=rater,
        layout=layout,
        sheet=sheet.name,
        rows=rows[(ids != "") & ~ids.duplicated() & ~contradicts].reset_index(drop=True),
        has_about_sheet=about is not None,
        key_sha256=_key_digest(about) if about else None,
        defects=tuple(sorted(defects, key=lambda defect: defect.row or 0)),
    )


def _key_digest(about):
    """Find the SHA-256 of the key on the sheet that says what a form is."""
    for name, *cells in about.table.to_numpy():
        if name == KEY_DIGEST and cells:
            return str(cells[0])
    return None


def rename_columns(path, sheets, columns):
    """Give sheets their documented column names: `columns` maps those to the file's."""
    for documented, column in columns.items():
        if not any(column in sheet.table for sheet in sheets):
            raise InputError(
                f"{path}: no column {column!r}, which is to be read as {documented!r}; "
                f"{_columns(sheets)}"
            )
    renamed = []
    for sheet in sheets:
        names = {}
        for documented, column in columns.items():
            if column in sheet.table:
                # What stood under a documented name that is read elsewhere is another column.
                names.setdefault(documented, f"{documented} (own)")
                names[column] = documented
        formulas = tuple((row, names.get(name, name), text) for row, name, text in sheet.formulas)
        table = sheet.table.rename(columns=names)
        renamed.append(replace(sheet, table=table, formulas=formulas))
    return renamed


def _columns(sheets):
    """Say which columns there are."""
    texts = []
    for sheet in sheets:
        if sheet.name not in FURTHER_SHEETS:
            names = ", ".join(name for name in sheet.table if name) or "none"
            texts.append(f"sheet {sheet.name!r} has {names}")
    return "; ".join(texts) or "there is no other sheet"


def _rating_sheet(path, sheets):
    """Find the sheet with the ratings: the one of that name, else the first with such columns."""
    candidates = [sheet for sheet in sheets if not sheet.table.columns.intersection(RATED).empty]
    if not candidates:
        way = to_type("columns", {"preferred": "COLUMN"})
        remedy = f"{_columns(sheets)}: name it with {way}"
        raise InputError(f"{path}: no column 'preferred' (the vote: S1, S2 or Tie); {remedy}")
    return next((sheet for sheet in candidates if sheet.name == SHEET), candidates[0])


# --- files of forms


def form_files(paths):
    """Forms among files and folders, or a single one."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    files = []
    for path in map(Path, paths):
        if path.is_dir():
            # Spreadsheets leave a lock file beside an open workbook.
            forms = [file for file in sorted(path.iterdir()) if file.suffix.lower() in KINDS]
            files += [file for file in forms if not file.name.startswith(("~$", "."))]
        else:
            files.append(path)
    if not files:
        where = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{where}: no forms ({', '.join(KINDS)}) to read")
    return files


def _books_by_rater(path, columns):
    """Raters, books and names of columns: a form is one; a file with a column of raters, more."""
    of_ratings = {role: name for role, name in columns.items() if role in ROLES["ratings"]}
    if path.suffix.lower() in KINDS:
        book = read_book(path)
        names = {name for sheet in book.sheets for name in sheet.table}
        if "rater" not in of_ratings and names.isdisjoint(ROLES["ratings"]["rater"]):
            return [(path.stem, book, columns)]
    of_forms = {name: column for name, column in columns.items() if name not in of_ratings}
    table = read_table(path)
    if {*RATED, *of_forms.values()} & {*table}:
        reading = read_roles(table, "ratings", ["rater"], NO_RATINGS | of_ratings)
        rows = table.drop(columns=reading.columns["rater"], errors="ignore")
    else:
        reading = read_roles(table, "ratings", list(ROLES["ratings"]), of_ratings)
        rows = _rows_of_ratings(table, reading)
    rows = rows.map(lambda cell: from_csv(str(cell_text(cell))) or None)
    raters = reading.names("rater")[rows.index]
    return [
        (rater, Book(path, (Sheet(path.name, 1, rows[raters == rater]),)), of_forms)
        for rater in raters.unique()
    ]


def _rows_of_ratings(table, reading):
    """A row per rater and item, a column for each criterion, at the first of its rows."""
    for role in ("item", "rater", "criterion"):
        reading.names(role)
    reading.refuse_repeats("item", "rater", "criterion")
    ids = ["rater", "item"]
    ratings = reading.table.set_index([*ids, "criterion"])["rating"].unstack()  # noqa: PD010
    first = reading.table[~reading.table.duplicated(ids)]
    ratings = ratings.loc[pd.MultiIndex.from_frame(first[ids])].set_axis(first.index)
    fields = table.loc[first.index, reading.unread]
    return pd.concat([first["item"].rename(ITEM), fields, ratings], axis=1)


# --- cells ------------------------------------------------------------------


def _read_rows(table, layout):
    """Read the cells of every row: texts, and the choices that they name."""
    rows = {"row": table.index.tolist()}
    for column in layout.columns:
        if column.name in table:
            rows[column.name] = _read_column(column, table[column.name])
        elif column.name == layout.key:
            rows[column.name] = [str(number) for number in table.index]
        else:
            rows[column.name] = [None if column.choices else ""] * len(table)
    for name in table.columns.difference([*layout.names, "row"], sort=False):
        rows[name] = table[name].tolist()
    ratings = {column.name: float for column in layout.columns if column.kind == "rating"}
    return pd.DataFrame(rows).astype(ratings)


def _read_column(column, cells):
    """Read the cells of one column; where they name no choice, there is None."""
    if not column.choices:
        return ["" if cell is None else str(cell) for cell in cells]
    choices = {str(choice).casefold(): choice for choice in column.choices}
    return [choices.get(_spelling(cell)) for cell in cells]


def _spelling(cell):
    """Give a cell as choices are compared: without letter case, sign or decimal point."""
    text = "" if cell is None else str(cell).strip()
    return re.sub(r"^\+?(\d+)(\.0+)?$", r"\1", text).casefold()


def _contradicts(rows, layout):
    """Mark the rows whose id stands elsewhere with other answers."""
    answers = [column.name for column in layout.answers]
    distinct = rows.drop_duplicates([layout.key, *answers])
    return rows[layout.key].map(distinct[layout.key].value_counts()) > 1


# --- checks: see `defects_of` ------------------------------------------------


def _sheet_defects(path, sheets, rating_sheet):
    """Name what sheets there are besides the one with the ratings, and whether that is hidden."""
    if rating_sheet.name != SHEET and path.suffix.lower() in BOOKS:
        text = f"{rating_sheet.name} read instead"
        yield Defect(str(path), SHEET, None, None, "missing_sheet", text)
    for sheet in sheets:
        if sheet is not rating_sheet and sheet.name not in FURTHER_SHEETS:
            n_rows = len(sheet.table) + bool(sheet.head)
            text = f"hidden, {n_rows} rows" if sheet.hidden else f"{n_rows} rows"
            yield Defect(str(path), sheet.name, None, None, "extra_sheet", text)
    if rating_sheet.hidden:
        text = "the ratings are hidden"
        yield Defect(str(path), rating_sheet.name, None, None, "hidden_sheet", text)


def _column_defects(sheet, table, layout):
    """Name the columns that occur twice, that are missing and that no form has; and formulas."""
    names = sheet.table.columns
    for name in names[names.duplicated() & (names != "")]:
        yield sheet.head, name, "repeated_column"
    for column in layout.columns:
        if column.required and column.name not in table:
            yield sheet.head, column.name, "missing_column", "", LOST
    for name in table.columns.difference(layout.names, sort=False):
        yield sheet.head, name, "extra_column"
    for number, name, text in sheet.formulas:
        yield number, name, "formula", quoted(text)


def _cell_defects(table, layout, rows):
    """Name the cells that are blank, that name no choice, or name one in another spelling."""
    for column in layout.columns:
        if not column.choices or column.name not in table:
            continue
        texts = [str(choice) for choice in column.choices]
        is_choice = rows[column.name].notna()
        for (number, cell), is_read in zip(table[column.name].items(), is_choice, strict=True):
            if is_read and isinstance(cell, str) and cell not in texts:
                yield number, column.name, "spelling", quoted(cell), REPAIRED
            elif not is_read and _spelling(cell):
                yield number, column.name, "not_a_choice", quoted(cell), LOST
            elif not is_read and column.required:
                yield number, column.name, "blank", "", LOST


def _id_defects(rows, key, contradicts):
    """Name the rows without an id, and those whose id stood already."""
    columns = (rows["row"], rows[key], rows[key].duplicated(), contradicts)
    for number, name, is_repeated, is_contradictory in zip(*columns, strict=True):
        if name == "":
            yield number, key, "no_id", "", LOST
        elif is_repeated:
            yield number, key, "duplicate", name, LOST if is_contradictory else NOTE


def quoted(value):
    """Quote the content of a cell in a message, shortened."""
    text = repr(value)
    return text if len(text) <= LONGEST_CONTENT else f"{text[: LONGEST_CONTENT - 1]}…"
