"""Returned forms: every cell read, every defect named; then joined with the key."""

import hmac
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.raters.design import seal, text_hash
from casebook.raters.forms import (
    ABOUT_SHEET,
    FORM_SIDES,
    GUESS,
    KEY,
    KEY_DIGEST,
    KEY_SCHEMA,
    LIKERT,
    PAIRED,
    PAIRED_SCALES,
    PAIRED_WITH_GUESS,
    PLAN_SCHEMA,
    PREREGISTRATION,
    RUBRIC_SHEET,
    SEALED,
    SHEET,
)
from casebook.readers import read_json
from casebook.sheets import KINDS, Formula, read_book, value_of

# Effects of a defect on the judgement.
NOTE = "note"
REPAIRED = "repaired"
LOST = "lost"
OWN_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}
SIDE_COLUMN = "_rag_side_for_analysis"
# Systems of the documented layout.
RAG = "RAG"
BASE = "BASE"
_UNSEALED = "casebook-rater-key-1"  # schema of keys whose pre-registration has no seal


class Defect(NamedTuple):
    """One thing that is not as it should be in a returned form."""

    file: str
    sheet: str
    row: int | None
    column: str | None
    kind: str
    found: str = ""
    effect: str = NOTE


def _report(defects, path, sheet, *about, **more):
    defects.append(Defect(str(path), sheet, *about, **more))


def defect_table(defects):
    """Give defects as a table."""
    return pd.DataFrame(defects, columns=list(Defect._fields))


@dataclass(frozen=True, eq=False)
class ReturnedForm:
    """One rater's form as it came back: a row per judgement, NaN for no rating; and defects."""

    path: Path
    rater: str
    layout: object
    sheet: str
    rows: pd.DataFrame
    ours: bool  # made by `casebook raters forms`: a workbook that says so
    key_sha256: str | None  # of the key with which it was made, as a workbook says
    defects: tuple


def read_forms(paths, columns=None):
    """Read returned forms (.xlsx, .xlsm, .csv, folders), ours or in the documented layout.

    ``columns`` maps documented columns to their names in the files. A form's rater is its file's
    base name, with its folder where several have one name.
    """
    files = expand(paths)
    # Unlike Path.resolve, realpath leaves a link to itself to whoever opens it.
    twice = [path for path, count in Counter(map(os.path.realpath, files)).items() if count > 1]
    if twice:
        raise InputError(f"{twice[0]}: is given twice")
    names = Counter(path.stem for path in files)
    forms = []
    for form in (read_form(path, columns) for path in files):
        if names[form.path.stem] > 1:
            rater = f"{form.path.resolve().parent.name}/{form.path.stem}"
            defect = Defect(str(form.path), "", None, None, "same_name", f"called {rater} here")
            form = replace(form, rater=rater, defects=(*form.defects, defect))
        forms.append(form)
    return forms


def expand(paths):
    """List the forms among files and folders, or of a single one."""
    files = []
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    for path in map(Path, paths):
        inside = sorted(path.iterdir()) if path.is_dir() else ()
        # Spreadsheets leave a lock file beside an open workbook.
        forms = [
            p for p in inside if p.suffix.lower() in KINDS and not p.name.startswith(("~$", "."))
        ]
        files += forms if path.is_dir() else [path]
    if not files:
        places = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{places}: no forms ({', '.join(KINDS)}) to read")
    return files


def read_form(path, columns=None):
    """Read one returned form."""
    book = read_book(path)
    defects = []
    sheets = renamed(book.path, book.sheets, columns or {})
    for kind, text in book.remarks:
        _report(defects, book.path, "", None, None, kind, text)
    sheet, layout = _ratings(book.path, sheets, defects)
    rows = _rows(book.path, sheet, layout, partial(_report, defects, book.path, sheet.name))
    about = next((own for own in sheets if own.name == ABOUT_SHEET and own.head), None)
    made_with = _key_digest(about) if about else None
    defects.sort(key=lambda defect: defect.row or 0)
    return ReturnedForm(
        book.path,
        book.path.stem,
        layout,
        sheet.name,
        rows,
        about is not None,
        made_with,
        tuple(defects),
    )


