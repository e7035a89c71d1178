"""Rows of a returned sheet, read cell by cell; every defect is reported."""

import pandas as pd

from casebook.raters import cells
from casebook.raters.defects import LOST, NOTE, shortened
from casebook.raters.grids import Formula


def header(grid):
    """Find the header of a sheet.

    Parameters
    ----------
    grid : casebook.raters.grids.Grid
        Sheet.

    Returns
    -------
    number : int
        Row number of the header, 0 if the sheet is empty.
    names : list of str
        Column names by place.
    """
    for number, row in grid.rows.items():
        names = ["" if cell is None else str(cell).strip() for cell in row]
        return number, names
    return 0, []


def no_rows(layout):
    """Give the empty table of a layout.

    Parameters
    ----------
    layout : casebook.raters.layouts.Layout
        Columns.

    Returns
    -------
    pandas.DataFrame
        Without rows.
    """
    return pd.DataFrame(columns=["row", *layout.names])


def sheet_rows(grid, layout, report):
    """Read the rows below the header.

    Parameters
    ----------
    grid : casebook.raters.grids.Grid
        Sheet.
    layout : casebook.raters.layouts.Layout
        Columns.
    report : callable
        Takes sheet, row, column, kind, content and effect of each defect.

    Returns
    -------
    pandas.DataFrame
        As `casebook.raters.responses.ReturnedForm.rows`; of rows with one id the first
        if they agree, else none.
    """
    head, names = header(grid)
    places = _places(grid.name, head, names, layout, report)
    rows = []
    for number, content in grid.rows.items():
        if number > head:
            cell = _Row(grid.name, number, content, places, report)
            rows.append(cell.values(layout))
    frame = pd.DataFrame(rows) if rows else no_rows(layout)
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
