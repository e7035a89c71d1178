"""Rows of a returned sheet, read cell by cell; every defect is reported."""

import pandas as pd

from casebook.raters import cells
from casebook.raters.defects import LOST, NOTE, shortened
from casebook.sheets import Formula, header_of, value_of


def sheet_rows(path, grid, layout, report):
    """Read the rows below the header."""
    head, names = header_of(grid)
    places = _places(grid.name, head, names, layout, report)
    rows = []
    for number, content in grid.rows.items():
        if number > head:
            cell = _Row(path, grid.name, number, content, places, report)
            rows.append(cell.values(layout))
    frame = pd.DataFrame(rows, columns=None if rows else ["row", *layout.names])
    if layout.key not in places:
        frame[layout.key] = frame["row"].astype(str)
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

    def __init__(self, path, sheet, number, content, places, report):
        self.path, self.sheet, self.number, self.content = path, sheet, number, content
        self.places, self.report = places, report

    def values(self, layout):
        known = {column.name: self._read(column) for column in layout.columns}
        extra = {name: self._cell(name) for name in self.places if name not in known}
        names = {place: name for name, place in self.places.items()}
        for place, cell in enumerate(self.content):
            if isinstance(cell, Formula):
                column = names.get(place, f"number {place + 1}")
                self._name(column, "formula", shortened(cell.text), NOTE)
        return {"row": self.number, **known, **extra}

    def _cell(self, name):
        place = self.places.get(name)
        if place is None or place >= len(self.content):
            return None
        return self.content[place]

    def _read(self, column):
        value = self._cell(column.name)
        if column.kind != "note":
            value = value_of(self.path, self.sheet, self.number, column.name, value)
        if column.locked:
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