def _key_digest(about):
    """Find the SHA-256 of the key on the sheet that says what a form is."""
    for name, *cells in about.table.to_numpy():
        if name == KEY_DIGEST and cells:
            return str(cells[0])
    return None


def renamed(path, sheets, columns):
    """Give sheets their documented column names: `columns` maps those to the file's."""
    wanted = {given: documented for documented, given in columns.items()}
    for given, documented in wanted.items():
        if not any(given in sheet.table for sheet in sheets):
            raise InputError(
                f"{path}: no column {given!r}, which is to be read as {documented!r}; "
                f"{_columns(sheets)}"
            )

    def named(name, table):
        # What stood under a documented name that is read elsewhere is another column.
        return wanted.get(name, f"{name} (own)" if columns.get(name) in table else name)

    return [
        replace(sheet, table=sheet.table.rename(columns=partial(named, table=sheet.table)))
        for sheet in sheets
    ]


def _columns(sheets):
    """Say which columns there are."""
    listed = [
        f"sheet {sheet.name!r} has {', '.join(name for name in sheet.table if name) or 'none'}"
        for sheet in sheets
        if sheet.name not in OWN_SHEETS
    ]
    return "; ".join(listed) or "there is no other sheet"


def _ratings(path, sheets, defects):
    """Find the sheet with the ratings, and its layout; name what else there is."""
    likert = {column.name for column in LIKERT.answers}
    usable = [sheet for sheet in sheets if "preferred" in sheet.table or likert & {*sheet.table}]
    if not usable:
        remedy = f"{_columns(sheets)}: name it with --map preferred=COLUMN"
        raise InputError(f"{path}: no column 'preferred' (the vote: S1, S2 or Tie); {remedy}")
    chosen = min(usable, key=lambda sheet: sheet.name != SHEET)
    if chosen.name != SHEET and path.suffix.lower() != ".csv":
        _report(defects, path, SHEET, None, None, "missing_sheet", f"{chosen.name} read instead")
    for other in sheets:
        if other is not chosen and other.name not in OWN_SHEETS:
            rows = f"{'hidden, ' * other.hidden}{len(other.table) + bool(other.head)} rows"
            _report(defects, path, other.name, None, None, "extra_sheet", rows)
    if chosen.hidden:
        _report(defects, path, chosen.name, None, None, "hidden_sheet", "the ratings are hidden")
    if "preferred" not in chosen.table:
        return chosen, LIKERT
    return chosen, PAIRED_WITH_GUESS if GUESS.name in chosen.table else PAIRED


# --- cells ------------------------------------------------------------------


def _rows(path, sheet, layout, report):
    """Read the rows below the header, column by column, and name what is not as it was sent out."""
    names = sheet.table.columns
    numbers = sheet.table.index
    table = sheet.table.loc[:, ~names.duplicated() & (names != "")]
    extra = table.columns.difference(layout.names, sort=False).tolist()
    required = [column.name for column in layout.columns if column.required]
    for kind, effect, found in (
        ("repeated_column", NOTE, names[names.duplicated() & (names != "")]),
        ("missing_column", LOST, [name for name in required if name not in table]),
        ("extra_column", NOTE, extra),
    ):
        for name in found:
            report(sheet.head, name, kind, effect=effect)
    for number, cells in zip(numbers, sheet.table.to_numpy(), strict=True):
        for place, cell in enumerate(cells, start=1):
            if isinstance(cell, Formula):
                report(
                    number, names[place - 1] or f"number {place}", "formula", cell_text(cell.text)
                )
    rows = {"row": numbers.tolist()}
    for column in layout.columns:
        is_present = column.name in table
        cells = table[column.name] if is_present else dict.fromkeys(numbers)
        rows[column.name] = []
        for number, cell in cells.items():
            if isinstance(cell, Formula) and column.kind == "note":
                cell = cell.text if cell.value is None else cell.value
            value, *problem = _read_cell(
                column, value_of(path, sheet.name, number, column.name, cell)
            )
            rows[column.name].append(value)
            if problem and is_present:
                report(number, column.name, *problem)
    rows |= {name: table[name].tolist() for name in extra if name != "row"}
    if layout.key not in table:
        rows[layout.key] = [str(number) for number in numbers]
    ratings = {column.name: float for column in layout.columns if column.kind == "rating"}
    return _without_duplicates(pd.DataFrame(rows).astype(ratings), layout, report)


