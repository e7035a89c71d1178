"""Scan of forms for what would tell a rater which system wrote an answer."""

import io
import re
import zipfile

import pandas as pd

from casebook.raters.layouts import SHEET
from casebook.raters.responses import OWN_SHEETS, read_form
from casebook.sheets import read_book

_SUSPECT = re.compile(r"side|key|mapping|answer_?key|system_?name|solution|arm", re.I)
_SIDES = {"S1", "S2"}
_TEXT_PARTS = ("xl/worksheets/", "xl/sharedStrings")


def scan_forms(paths, words, columns=None):
    """Look for leaks in forms, before they are sent out or after they came back."""
    pattern = re.compile("|".join(rf"\b_?{re.escape(w)}_?\b" for w in words), re.I)
    pattern = pattern if words else re.compile(r"(?!)")
    found = [row for path in paths for row in _scan(path, pattern, columns)]
    return pd.DataFrame(found, columns=["file", "where", "kind", "found"])


def _scan(path, pattern, columns):
    form, book = read_form(path, columns), read_book(path)
    file = str(form.path)

    def leak(where, kind, what):
        return {"file": file, "where": where, "kind": kind, "found": what}

    loose = re.compile(pattern.pattern.replace(r"\b", ""), re.I)
    for name in _words(loose, form.path.name):
        yield leak("file name", "word", name)
    for grid in book.grids:
        if grid.hidden:
            yield leak(f"sheet {grid.name}", "hidden_sheet", f"{len(grid.rows)} rows")
        if grid.name != form.sheet and grid.name not in OWN_SHEETS:
            yield leak(f"sheet {grid.name}", "extra_sheet", f"{len(grid.rows)} rows")
        if grid.name not in {SHEET, form.path.name}:
            if _SUSPECT.search(grid.name):
                yield leak("sheet name", "suspect_name", grid.name)
            for name in _words(loose, grid.name):
                yield leak("sheet name", "word", name)
    yield from _scan_rows(form, pattern, loose, leak)
    yield from _scan_parts(form.path, pattern, leak)


def _words(pattern, text):
    return sorted({match.group(0) for match in pattern.finditer(text)})


def _scan_rows(form, pattern, loose, leak):
    layout = form.layout
    own = {column.name for column in layout.columns}
    for name in (n for n in form.rows if n not in {*own, "row"}):
        if _SUSPECT.search(name) or loose.search(name):
            yield leak(f"column {name}", "suspect_name", name)
        values = {str(v).strip() for v in form.rows[name].dropna()}
        if values and values <= _SIDES:
            yield leak(f"column {name}", "key_column", f"{len(form.rows)} rows of S1, S2")
    for column in layout.columns:
        if column.kind == "id":
            cells = form.rows[column.name]
            for number, cell in zip(form.rows["row"], cells, strict=True):
                for word in _words(loose, cell):
                    yield leak(f"row {number}, {column.name}", "word", word)
    for name in layout.texts:
        cells = form.rows[name]
        for word in _words(pattern, "\n".join(cells)):
            count = int(cells.str.contains(word, regex=False).sum())
            yield leak(f"column {name}", "word_in_text", f"{word}, {count} rows")


def _scan_parts(path, pattern, leak):
    """Search what a workbook holds besides its cells: properties, names, comments."""
    if path.suffix.lower() not in {".xlsx", ".xlsm"}:
        return
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        for name in archive.namelist():
            if name.startswith(_TEXT_PARTS):
                continue
            text = archive.read(name).decode("utf-8", errors="replace")
            for word in _words(pattern, re.sub(r"</?[a-zA-Z:]+", " ", text)):
                yield leak(name, "word", word)
