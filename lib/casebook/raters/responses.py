"""Returned forms: every row read, every defect named, nothing left out unsaid."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.raters.defects import NOTE, Defect
from casebook.raters.form_rows import sheet_rows
from casebook.raters.layouts import GUESS, LIKERT, PAIRED, PAIRED_WITH_GUESS, SHEET
from casebook.raters.workbook import ABOUT_SHEET, RUBRIC_SHEET
from casebook.sheets import KINDS, Grid, header_of, read_book

OWN_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}


@dataclass(frozen=True)
class ReturnedForm:
    """One rater's form as it came back."""

    path: Path
    rater: str
    layout: object
    sheet: str
    rows: pd.DataFrame
    about: dict
    defects: tuple


def read_forms(paths, columns=None):
    """Read returned forms."""
    files = expand(paths)
    resolved = Counter(path.resolve() for path in files)
    twice = [str(path) for path, count in resolved.items() if count > 1]
    if twice:
        raise InputError(f"{twice[0]}: is given twice")
    names = Counter(path.stem for path in files)
    return [_labelled(read_form(p, columns), names[p.stem] > 1) for p in files]


def expand(paths):
    """List the forms among files and folders."""
    files = []
    for path in map(Path, paths):
        files += _forms_in(path) if path.is_dir() else [path]
    if not files:
        places = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{places}: no forms ({', '.join(KINDS)}) to read")
    return files


def _forms_in(folder):
    found = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in KINDS]
    # Spreadsheets leave a lock file beside an open workbook.
    return [path for path in found if not path.name.startswith(("~$", "."))]


def _labelled(form, shared):
    if not shared:
        return form
    rater = f"{form.path.resolve().parent.name}/{form.path.stem}"
    found = f"another file has this base name; called {rater} here"
    defect = Defect(str(form.path), "", None, None, "same_name", found, NOTE)
    return replace(form, rater=rater, defects=(*form.defects, defect))


def read_form(path, columns=None):
    """Read one returned form, ours or in the documented layout."""
    book = read_book(path)
    book = replace(book, grids=renamed(book.path, book.grids, columns or {}))
    found = []

    def report(sheet, row, column, kind, content, effect):
        name = str(book.path)
        found.append(Defect(name, sheet, row, column, kind, content, effect))

    for kind, text in book.remarks:
        report("", None, None, kind, text, NOTE)
    grid, layout = _ratings(book, report)
    rows = sheet_rows(book.path, grid, layout, report)
    stem, about = book.path.stem, _about(book)
    return ReturnedForm(book.path, stem, layout, grid.name, rows, about, tuple(found))


def renamed(path, grids, columns):
    """Give sheets their documented column names: `columns` maps those to the file's."""
    missing, found = dict(columns), []
    for grid in grids:
        head, names = header_of(grid)
        for wanted, given in columns.items():
            if given in names:
                missing.pop(wanted, None)
                # What stood under the documented name is another column.
                names = [f"{n} (own)" if n == wanted != given else n for n in names]
                names[names.index(given)] = wanted
        rows = grid.rows | ({head: tuple(n or None for n in names)} if head else {})
        found.append(Grid(grid.name, rows, grid.hidden))
    for wanted, given in missing.items():
        raise InputError(f"{path}: no column {given!r}, which is to be read as {wanted!r}; {_columns(grids)}")
    return tuple(found)


def _columns(grids):
    """Say which columns there are."""
    listed = [
        f"sheet {g.name!r} has {', '.join(n for n in header_of(g)[1] if n) or 'none'}"
        for g in grids
        if g.name not in OWN_SHEETS
    ]
    return "; ".join(listed) or "there is no other sheet"


def _layout_of(grid):
    names = set(header_of(grid)[1])
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
    if not usable:
        raise InputError(
            f"{book.path}: no column 'preferred' (the vote: S1, S2 or Tie); "
            f"{_columns(book.grids)}: name it with --map preferred=COLUMN"
        )
    grid, layout = (named or usable)[0]
    if not named and book.path.suffix.lower() != ".csv":
        report(SHEET, None, None, "missing_sheet", f"{grid.name} read instead", NOTE)
    for other in book.grids:
        if other is not grid and other.name not in OWN_SHEETS:
            hidden = "hidden, " if other.hidden else ""
            text = f"{hidden}{len(other.rows)} rows"
            report(other.name, None, None, "extra_sheet", text, NOTE)
    if grid.hidden:
        report(grid.name, None, None, "hidden_sheet", "the ratings are hidden", NOTE)
    return grid, layout


def _about(book):
    for grid in book.grids:
        if grid.name == ABOUT_SHEET:
            rows = [row for row in grid.rows.values() if len(row) > 1]
            return {str(row[0]): str(row[1]) for row in rows if row[1] is not None}
    return {}