def _read_cell(column, cell):
    """Give what a cell says, and kind, content and effect of a problem, if there is one."""
    if not column.choices:
        return ("" if cell is None else str(cell),)
    text = "" if cell is None else str(cell).strip()
    if not text:
        return (None, "blank", "", LOST) if column.required else (None,)
    plain = re.sub(r"^\+?(\d+)(\.0+)?$", r"\1", text).casefold()
    choice = next((choice for choice in column.choices if str(choice).casefold() == plain), None)
    if choice is None:
        return None, "not_a_choice", cell_text(cell), LOST
    repaired = isinstance(cell, str) and cell != str(choice)
    return (choice, "spelling", cell_text(cell), REPAIRED) if repaired else (choice,)


def cell_text(value, most=60):
    """Show a cell's content in a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _without_duplicates(rows, layout, report):
    """Of rows with one id keep the first if they agree, else none."""
    key = layout.key
    nameless = rows[layout.key] == ""
    judged = rows.drop_duplicates([key, *(column.name for column in layout.answers)])[
        key
    ].value_counts()
    again = rows.duplicated(key) & ~nameless
    apart = (rows[key].map(judged) > 1) & ~nameless
    for number in rows.loc[nameless, "row"]:
        report(number, key, "no_id", effect=LOST)
    for number, identity, differs in zip(
        *(column[again] for column in (rows["row"], rows[key], apart)), strict=True
    ):
        report(number, key, "duplicate", identity, LOST if differs else NOTE)
    return rows[~(nameless | again | apart)].reset_index(drop=True)


# --- the key ------------------------------------------------------------------


class _Sealed(BaseModel, strict=True):
    """What is sealed of one row of a form."""

    id: str
    item: str | int | float
    texts: dict[str, str]


class _Pair(_Sealed):
    texts: dict[Literal[*PAIRED.texts], str]
    left: str
    right: str


class _Explanation(_Sealed):
    texts: dict[Literal[*LIKERT.texts], str]
    chunk: str
    system: str


_Row = TypeVar("_Row")


class _Form(BaseModel, Generic[_Row], strict=True):
    rows: Annotated[list[_Row], Field(min_length=1)]


class _Key(BaseModel, Generic[_Row], strict=True):
    """What every key holds."""

    study: str
    secret: Annotated[str, Field(min_length=32)]
    systems: list[str]
    forms: Annotated[dict[str, _Form[_Row]], Field(min_length=1)]


class _Drawn(BaseModel, strict=True):
    item_id: str | int | float
    stratum: str | int | float | None


class _PairedKey(_Key[_Pair]):
    layout: Literal["paired"]
    focus: str
    draw: list[_Drawn]


class _LikertKey(_Key[_Explanation]):
    layout: Literal["likert"]


_KEY = TypeAdapter(Annotated[_PairedKey | _LikertKey, Field(discriminator="layout")])


@dataclass(frozen=True, eq=False)
class Votes:
    """Judgements of a panel with the systems behind them."""

    frame: pd.DataFrame
    systems: tuple
    focus: str
    raters: tuple
    defects: tuple
    absent: tuple = ()
    registered: bool = (
        False  # whether a pre-registration, which nobody has altered, came with the key
    )
    margin: tuple | None = None  # win rates that count as no difference, if they were registered
    alpha: float | None = None  # level of the primary test, if it was registered


def open_forms(forms, key=None, side_column=None, last_column=False, force=False):
    """Unblind forms of preferences with the sealed key, or with their own key column.

    ``key`` is a file or the folder of the study, by default the key that lies with the forms.
    ``side_column`` says on which side, S1 or S2, the system under study stands; ``last_column``
    takes the last one for it if there is none of that name, and ``force`` unblinds although forms
    are missing.
    """
    for form in forms:
        if form.layout.name != "paired":
            raise InputError(f"{form.path}: is a Likert form; give forms that ask for a preference")
    if key and (side_column or last_column):
        name = "side_column" if side_column else "last_column"
        raise InputError(f"{name} has no effect with a sealed key: leave one of them out")
    if not (side_column or last_column):
        key = key or key_beside(forms)
    if force and key is None:
        raise InputError("force has no effect on forms without a sealed key: leave it out")
    if key is not None:
        votes = unblind(forms, read_key(key), force=force)
    elif any(form.ours for form in forms) and not side_column:
        raise InputError(
            f"{forms[0].path}: these forms are blind: "
            "give the sealed key, or the folder of the study"
        )
    else:
        votes = read_votes(forms, side_column, last_column=last_column)
    if votes.frame["choice"].isna().all():
        raise InputError(f"{forms[0].path}: no form holds a judgement; are they filled?")
    return votes


def key_beside(forms):
    """Find the key of a study in the folder of its forms, or above it, unless they carry it."""
    if any(SIDE_COLUMN in form.rows for form in forms):
        return None
    folders = dict.fromkeys(
        place for form in forms for place in (form.path.parent, form.path.resolve().parents[1])
    )
    files = [file for folder in folders for file in (folder / KEY, folder / SEALED / KEY)]
    return next((file for file in files if file.is_file()), None)


def read_key(path):
    """Read the key of a study, a file or in its folder, together with what was registered.

    The pre-registration lies beside the key, or in the folder above. It holds the SHA-256 of the
    key, and a seal that only the secret in the key can make.
    """
    path = Path(path)
    file = path / SEALED / KEY if path.is_dir() else path
    key = read_json(file)
    if not isinstance(key, dict) or key.get("schema") not in (KEY_SCHEMA, _UNSEALED):
        raise InputError(f"{file}: is no key of a rater study; give key.json")
    if key["schema"] == _UNSEALED:
        why = "an earlier version made it, and its pre-registration could be altered unnoticed"
        raise InputError(f"{file}: {why}: analyse the forms with that version")
    try:
        _KEY.validate_python(key)
    except ValidationError as error:
        raise InputError(
            f"{file}: is no key of a rater study, or is damaged: {first_problem(error)}"
        ) from None
    registered = _registration(file, key["secret"])
    primary = registered["primary"]
    return key | {
        "key_sha256": registered["key_sha256"],
        "no_difference": primary.get("no_difference"),
        "alpha": primary.get("alpha"),
    }


def _registration(key_file, secret):
    """Read the pre-registration of a key, and refuse either if it was altered."""
    places = [folder / PREREGISTRATION for folder in (key_file.parent, key_file.parent.parent)]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        remedy = "put it beside the key, or give the folder of the study"
        raise InputError(f"{key_file}: is used only with its {PREREGISTRATION}: {remedy}")
    registered = read_json(file)
    if not isinstance(registered, dict) or registered.get("schema") != PLAN_SCHEMA:
        raise InputError(f"{file}: is no pre-registration of a rater study")
    if registered.get("key_sha256") != sha256_file(key_file):
        raise InputError(
            f"{key_file}: is not the key that was registered: its SHA-256 is not that in {file}"
        )
    sealed = str(registered.pop("seal", None)).encode()
    if not hmac.compare_digest(sealed, seal(secret, registered).encode()):
        raise InputError(
            f"{file}: was altered since the forms were made: it does not fit the seal in it"
        )
    return registered


def unblind(forms, key, *, force=False):
    """Join forms of preferences with the key."""
    rows, defects, absent = _opened(forms, key, "paired", force)
    strata = {row["item_id"]: row["stratum"] for row in key["draw"]}
    rows["stratum"] = rows["item_id"].map(strata).fillna("all")
    return Votes(
        decode_judgements(rows),
        tuple(key["systems"]),
        key["focus"],
        raters=tuple(rater for rater in key["forms"] if rater not in absent),
        defects=defects,
        absent=absent,
        registered=True,
        margin=tuple(key["no_difference"]),
        alpha=key["alpha"],
    )


def unblind_likert(forms, key, *, force=False):
    """Join Likert forms with the key: the frame of ratings, and the defects."""
    rows, defects, _ = _opened(forms, key, "likert", force)
    answers = [column.name for column in LIKERT.answers]
    return rows[["rater", "item_id", "chunk", "system", *answers, "notes"]], defects


def _opened(forms, key, layout, force):
    """Rows of all forms with what is sealed of them, defects, and raters without a form."""
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    for form in forms:
        if form.key_sha256 not in (None, key["key_sha256"]):
            raise InputError(
                f"{form.path}: was made with another key: "
                f"its sheet {ABOUT_SHEET!r} has another SHA-256"
            )
    rater_of = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    owners = {}
    for form in forms:  # whatever the name of its file
        raters = form.rows[form.layout.key].map(rater_of).value_counts()
        if not len(raters):
            raise InputError(
                f"{form.path}: none of its ids is in the key: another study, or edited ids"
            )
        rater = raters.index[0]
        if rater in owners:
            raise InputError(f"{form.path}: form of {rater} is in already: {owners[rater].path}")
        owners[rater] = form
    absent = tuple(rater for rater in key["forms"] if rater not in owners)
    if absent and not force:
        missing = f"{len(absent)} of {len(key['forms'])} forms are not in ({', '.join(absent)})"
        raise InputError(f"{missing}: unblind when they are, or force it")
    defects = [defect for form in forms for defect in form.defects]
    present = {rater: form["rows"] for rater, form in key["forms"].items() if rater in owners}
    rows = [_joined(owners[rater], rater, sealed, defects) for rater, sealed in present.items()]
    return pd.concat(rows, ignore_index=True), tuple(defects), absent


def _joined(form, rater, sealed, defects):
    """Pair the rows of a form with the key's; name what does not fit."""
    name = form.layout.key
    report = partial(_report, defects, form.path, form.sheet)
    key_rows = pd.DataFrame(sealed).rename(columns={"id": name, "item": "item_id"})
    key_rows["rater"] = rater
    form_rows = form.rows[["row", *form.layout.names]]
    unknown = form_rows[~form_rows[name].isin(key_rows[name])]
    for row, identity in unknown[["row", name]].itertuples(index=False):
        report(row, name, "unknown_id", identity, LOST)
    is_missing = ~key_rows[name].isin(form_rows[name])
    for position, identity in key_rows.loc[is_missing, name].items():
        report(None, name, "missing_row", f"{identity}, row {position + 2}", LOST)
    rows = form_rows.merge(key_rows, on=name)
    if rows[name].tolist() != key_rows.loc[~is_missing, name].tolist():
        report(None, name, "reordered", "rows are joined by their ids")
    for row in rows.to_dict("records"):
        for column, digest in row["texts"].items():
            if text_hash(row[column].replace("\r\n", "\n").replace("\r", "\n")) != digest:
                report(row["row"], column, "edited_text", "not as sent out")
    return rows.assign(place=np.arange(1, len(rows) + 1))


