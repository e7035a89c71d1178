"""Returned forms: every cell read, every defect named; then joined with the key."""

import hmac
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.raters.annotations import OBJECTS, ROLES, potato_files
from casebook.raters.design import seal, text_hash
from casebook.raters.exports import holds_several_raters, tables_by_rater
from casebook.raters.forms import (
    ABOUT_SHEET,
    EVIDENCE,
    FORM_SIDES,
    GUESS,
    KEY,
    KEY_DIGEST,
    KEY_SCHEMA,
    LIKERT,
    PAIRED,
    PAIRED_SCALES,
    PLAN_SCHEMA,
    PREREGISTRATION,
    RUBRIC_SHEET,
    SEALED,
    SHEET,
    FormLayout,
    paired_layout,
)
from casebook.readers import read_json, suffix_of
from casebook.sheets import BOOKS, KINDS, Book, Sheet, read_book, require_values

# Effects of a defect on the judgement.
NOTE = "note"
REPAIRED = "repaired"
LOST = "lost"
FURTHER_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}
SIDE_COLUMN = "_rag_side_for_analysis"
# Systems of the documented layout.
RAG = "RAG"
BASE = "BASE"
LONGEST_CONTENT = 60  # characters of a cell that a message quotes
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


class SheetDefects(list):
    """Defects of one sheet of a form, in the order in which they are met."""

    def __init__(self, path, sheet):
        super().__init__()
        self.path = str(path)
        self.sheet = sheet

    def add(self, row, column, kind, content="", effect=NOTE):
        """Add a defect; row and column are None where it is one of the whole sheet."""
        self.append(Defect(self.path, self.sheet, row, column, kind, content, effect))


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

    Files that hold the judgements of several raters are read as a form of each: exports of potato,
    argilla and Label Studio, a row per rating, tables with a column that names raters.
    ``columns`` maps documented columns to their names in the files. A form's rater is its file's
    base name, or as the file names it, with its folder where several have one name.
    """
    columns = columns or {}
    files = form_files(paths)
    # Unlike Path.resolve, realpath leaves a link to itself to whoever opens it.
    for path, count in Counter(map(os.path.realpath, files)).items():
        if count > 1:
            raise InputError(f"{path}: is given twice")
    forms = []
    for path in files:
        if suffix_of(path) in (*OBJECTS, ".tsv") or holds_several_raters(path, columns):
            forms += _forms_of_raters(path, columns)
        else:
            forms.append(form_of(read_book(path), path.stem, columns))
    n_forms_of_name = Counter(form.rater for form in forms)
    return [_with_folder(form) if n_forms_of_name[form.rater] > 1 else form for form in forms]


def _with_folder(form):
    """Name a form's rater with the folder of its file."""
    rater = f"{form.path.resolve().parent.name}/{form.rater}"
    defect = Defect(str(form.path), "", None, None, "same_name", f"called {rater} here")
    return replace(form, rater=rater, defects=(*form.defects, defect))


def _forms_of_raters(path, columns):
    """Read a file that holds the judgements of several raters as a form of each."""
    form_columns = {name: column for name, column in columns.items() if name not in ROLES}
    forms = []
    for rater, table, left_out in tables_by_rater(path, columns):
        book = Book(path, (Sheet(path.name, 1, table),))
        form = form_of(book, rater, form_columns)
        defects = SheetDefects(path, path.name)
        for judgement in left_out:
            column = judgement.criterion or None
            defects.add(judgement.row, column, judgement.reason, judgement.item, LOST)
        forms.append(replace(form, defects=(*form.defects, *defects)))
    return forms


