"""Returned forms: every row read, every defect named, nothing left out unsaid."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.raters import cells
from casebook.raters.defects import LOST, NOTE, Defect, shortened
from casebook.raters.grids import Formula, read_book
from casebook.raters.layouts import GUESS, LIKERT, PAIRED, PAIRED_WITH_GUESS, SHEET
from casebook.raters.workbook import ABOUT_SHEET, RUBRIC_SHEET

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
        raise InputError("there are no forms to read")
    return files


def _forms_in(folder):
    kinds = {".xlsx", ".xlsm", ".xls", ".csv"}
    found = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in kinds]
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
        With every defect of the file; what needs the key is checked by `unblind`.

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
    rows = _rows(grid, layout, report) if grid else _no_rows(layout)
    about = _about(book)
    sheet = grid.name if grid else ""
    stem = book.path.stem
    return ReturnedForm(book.path, stem, layout, sheet, rows, about, tuple(found))


def _header(grid):
    """Give the header's row number, and its names by place."""
    for number, row in grid.rows.items():
        names = ["" if cell is None else str(cell).strip() for cell in row]
        return number, names
    return 0, []


def _layout_of(grid):
    names = set(_header(grid)[1])
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


def _no_rows(layout):
    return pd.DataFrame(columns=["row", *layout.names])


def _rows(grid, layout, report):
    head, names = _header(grid)
    places = _places(grid.name, head, names, layout, report)
    rows = []
    for number, content in grid.rows.items():
        if number > head:
            cell = _Row(grid.name, number, content, places, report)
            rows.append(cell.values(layout))
    frame = pd.DataFrame(rows) if rows else _no_rows(layout)
    for column in layout.columns:
        if column.kind == "rating":
            frame[column.name] = frame[column.name].astype(float)
    return _without_duplicates(frame, grid.name, layout, report)


def _places(sheet, head, names, layout, report):
    """Give the place of each column; name missing, repeated and further ones."""
    places = {}
    for place, name in enumerate(names):
        if name and name in places:
            report(sheet, head, name, "repeated_column", "the first one is read", NOTE)
        elif name:
            places[name] = place
    for column in layout.columns:
        if column.name not in places and column.required:
            report(sheet, head, column.name, "missing_column", "", LOST)
    for name in places:
        if name not in layout.names:
            report(sheet, head, name, "extra_column", "not one of the form", NOTE)
    return places


class _Row:
    """One row of a sheet, read cell by cell."""

    def __init__(self, sheet, number, content, places, report):
        self.sheet, self.number, self.content = sheet, number, content
        self.places, self.report = places, report

    def values(self, layout):
        known = {column.name: self._read(column) for column in layout.columns}
        further = [n for n in self.places if n not in known]
        extra = {name: self._cell(name) for name in further}
        for place, cell in enumerate(self.content):
            if isinstance(cell, Formula) and place not in self._own(layout):
                self._name(f"number {place + 1}", "formula", shortened(cell.text), NOTE)
        return {"row": self.number, **known, **extra}

    def _own(self, layout):
        return {self.places[n] for n in layout.names if n in self.places}

    def _cell(self, name):
        place = self.places.get(name)
        if place is None or place >= len(self.content):
            return None
        return self.content[place]

    def _read(self, column):
        value = self._cell(column.name)
        if column.locked:
            if isinstance(value, Formula):
                self._name(column.name, "formula", shortened(value.text), NOTE)
                return value.text
            return "" if value is None else str(value)
        readers = {"rating": cells.read_rating, "note": cells.read_note}
        if column.kind == "choice":
            result, problem = cells.read_choice(value, column.choices)
        else:
            result, problem = readers[column.kind](value)
        present = column.name in self.places
        if problem and present and (column.required or problem[0] != "blank"):
            self._name(column.name, *problem)
        return result

    def _name(self, column, kind, found, effect):
        self.report(self.sheet, self.number, column, kind, found, effect)


def _without_duplicates(frame, sheet, layout, report):
    """Of rows with one id keep the first if they agree, else none."""
    answers = [column.name for column in layout.answers]
    dropped = []
    for number in frame.loc[frame[layout.key] == "", "row"]:
        report(sheet, number, layout.key, "no_id", "", LOST)
        dropped.append(number)
    named = frame[frame[layout.key] != ""]
    repeated = named[named.duplicated(layout.key, keep=False)]
    for identity, rows in repeated.groupby(layout.key, sort=False):
        same = len(rows[answers].drop_duplicates()) == 1
        numbers = rows["row"].tolist()
        text = f"{identity} in rows {', '.join(map(str, numbers))}"
        for number in numbers[1:]:
            effect = NOTE if same else LOST
            report(sheet, number, layout.key, "duplicate", text, effect)
        dropped += numbers[1:] if same else numbers
    return frame[~frame["row"].isin(dropped)].reset_index(drop=True)