TEXT_COLUMN_OF_FORM = {
    "prompt_text": "prompt",
    "system1_output": "text_left",
    "system2_output": "text_right",
}
RATING_COLUMN_OF_FORM = {
    f"{scale}_{form_side}": f"{scale}_{side}"
    for form_side, side in FORM_SIDES.items()
    for scale in PAIRED_SCALES
}
JUDGEMENT_COLUMNS = [
    "rater",
    "item_id",
    "place",
    "row",
    "left",
    "right",
    "preferred",
    "choice",
    *RATING_COLUMN_OF_FORM.values(),
    "comment",
    "guess",
    *TEXT_COLUMN_OF_FORM.values(),
    "stratum",
]


def decode_judgements(rows):
    """Name the chosen system and the two sides in rows of forms that were joined with a key."""
    left = rows["left"].astype(object)
    right = rows["right"].astype(object)
    preferred = rows["preferred"]
    choices = [preferred == "S1", preferred == "S2", (preferred == "Tie") & left.notna()]
    choice = np.select(choices, [left, right, "Tie"], None)
    rows = rows.rename(columns=TEXT_COLUMN_OF_FORM | RATING_COLUMN_OF_FORM).assign(choice=choice)
    return rows.reindex(columns=JUDGEMENT_COLUMNS)