def form_files(paths):
    """List the forms among files and folders, or of a single one."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    files = []
    for path in map(Path, paths):
        if path.is_dir():
            forms = [file for file in sorted(path.iterdir()) if _is_form(file)]
            files += forms or potato_files(path)
        else:
            files.append(path)
    if not files:
        where = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{where}: no forms ({', '.join(KINDS)}) to read")
    return files


def _is_form(file):
    # Spreadsheets leave a lock file beside an open workbook.
    return file.suffix.lower() in KINDS and not file.name.startswith(("~$", "."))


def read_form(path, columns=None):
    """Read one returned form."""
    return form_of(read_book(path), Path(path).stem, columns or {})


def form_of(book, rater, columns):
    """Read the form that a workbook or a table is."""
    sheets = rename_columns(book.path, book.sheets, columns) if columns else book.sheets
    sheet = _rating_sheet(book.path, sheets)
    layout = _layout_of(sheet)
    defects = [Defect(str(book.path), "", None, None, kind, text) for kind, text in book.remarks]
    defects += _sheet_defects(book.path, sheets, sheet)
    rows, defects_of_rows = _read_rows(book.path, sheet, layout)
    defects += defects_of_rows
    about = next((table for table in sheets if table.name == ABOUT_SHEET and table.head), None)
    return ReturnedForm(
        path=book.path,
        rater=rater,
        layout=layout,
        sheet=sheet.name,
        rows=rows,
        has_about_sheet=about is not None,
        key_sha256=_key_digest(about) if about else None,
        defects=tuple(sorted(defects, key=_row_number)),
    )


def _row_number(defect):
    return defect.row or 0


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
    rating_columns = {"preferred", *(column.name for column in LIKERT.answers)}
    candidates = [sheet for sheet in sheets if rating_columns & {*sheet.table}]
    if not candidates:
        remedy = f"{_columns(sheets)}: name it with --columns preferred=COLUMN"
        raise InputError(f"{path}: no column 'preferred' (the vote: S1, S2 or Tie); {remedy}")
    for sheet in candidates:
        if sheet.name == SHEET:
            return sheet
    return candidates[0]


def _layout_of(sheet):
    if "preferred" not in sheet.table:
        return LIKERT
    return paired_layout(guess=GUESS.name in sheet.table, evidence=EVIDENCE.name in sheet.table)


def _sheet_defects(path, sheets, rating_sheet):
    """Name what sheets there are besides the one with the ratings, and whether that is hidden."""
    defects = []
    if rating_sheet.name != SHEET and path.suffix.lower() in BOOKS:
        text = f"{rating_sheet.name} read instead"
        defects.append(Defect(str(path), SHEET, None, None, "missing_sheet", text))
    for sheet in sheets:
        if sheet is not rating_sheet and sheet.name not in FURTHER_SHEETS:
            n_rows = len(sheet.table) + bool(sheet.head)
            text = f"hidden, {n_rows} rows" if sheet.hidden else f"{n_rows} rows"
            defects.append(Defect(str(path), sheet.name, None, None, "extra_sheet", text))
    if rating_sheet.hidden:
        text = "the ratings are hidden"
        defects.append(Defect(str(path), rating_sheet.name, None, None, "hidden_sheet", text))
    return defects


# --- cells ------------------------------------------------------------------


def _read_rows(path, sheet, layout):
    """Read the rows below the header, column by column; also give their defects."""
    defects = SheetDefects(path, sheet.name)
    names = sheet.table.columns
    numbers = sheet.table.index
    table = sheet.table.loc[:, ~names.duplicated() & (names != "")]
    extra = table.columns.difference(layout.names, sort=False).tolist()
    _add_column_defects(defects, sheet, layout, extra)
    for number, name, text in sheet.formulas:
        defects.add(number, name, "formula", quoted(text))
    needed = [column.name for column in layout.columns if column.kind != "note"]
    require_values(path, sheet.name, table.loc[:, table.columns.isin(needed)])
    rows = {"row": numbers.tolist()}
    for column in layout.columns:
        if column.name in table:
            rows[column.name] = _read_column(column, table[column.name], defects)
        elif column.name == layout.key:
            rows[column.name] = [str(number) for number in numbers]
        else:
            rows[column.name] = [None if column.choices else ""] * len(numbers)
    rows |= {name: table[name].tolist() for name in extra if name != "row"}
    ratings = {column.name: float for column in layout.columns if column.kind == "rating"}
    rows = pd.DataFrame(rows).astype(ratings)
    return _without_duplicates(rows, layout, defects), defects


def _add_column_defects(defects, sheet, layout, extra):
    """Name the columns that occur twice, that are missing and that no form has."""
    names = sheet.table.columns
    for name in names[names.duplicated() & (names != "")]:
        defects.add(sheet.head, name, "repeated_column")
    for column in layout.columns:
        if column.required and column.name not in names:
            defects.add(sheet.head, column.name, "missing_column", effect=LOST)
    for name in extra:
        defects.add(sheet.head, name, "extra_column")


def _read_column(column, cells, defects):
    """Read the cells of one column of a form."""
    if column.choices:
        return [_read_choice(column, number, cell, defects) for number, cell in cells.items()]
    return ["" if cell is None else str(cell) for cell in cells]


def _read_choice(column, number, cell, defects):
    """Find the choice that a cell names, in whatever spelling; None if it names none."""
    text = "" if cell is None else str(cell).strip()
    if not text:
        if column.required:
            defects.add(number, column.name, "blank", effect=LOST)
        return None
    spelling = re.sub(r"^\+?(\d+)(\.0+)?$", r"\1", text).casefold()
    for choice in column.choices:
        if str(choice).casefold() == spelling:
            if isinstance(cell, str) and cell != str(choice):
                defects.add(number, column.name, "spelling", quoted(cell), REPAIRED)
            return choice
    defects.add(number, column.name, "not_a_choice", quoted(cell), LOST)
    return None


def quoted(value):
    """Quote the content of a cell in a message, shortened."""
    text = repr(value)
    return text if len(text) <= LONGEST_CONTENT else f"{text[: LONGEST_CONTENT - 1]}…"


def _without_duplicates(rows, layout, defects):
    """Of rows with one id keep the first if they agree, else none."""
    key = layout.key
    ids = rows[key]
    answers = [column.name for column in layout.answers]
    n_answers = rows.drop_duplicates([key, *answers])[key].value_counts()
    is_nameless = ids == ""
    is_repeated = ids.duplicated() & ~is_nameless
    is_contradictory = (ids.map(n_answers) > 1) & ~is_nameless
    for number in rows.loc[is_nameless, "row"]:
        defects.add(number, key, "no_id", effect=LOST)
    repeated = rows[["row", key]].assign(contradicts=is_contradictory)[is_repeated]
    for number, name, contradicts in repeated.itertuples(index=False):
        defects.add(number, key, "duplicate", name, LOST if contradicts else NOTE)
    return rows[~(is_nameless | is_repeated | is_contradictory)].reset_index(drop=True)


# --- the key ------------------------------------------------------------------


class _Sealed(BaseModel, strict=True):
    """What is sealed of one row of a form."""

    id: str
    item: str | int | float
    texts: dict[str, str]


class _Pair(_Sealed):
    texts: dict[Literal[*PAIRED.texts, EVIDENCE.name], str]
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
    registered: bool = False  # whether an unaltered pre-registration came with the key
    equivalence_range: tuple | None = None  # win rates that count as no difference, if registered
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
    elif side_column or not any(form.has_about_sheet for form in forms):
        votes = read_votes(forms, side_column, last_column=last_column)
    else:
        raise InputError(
            f"{forms[0].path}: these forms are blind: "
            "give the sealed key, or the folder of the study"
        )
    if votes.frame["choice"].isna().all():
        raise InputError(f"{forms[0].path}: no form holds a judgement; are they filled?")
    return votes


def key_beside(forms):
    """Find the key of a study in the folder of its forms, or above it, unless they carry it."""
    if any(SIDE_COLUMN in form.rows for form in forms):
        return None
    for form in forms:
        for folder in (form.path.parent, form.path.resolve().parents[1]):
            for file in (folder / KEY, folder / SEALED / KEY):
                if file.is_file():
                    return file
    return None


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
        raise InputError(
            f"{file}: an earlier version made it, and its pre-registration could be altered "
            "unnoticed: analyse the forms with that version"
        )
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
    file = key_file.parent / PREREGISTRATION
    if not file.is_file():
        file = key_file.parent.parent / PREREGISTRATION
    if not file.is_file():
        raise InputError(
            f"{key_file}: is used only with its {PREREGISTRATION}: "
            "put it beside the key, or give the folder of the study"
        )
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
    form_of_rater = _forms_by_rater(forms, key, "paired", force)
    rows, defects = _join_with_key(form_of_rater, key)
    strata = {row["item_id"]: row["stratum"] for row in key["draw"]}
    rows["stratum"] = rows["item_id"].map(strata).fillna("all")
    return Votes(
        frame=decode_judgements(rows),
        systems=tuple(key["systems"]),
        focus=key["focus"],
        raters=tuple(rater for rater in key["forms"] if rater in form_of_rater),
        defects=defects,
        absent=tuple(rater for rater in key["forms"] if rater not in form_of_rater),
        registered=True,
        equivalence_range=tuple(key["no_difference"]),
        alpha=key["alpha"],
    )


def unblind_likert(forms, key, *, force=False):
    """Join Likert forms with the key: the frame of ratings, and the defects."""
    rows, defects = _join_with_key(_forms_by_rater(forms, key, "likert", force), key)
    answers = [column.name for column in LIKERT.answers]
    return rows[["rater", "item_id", "chunk", "system", *answers, "notes"]], defects


def _forms_by_rater(forms, key, layout, force):
    """Find each rater's form by the ids in it, whatever its file is called."""
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    for form in forms:
        if form.key_sha256 not in (None, key["key_sha256"]):
            raise InputError(
                f"{form.path}: was made with another key: "
                f"its sheet {ABOUT_SHEET!r} has another SHA-256"
            )
    rater_of_id = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    form_of_rater = {}
    for form in forms:
        raters = form.rows[form.layout.key].map(rater_of_id).value_counts()
        if raters.empty:
            raise InputError(
                f"{form.path}: none of its ids is in the key: another study, or edited ids"
            )
        rater = raters.index[0]
        if rater in form_of_rater:
            raise InputError(
                f"{form.path}: form of {rater} is in already: {form_of_rater[rater].path}"
            )
        form_of_rater[rater] = form
    absent = [rater for rater in key["forms"] if rater not in form_of_rater]
    if absent and not force:
        missing = f"{len(absent)} of {len(key['forms'])} forms are not in ({', '.join(absent)})"
        raise InputError(f"{missing}: unblind when they are, or force it")
    return form_of_rater


