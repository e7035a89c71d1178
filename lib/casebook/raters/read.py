"""Returned forms: every cell read, every defect named, nothing left out unsaid; then joined with the key."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.raters.design import text_hash
from casebook.raters.forms import (
    ABOUT_SHEET,
    GUESS,
    KEY,
    KEY_SCHEMA,
    LIKERT,
    PAIRED,
    PAIRED_WITH_GUESS,
    PREREGISTRATION,
    RUBRIC_SHEET,
    SCALES,
    SEALED,
    SHEET,
)
from casebook.readers import read_json
from casebook.sheets import KINDS, Formula, read_book, value_of

NOTE, REPAIRED, LOST = "note", "repaired", "lost"
OWN_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}
SIDE_COLUMN = "_rag_side_for_analysis"
RAG, BASE = "RAG", "BASE"
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


class Defect(NamedTuple):
    """One thing that is not as it should be in a returned form."""

    file: str
    sheet: str
    row: int | None
    column: str | None
    kind: str
    found: str
    effect: str


def defect_table(defects):
    """Give defects as a table."""
    return pd.DataFrame(defects, columns=list(Defect._fields))


@dataclass(frozen=True, eq=False)
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
    """Read returned forms (.xlsx, .xlsm, .csv, or folders of them), ours or in the documented layout.

    ``columns`` maps documented columns to their names in the files. Every form names its rater (the file's base name),
    its rows (one per judgement, NaN where a rating is missing) and its defects, with what became of each.
    """
    files = expand(paths)
    twice = [str(path) for path, count in Counter(path.resolve() for path in files).items() if count > 1]
    if twice:
        raise InputError(f"{twice[0]}: is given twice")
    names, forms = Counter(path.stem for path in files), []
    for form in (read_form(path, columns) for path in files):
        if names[form.path.stem] > 1:  # told apart by their folders
            rater = f"{form.path.resolve().parent.name}/{form.path.stem}"
            found = f"another file has this base name; called {rater} here"
            defect = Defect(str(form.path), "", None, None, "same_name", found, NOTE)
            form = replace(form, rater=rater, defects=(*form.defects, defect))
        forms.append(form)
    return forms


def expand(paths):
    """List the forms among files and folders, or of a single one."""
    files, paths = [], [paths] if isinstance(paths, str | Path) else list(paths)
    for path in map(Path, paths):
        inside = sorted(path.iterdir()) if path.is_dir() else ()
        # Spreadsheets leave a lock file beside an open workbook.
        forms = [p for p in inside if p.suffix.lower() in KINDS and not p.name.startswith(("~$", "."))]
        files += forms if path.is_dir() else [path]
    if not files:
        places = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{places}: no forms ({', '.join(KINDS)}) to read")
    return files


def read_form(path, columns=None):
    """Read one returned form."""
    book = read_book(path)
    sheets, defects = renamed(book.path, book.sheets, columns or {}), []

    def report(sheet, row, column, kind, content, effect):
        defects.append(Defect(str(book.path), sheet, row, column, kind, content, effect))

    for kind, text in book.remarks:
        report("", None, None, kind, text, NOTE)
    sheet, layout = _ratings(book.path, sheets, report)
    rows = _rows(book.path, sheet, layout, report)
    about = {}
    for own in sheets:
        if own.name == ABOUT_SHEET and own.head:  # no header: its first row is one of the facts
            cells = [list(own.table.columns), *own.table.to_numpy().tolist()]
            about = {str(row[0]): str(row[1]) for row in cells if len(row) > 1 and row[1] not in (None, "")}
    defects.sort(key=lambda defect: defect.row or 0)
    return ReturnedForm(book.path, book.path.stem, layout, sheet.name, rows, about, tuple(defects))


def renamed(path, sheets, columns):
    """Give sheets their documented column names: `columns` maps those to the file's."""
    missing, found = dict(columns), []
    for sheet in sheets:
        names = list(sheet.table.columns)
        for wanted, given in columns.items():
            if given in names:
                missing.pop(wanted, None)
                # What stood under the documented name is another column.
                names = [f"{name} (own)" if name == wanted != given else name for name in names]
                names[names.index(given)] = wanted
        found.append(replace(sheet, table=sheet.table.set_axis(names, axis=1)))
    for wanted, given in missing.items():
        raise InputError(f"{path}: no column {given!r}, which is to be read as {wanted!r}; {_columns(sheets)}")
    return found


def _columns(sheets):
    """Say which columns there are."""
    listed = [
        f"sheet {sheet.name!r} has {', '.join(name for name in sheet.table if name) or 'none'}"
        for sheet in sheets
        if sheet.name not in OWN_SHEETS
    ]
    return "; ".join(listed) or "there is no other sheet"


def _ratings(path, sheets, report):
    """Find the sheet with the ratings, and its layout; name what else there is."""
    usable = []
    for sheet in sheets:
        if "preferred" in sheet.table:
            usable.append((sheet, PAIRED_WITH_GUESS if GUESS.name in sheet.table else PAIRED))
        elif {*sheet.table} & {column.name for column in LIKERT.answers}:
            usable.append((sheet, LIKERT))
    if not usable:
        raise InputError(
            f"{path}: no column 'preferred' (the vote: S1, S2 or Tie); "
            f"{_columns(sheets)}: name it with --map preferred=COLUMN"
        )
    named = [(sheet, layout) for sheet, layout in usable if sheet.name == SHEET]
    chosen, layout = (named or usable)[0]
    if not named and path.suffix.lower() != ".csv":
        report(SHEET, None, None, "missing_sheet", f"{chosen.name} read instead", NOTE)
    for other in sheets:
        if other is not chosen and other.name not in OWN_SHEETS:
            rows = f"{len(other.table) + bool(other.head)} rows"
            report(other.name, None, None, "extra_sheet", f"hidden, {rows}" if other.hidden else rows, NOTE)
    if chosen.hidden:
        report(chosen.name, None, None, "hidden_sheet", "the ratings are hidden", NOTE)
    return chosen, layout


# --- cells ------------------------------------------------------------------


def _rows(path, sheet, layout, report):
    """Read the rows below the header, column by column and cell by cell."""
    names, numbers = sheet.table.columns, sheet.table.index
    for name in names[names.duplicated() & (names != "")]:
        report(sheet.name, sheet.head, name, "repeated_column", "the first one is read", NOTE)
    table = sheet.table.loc[:, ~names.duplicated() & (names != "")]
    found = {"row": numbers.tolist()}
    for column in layout.columns:
        cells, there = table.get(column.name, [None] * len(numbers)), column.name in table
        if column.required and not there:
            report(sheet.name, sheet.head, column.name, "missing_column", "", LOST)
        found[column.name] = []
        for number, cell in zip(numbers, cells, strict=True):
            if column.kind != "note":
                cell = value_of(path, sheet.name, number, column.name, cell)
            value, problem = _read_cell(column, cell)
            found[column.name].append(value)
            if problem and there and (column.required or problem[0] != "blank"):
                report(sheet.name, number, column.name, *problem)
    for name in table.columns.difference(layout.names, sort=False):
        report(sheet.name, sheet.head, name, "extra_column", "not one of the form", NOTE)
        found.setdefault(name, table[name].tolist())
    for number, cells in zip(numbers, sheet.table.to_numpy(), strict=True):
        for place, cell in enumerate(cells, start=1):
            if isinstance(cell, Formula):
                name = names[place - 1] or f"number {place}"
                report(sheet.name, number, name, "formula", shortened(cell.text), NOTE)
    if layout.key not in table:
        found[layout.key] = [str(number) for number in numbers]
    ratings = {column.name: float for column in layout.columns if column.kind == "rating"}
    return _without_duplicates(pd.DataFrame(found).astype(ratings), sheet.name, layout, report)


def _read_cell(column, value):
    """Give what a cell says, and the problem with it (kind, content, effect) or None."""
    if column.locked:
        return "" if value is None else str(value), None
    if column.kind == "note":
        if isinstance(value, Formula):
            value = value.text if value.value is None else value.value
        return "" if value is None else str(value), None
    if value is None or (isinstance(value, str) and not value.strip()):
        return None, ("blank", "", LOST)
    shown, text = shortened(value), str(value).strip()
    if column.kind == "choice":
        choice = next((c for c in column.choices if c.casefold() == text.casefold()), None)
        if choice is None:
            return None, ("not_a_choice", shown, LOST)
        return choice, None if value == choice else ("spelling", shown, REPAIRED)
    number = isinstance(value, int | float | str) and not isinstance(value, bool) and _NUMBER.fullmatch(text)
    if not number:
        return None, ("not_a_number", shown, LOST)
    if not _WHOLE.fullmatch(text):
        return None, ("not_whole", shown, LOST)
    if float(text) not in column.choices:  # infinite too, of hundreds of digits
        return None, ("out_of_range", shown, LOST)
    rating = int(float(text))
    repaired = isinstance(value, str) and value != str(rating)
    return rating, ("spelling", shown, REPAIRED) if repaired else None


def shortened(value, most=60):
    """Show a cell's content in a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _without_duplicates(frame, sheet, layout, report):
    """Of rows with one id keep the first if they agree, else none."""
    answers = [column.name for column in layout.answers]
    dropped = frame.loc[frame[layout.key] == "", "row"].tolist()
    for number in dropped:
        report(sheet, number, layout.key, "no_id", "", LOST)
    named = frame[frame[layout.key] != ""]
    for identity, rows in named[named.duplicated(layout.key, keep=False)].groupby(layout.key, sort=False):
        same = len(rows[answers].drop_duplicates()) == 1
        numbers = rows["row"].tolist()
        text = f"{identity} in rows {', '.join(map(str, numbers))}"
        for number in numbers[1:]:
            report(sheet, number, layout.key, "duplicate", text, NOTE if same else LOST)
        dropped += numbers[1:] if same else numbers
    return frame[~frame["row"].isin(dropped)].reset_index(drop=True)


# --- the key ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Votes:
    """Judgements of a panel with the systems behind them."""

    frame: pd.DataFrame
    systems: tuple
    focus: str
    raters: tuple
    defects: tuple
    absent: tuple = ()
    margin: tuple | None = None  # win rates that count as no difference, if they were registered


def open_forms(forms, key=None, side_column=None, last_column=False, force=False):
    """Unblind forms of preferences with the sealed key, or with the key that they carry in a column.

    ``key`` is a file or the folder of the study, by default the key that lies with the forms. ``side_column`` says on
    which side, S1 or S2, the system under study stands; ``last_column`` takes the last one for it if there is none of
    that name, and ``force`` unblinds although forms are missing.
    """
    for form in forms:
        if form.layout.name != "paired":
            raise InputError(f"{form.path}: is a Likert form; give forms that ask for a preference")
    if not (side_column or last_column):
        key = key or key_beside(forms)
    if key is not None:
        votes = unblind(forms, read_key(key), force=force)
    elif any(form.about for form in forms) and not side_column:
        raise InputError(f"{forms[0].path}: these forms are blind: give the sealed key, or the folder of the study")
    else:
        votes = read_votes(forms, side_column, last_column=last_column)
    if votes.frame["choice"].isna().all():
        raise InputError(f"{forms[0].path}: no form holds a judgement; are they filled?")
    return votes


def key_beside(forms):
    """Find the key of a study in the folder of its forms, or above it; forms that carry their key need none."""
    if any(SIDE_COLUMN in form.rows for form in forms):
        return None
    folders = dict.fromkeys(place for form in forms for place in (form.path.parent, form.path.resolve().parents[1]))
    files = [file for folder in folders for file in (folder / KEY, folder / SEALED / KEY)]
    return next((file for file in files if file.is_file()), None)


def read_key(path):
    """Read the key of a study, a file or in its folder, and hold it against the pre-registration beside it."""
    path = Path(path)
    file = path / SEALED / KEY if path.is_dir() else path
    key = read_json(file)
    required = ("schema", "study", "layout", "secret", "systems", "forms")
    missing = [name for name in required if not isinstance(key, dict) or name not in key]
    if missing or key["schema"] != KEY_SCHEMA:
        lacks = f" (it lacks {', '.join(missing)})" if missing else ""
        raise InputError(f"{file}: is no key of a rater study{lacks}; give key.json")
    registration = file.parent.parent / PREREGISTRATION
    if not registration.is_file():
        return key
    registered = read_json(registration)
    if not isinstance(registered, dict) or "key_sha256" not in registered:
        raise InputError(f"{registration}: is no pre-registration: key_sha256 is missing")
    if registered["key_sha256"] != sha256_file(file):
        raise InputError(
            f"{file}: is not the key that was registered: its SHA-256 differs from that in {PREREGISTRATION}"
        )
    return key | {"no_difference": registered.get("primary", {}).get("no_difference")}


def unblind(forms, key, *, force=False):
    """Join forms of preferences with the key."""
    rows, defects, absent = _opened(forms, key, "paired", force)
    strata = {row["item_id"]: row["stratum"] for row in key["draw"]}
    rows["stratum"] = rows["item_id"].map(lambda item: strata.get(item, "all"))
    raters = tuple(rater for rater in key["forms"] if rater not in absent)
    margin = key.get("no_difference")
    return Votes(
        judgements(rows),
        tuple(key["systems"]),
        key["focus"],
        raters,
        defects,
        absent,
        tuple(margin) if margin else None,
    )


def unblind_likert(forms, key, *, force=False):
    """Join Likert forms with the key: the frame of ratings, and the defects."""
    rows, defects, _ = _opened(forms, key, "likert", force)
    answers = [column.name for column in LIKERT.answers]
    return rows[["rater", "item_id", "chunk", "system", *answers, "notes"]], defects


def _opened(forms, key, layout, force):
    """Rows of all forms with what is sealed of them, the defects, and raters whose form is not in."""
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    rater_of = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    owners = {}
    for form in forms:  # whatever the name of its file
        found = form.rows[form.layout.key].map(rater_of).value_counts()
        if not len(found):
            raise InputError(f"{form.path}: none of its ids is in the key: another study, or edited ids")
        rater = found.index[0]
        if rater in owners:
            raise InputError(f"{form.path}: form of {rater} is in already: {owners[rater].path}")
        owners[rater] = form
    absent = tuple(rater for rater in key["forms"] if rater not in owners)
    if absent and not force:
        raise InputError(
            f"{len(absent)} of {len(key['forms'])} forms are not in "
            f"({', '.join(absent)}): unblind when they are, or force it"
        )
    if not owners:
        raise InputError("no form of this study is in")
    defects = [defect for form in forms for defect in form.defects]
    known = {rater: key["forms"][rater]["rows"] for rater in key["forms"] if rater in owners}
    rows = [_joined(owners[rater], rater, sealed, defects) for rater, sealed in known.items()]
    return pd.concat(rows, ignore_index=True), tuple(defects), absent


def _joined(form, rater, sealed, defects):
    """Pair the rows of a form with the key's; name what does not fit."""

    def report(row, column, kind, found, effect):
        defects.append(Defect(str(form.path), form.sheet, row, column, kind, found, effect))

    name = form.layout.key
    known = pd.DataFrame(sealed).rename(columns={"id": name, "item": "item_id"}).assign(rater=rater)
    shown = form.rows[["row", *form.layout.names]]
    for row, identity in shown.loc[~shown[name].isin(known[name]), ["row", name]].itertuples(index=False):
        report(row, name, "unknown_id", identity, LOST)
    gone = known.loc[~known[name].isin(shown[name]), name]
    for place, identity in gone.items():
        report(None, name, "missing_row", f"{identity}, row {place + 2}", LOST)
    rows = shown.merge(known, on=name)
    if rows[name].tolist() != known.loc[~known[name].isin(gone), name].tolist():
        report(None, name, "reordered", "rows are joined by their ids", NOTE)
    for row in rows.to_dict("records"):
        for column, digest in row["texts"].items():
            if text_hash(row[column].replace("\r\n", "\n").replace("\r", "\n")) != digest:
                report(row["row"], column, "edited_text", "not as sent out", NOTE)
    return rows.assign(place=np.arange(1, len(rows) + 1))


SIDES = (("left", "s1"), ("right", "s2"))
SHOWN_AS = {"prompt_text": "prompt", "system1_output": "text_left", "system2_output": "text_right"}
SHOWN_AS |= {f"{scale}_{s}": f"{scale}_{side}" for side, s in SIDES for scale in SCALES}
_JUDGED = ["rater", "item_id", "place", "row", "left", "right", "preferred", "choice"]
_JUDGED += [*list(SHOWN_AS.values())[3:], "comment", "guess", *list(SHOWN_AS.values())[:3], "stratum"]


def judgements(rows):
    """Say what rows of forms mean, to which rater, item_id, place, left, right and stratum were added."""
    left, votes = rows["left"].astype(object), rows["preferred"]
    said = [votes == "S1", votes == "S2", (votes == "Tie") & left.notna()]
    choice = np.select(said, [left, rows["right"].astype(object), "Tie"], None)
    return rows.rename(columns=SHOWN_AS).assign(choice=choice).reindex(columns=_JUDGED)


# --- the documented layout, which carries its key in a column --------------------------


def read_votes(forms, side_column=None, *, last_column=False):
    """Give the judgements of forms that carry their key."""
    defects, rows = [], []
    for form in forms:
        defects += form.defects
        column = key_column(form, side_column, last_column=last_column)
        if form.rows.empty:
            raise InputError(f"{form.path}: sheet {form.sheet!r} has no rows")
        rows.append(_carried(form, column, defects))
    frame = judgements(pd.concat(rows, ignore_index=True))
    return Votes(frame, (RAG, BASE), RAG, tuple(form.rater for form in forms), tuple(defects))


def key_column(form, side_column=None, *, last_column=False):
    """Find the column that says which side is the system under study; none is guessed."""
    wanted = side_column or SIDE_COLUMN
    columns = [name for name in form.rows if name != "row"]
    if wanted in columns:
        return wanted
    if last_column and columns:
        return columns[-1]
    raise InputError(
        f"{form.path}: sheet {form.sheet!r} has no key column {wanted!r} (which side, "
        f"S1 or S2, is the system under study); it has {', '.join(columns)}: name it "
        "with --side-col, give the sealed key with --key, or allow the last column "
        "with --last-column"
    )


def _carried(form, column, defects):
    def report(row, name, kind, found):
        defects.append(Defect(str(form.path), form.sheet, row, name, kind, found, LOST))

    name, rows = _item_column(form), form.rows
    items = rows[name].map(lambda text: " ".join(text.split()))
    again, sides = items.duplicated(), []
    for number, item, twice, key in zip(rows["row"], items, again, rows[column], strict=True):
        if twice:
            report(number, name, "duplicate", shortened(item))
            sides.append(None)
            continue
        key = value_of(form.path, form.sheet, number, column, key)
        sides.append(key.strip() if isinstance(key, str) else None)
        if sides[-1] not in ("S1", "S2"):
            report(number, column, "no_key", shortened(key))
    systems = {"S1": (RAG, BASE), "S2": (BASE, RAG)}
    left, right = zip(*(systems.get(side, (None, None)) for side in sides), strict=True)
    known = {"rater": form.rater, "item_id": items, "place": np.arange(1, len(rows) + 1), "stratum": "all"}
    return rows.assign(**known, left=left, right=right)[~again]


def _item_column(form):
    """Give the column that names an item for all raters: its prompt, else its id."""
    if form.rows["prompt_text"].str.strip().any():
        return "prompt_text"
    gone = {defect.column for defect in form.defects if defect.kind == "missing_column"}
    if "prompt_id" in gone:
        names = ", ".join(name for name in form.rows if name not in {"row", *gone})
        raise InputError(
            f"{form.path}: sheet {form.sheet!r} has no column 'prompt_text' or "
            f"'prompt_id', which name the items; it has {names}: name one with --map "
            "prompt_text=COLUMN"
        )
    return "prompt_id"
