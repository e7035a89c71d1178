"""Returned forms: every row read, every defect named, nothing left out unsaid."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.raters.defects import LOST, NOTE, Defect
from casebook.raters.form_rows import header, no_rows, sheet_rows
from casebook.raters.grids import read_book
from casebook.raters.layouts import GUESS, LIKERT, PAIRED, PAIRED_WITH_GUESS, SHEET
from casebook.raters.workbook import ABOUT_SHEET, RUBRIC_SHEET

_KINDS = {".xlsx", ".xlsm", ".xls", ".csv"}
OWN_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}


@dataclass(frozen=True)
class ReturnedForm:
    """One rater's form as it came back.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    rater : str
        Label: the file's base name without its suffix, with its folder where two
        files share it.
    layout : casebook.raters.layouts.Layout
        Columns.
    sheet : str
        Name of the sheet with the ratings.
    rows : pandas.DataFrame
        One row per row of the sheet, in its order: ``row`` (number in the sheet), the
        columns of the layout (ratings as numbers, NaN where missing), and any further
        columns as they are.
    about : dict of str
        What the form says of itself; empty for the documented layout.
    defects : tuple of Defect
        What is wrong.
    """

    path: Path
    rater: str
    layout: object
    sheet: str
    rows: pd.DataFrame
    about: dict
    defects: tuple


def read_forms(paths):
    """Read returned forms.

    Parameters
    ----------
    paths : sequence of path-like
        Files, or folders of which all forms are taken.

    Returns
    -------
    list of ReturnedForm
        In the order given; files of a folder by name.

    Raises
    ------
    InputError
        If a file cannot be read at all, or there is none.
    """
    files = expand(paths)
    resolved = Counter(path.resolve() for path in files)
    twice = [str(path) for path, count in resolved.items() if count > 1]
    if twice:
        raise InputError(f"{twice[0]}: is given twice")
    names = Counter(path.stem for path in files)
    return [_labelled(read_form(p), names[p.stem] > 1) for p in files]


def expand(paths):
    """List the forms among files and folders.

    Parameters
    ----------
    paths : sequence of path-like
        Files, or folders of which all forms are taken by name.

    Returns
    -------
    list of pathlib.Path
        Files, in the order given.

    Raises
    ------
    InputError
        If there is none.
    """
    files = []
    for path in map(Path, paths):
        files += _forms_in(path) if path.is_dir() else [path]
    if not files:
        places = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{places}: no forms ({', '.join(sorted(_KINDS))}) to read")
    return files


def _forms_in(folder):
    found = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in _KINDS]
    # Spreadsheets leave a lock file beside an open workbook.
    return [path for path in found if not path.name.startswith(("~$", "."))]


def _labelled(form, shared):
    if not shared:
        return form
    rater = f"{form.path.resolve().parent.name}/{form.path.stem}"
    found = f"another file has this base name; called {rater} here"
    defect = Defect(str(form.path), "", None, None, "same_name", found, NOTE)
    return replace(form, rater=rater, defects=(*form.defects, defect))


def read_form(path):
    """Read one returned form, ours or in the documented layout.

    Parameters
    ----------
    path : path-like
        Workbook or CSV.

    Returns
    -------
    ReturnedForm
        With every defect of the file; what needs the key is checked by
        `casebook.raters.unblinding.unblind`.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    book = read_book(path)
    found = []

    def report(sheet, row, column, kind, content, effect):
        name = str(book.path)
        found.append(Defect(name, sheet, row, column, kind, content, effect))

    for kind, text in book.remarks:
        report("", None, None, kind, text, NOTE)
    grid, layout = _ratings(book, report)
    rows = sheet_rows(grid, layout, report) if grid else no_rows(layout)
    about = _about(book)
    sheet = grid.name if grid else ""
    stem = book.path.stem
    return ReturnedForm(book.path, stem, layout, sheet, rows, about, tuple(found))


def _layout_of(grid):
    names = set(header(grid)[1])
    if "preferred" in names:
        return PAIRED_WITH_GUESS if GUESS.name in names else PAIRED
    if names & {column.name for column in LIKERT.answers}:
        return LIKERT
    return None


def _ratings(book, report):
    """Find the sheet with the ratings; name what else there is."""
    usable = [(grid, _layout_of(grid)) for grid in book.grids]
    usable = [(grid, layout) for grid, layout in usable if layout]
    named = [pair for pair in usable if pair[0].name == SHEET]
    grid, layout = (named or usable or [(None, PAIRED)])[0]
    is_csv = book.path.suffix.lower() == ".csv"
    if grid is None:
        sheets = ", ".join(g.name for g in book.grids)
        report(SHEET, None, None, "missing_sheet", f"there are: {sheets}", LOST)
    elif not named and not is_csv:
        report(SHEET, None, None, "missing_sheet", f"{grid.name} read instead", NOTE)
    for other in book.grids:
        if other is not grid and other.name not in OWN_SHEETS:
            hidden = "hidden, " if other.hidden else ""
            text = f"{hidden}{len(other.rows)} rows"
            report(other.name, None, None, "extra_sheet", text, NOTE)
    if grid is not None and grid.hidden:
        report(grid.name, None, None, "hidden_sheet", "the ratings are hidden", NOTE)
    return grid, layout


def _about(book):
    for grid in book.grids:
        if grid.name == ABOUT_SHEET:
            rows = [row for row in grid.rows.values() if len(row) > 1]
            return {str(row[0]): str(row[1]) for row in rows if row[1] is not None}
    return {}