def _join_with_key(form_of_rater, key):
    """Put what was sealed beside each row of the forms; also give all defects of the forms."""
    defects = [defect for form in form_of_rater.values() for defect in form.defects]
    tables = []
    for rater, sealed in key["forms"].items():
        if rater not in form_of_rater:
            continue
        form = form_of_rater[rater]
        name = form.layout.key
        form_rows = form.rows[["row", *form.layout.names]]
        key_rows = pd.DataFrame(sealed["rows"]).rename(columns={"id": name, "item": "item_id"})
        rows = form_rows.merge(key_rows, on=name)
        tables.append(rows.assign(rater=rater, place=np.arange(1, len(rows) + 1)))
        defects += _differences_from_key(form, form_rows, key_rows, rows)
    return pd.concat(tables, ignore_index=True), tuple(defects)


def _differences_from_key(form, form_rows, key_rows, rows):
    """Name ids and texts of a form that are not as they were sent out."""
    defects = SheetDefects(form.path, form.sheet)
    name = form.layout.key
    unknown = form_rows[~form_rows[name].isin(key_rows[name])]
    for number, identity in unknown[["row", name]].itertuples(index=False):
        defects.add(number, name, "unknown_id", identity, LOST)
    is_missing = ~key_rows[name].isin(form_rows[name])
    for position, identity in key_rows.loc[is_missing, name].items():
        defects.add(None, name, "missing_row", f"{identity}, row {position + 2}", LOST)
    if rows[name].tolist() != key_rows.loc[~is_missing, name].tolist():
        defects.add(None, name, "reordered", "rows are joined by their ids")
    sent = {column for texts in key_rows["texts"] for column in texts}
    for column in sorted(sent - {*form_rows}):
        defects.add(None, column, "missing_column", "was sent out")
    for row in rows.to_dict("records"):
        for column, digest in row["texts"].items():
            if column not in form_rows:
                continue
            if text_hash(row[column].replace("\r\n", "\n").replace("\r", "\n")) != digest:
                defects.add(row["row"], column, "edited_text", "not as sent out")
    return defects


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
    tables = []
    defects = []
    for form in forms:
        if form.rows.empty:
            raise InputError(f"{form.path}: sheet {form.sheet!r} has no rows")
        columns = list(form.rows.columns.drop("row"))
        column = key_column(form.path, columns, side_column, last_column)
        rows, defects_of_key = _rows_with_key(form, column)
        tables.append(rows)
        defects += [*form.defects, *defects_of_key]
    return Votes(
        frame=decode_judgements(pd.concat(tables, ignore_index=True)),
        systems=(RAG, BASE),
        focus=RAG,
        raters=tuple(form.rater for form in forms),
        defects=tuple(defects),
    )