# --- the documented layout, which carries its key in a column --------------------------


def read_votes(forms, side_column=None, *, last_column=False):
    """Give the judgements of forms that carry their key."""
    defects = []
    rows = []
    for form in forms:
        defects += form.defects
        if form.rows.empty:
            raise InputError(f"{form.path}: sheet {form.sheet!r} has no rows")
        column = key_column(form.path, list(form.rows)[1:], side_column, last_column)
        rows.append(_carried(form, column, partial(_report, defects, form.path, form.sheet)))
    frame = decode_judgements(pd.concat(rows, ignore_index=True))
    return Votes(frame, (RAG, BASE), RAG, tuple(form.rater for form in forms), tuple(defects))


def key_column(path, columns, wanted=None, last_column=False):
    """Find the column that says which side is the system under study; none is guessed."""
    wanted = wanted or SIDE_COLUMN
    if wanted in columns or (last_column and columns):
        return wanted if wanted in columns else columns[-1]
    remedy = (
        "name it with --side-col, give the sealed key with --key, "
        "or allow the last column with --last-column"
    )
    what = f"no key column {wanted!r} (which side, S1 or S2, is the system under study)"
    raise InputError(f"{path}: has {what}; it has {', '.join(columns)}: {remedy}")


def _carried(form, column, report):
    """Rows of a form with the systems that its key column names."""
    name = _item_column(form)
    rows = form.rows
    items = rows[name].map(lambda text: " ".join(text.split()))
    places = np.arange(1, len(rows) + 1)
    cells = zip(rows["row"], rows[column], strict=True)
    sides = pd.Series(
        [value_of(form.path, form.sheet, number, column, cell) for number, cell in cells],
        dtype=object,
    )
    stripped = sides.astype(str).str.strip()
    again = items.duplicated()
    for number, item in zip(rows["row"][again], items[again], strict=True):
        report(number, name, "duplicate", cell_text(item), LOST)
    unknown = ~stripped.isin(["S1", "S2"]) & ~again
    for number, side in zip(rows["row"][unknown], sides[unknown], strict=True):
        report(number, column, "no_key", cell_text(side), LOST)
    judged = rows.assign(
        rater=form.rater,
        item_id=items,
        place=places,
        stratum="all",
        left=stripped.map({"S1": RAG, "S2": BASE}),
        right=stripped.map({"S1": BASE, "S2": RAG}),
    )
    return judged[~again]


def _item_column(form):
    """Give the column that names an item for all raters: its prompt, else its id."""
    if form.rows["prompt_text"].str.strip().any():
        return "prompt_text"
    gone = {defect.column for defect in form.defects if defect.kind == "missing_column"}
    if "prompt_id" not in gone:
        return "prompt_id"
    names = ", ".join(name for name in form.rows if name not in {"row", *gone})
    lacks = (
        f"sheet {form.sheet!r} has no column 'prompt_text' or 'prompt_id', "
        f"which name the items; it has {names}"
    )
    raise InputError(f"{form.path}: {lacks}: name one with --map prompt_text=COLUMN")