def key_column(path, columns, side_column=None, last_column=False):
    """Find the column that says which side is the system under study; none is guessed."""
    side_column = side_column or SIDE_COLUMN
    if side_column in columns:
        return side_column
    if last_column and columns:
        return columns[-1]
    raise InputError(
        f"{path}: has no key column {side_column!r} "
        "(which side, S1 or S2, is the system under study); "
        f"it has {', '.join(columns)}: name it with --side-col, give the sealed key with --key, "
        "or allow the last column with --last-column"
    )


def _rows_with_key(form, column):
    """Rows of a form with the systems that its key column names, and what the key lacks."""
    defects = SheetDefects(form.path, form.sheet)
    item_column = _item_column(form)
    rows = form.rows.assign(
        rater=form.rater,
        item_id=form.rows[item_column].map(_one_spaced),
        place=np.arange(1, len(form.rows) + 1),
        stratum="all",
    )
    require_values(form.path, form.sheet, rows.set_index("row")[[column]])
    sides = rows[column].astype(object)
    stripped = sides.astype(str).str.strip()
    rows["left"] = stripped.map({"S1": RAG, "S2": BASE})
    rows["right"] = stripped.map({"S1": BASE, "S2": RAG})
    is_repeated = rows["item_id"].duplicated()
    for number, item in rows.loc[is_repeated, ["row", "item_id"]].itertuples(index=False):
        defects.add(number, item_column, "duplicate", quoted(item), LOST)
    is_unknown = ~stripped.isin(["S1", "S2"]) & ~is_repeated
    for number, side in zip(rows.loc[is_unknown, "row"], sides[is_unknown], strict=True):
        defects.add(number, column, "no_key", quoted(side), LOST)
    return rows[~is_repeated], defects


def _one_spaced(text):
    return " ".join(text.split())


def _item_column(form):
    """Give the column that names an item for all raters: its prompt, else its id."""
    if form.rows["prompt_text"].str.strip().any():
        return "prompt_text"
    missing = {defect.column for defect in form.defects if defect.kind == "missing_column"}
    if "prompt_id" not in missing:
        return "prompt_id"
    names = ", ".join(name for name in form.rows if name not in {"row", *missing})
    raise InputError(
        f"{form.path}: sheet {form.sheet!r} has no column 'prompt_text' or 'prompt_id', "
        f"which name the items; it has {names}: name one with --columns prompt_text=COLUMN"
    )
