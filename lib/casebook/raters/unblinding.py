"""Unblinding: forms are joined with their sealed key, or with their own key column, as votes."""

import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from casebook.data.cards import first_problem
from casebook.data.tables import listed, to_type
from casebook.errors import InputError, refuse
from casebook.files import sha256_file
from casebook.raters.design import seal, text_hash
from casebook.raters.layouts import (
    ABOUT_SHEET,
    EVIDENCE,
    FORM_SIDES,
    KEY,
    KEY_SCHEMA,
    LIKERT,
    PAIRED,
    PAIRED_SCALES,
    PLAN_SCHEMA,
    PREREGISTRATION,
    SEALED,
)
from casebook.raters.read import LOST, REPAIRED, defects_of, quoted
from casebook.readers import read_json
from casebook.sheets import require_values

SIDE_COLUMN = "_rag_side_for_analysis"
# Systems of the documented layout.
RAG = "RAG"
BASE = "BASE"
_UNSEALED = "casebook-rater-key-1"  # schema of keys whose pre-registration has no seal

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
    rater_of_id = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    form_of_rater = {}
    problems = []
    for form in forms:
        raters = form.rows[form.layout.key].map(rater_of_id).value_counts()
        rater = None if raters.empty else raters.index[0]
        if form.key_sha256 not in (None, key["key_sha256"]):
            problems.append(
                f"{form.path}: was made with another key: "
                f"its sheet {ABOUT_SHEET!r} has another SHA-256"
            )
        elif rater is None:
            problems.append(
                f"{form.path}: none of its ids is in the key: another study, or edited ids"
            )
        elif rater in form_of_rater:
            problems.append(
                f"{form.path}: form of {rater} is in already: {form_of_rater[rater].path}"
            )
        else:
            form_of_rater[rater] = form
    refuse(problems)
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
        differences = _differences_from_key(form, form_rows, key_rows, rows)
        defects += defects_of(form.path, form.sheet, differences)
    return pd.concat(tables, ignore_index=True), tuple(defects)


def _differences_from_key(form, form_rows, key_rows, rows):
    """Name ids and texts of a form that are not as they were sent out."""
    name = form.layout.key
    unknown = form_rows[~form_rows[name].isin(key_rows[name])]
    for number, identity in unknown[["row", name]].itertuples(index=False):
        yield number, name, "unknown_id", identity, LOST
    is_missing = ~key_rows[name].isin(form_rows[name])
    for position, identity in key_rows.loc[is_missing, name].items():
        yield None, name, "missing_row", f"{identity}, row {position + 2}", LOST
    if rows[name].tolist() != key_rows.loc[~is_missing, name].tolist():
        yield None, name, "reordered", "rows are joined by their ids"
    sent = {column for texts in key_rows["texts"] for column in texts}
    for column in sorted(sent - {*form_rows}):
        yield None, column, "missing_column", "was sent out"
    for row in rows.to_dict("records"):
        for column, digest in row["texts"].items():
            if column not in form_rows:
                continue
            if text_hash(row[column].replace("\r\n", "\n").replace("\r", "\n")) != digest:
                yield row["row"], column, "edited_text", "not as sent out"


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
        tables.append(rows.assign(form=len(tables)))
        defects += [*form.defects, *defects_of_key]
    rows = pd.concat(tables, ignore_index=True)
    originals = _original_prompts(rows)
    rows["is_edited"] = rows["item_id"].isin(originals)
    rows["item_id"] = rows["item_id"].replace(originals)
    rows["n_forms"] = rows["item_id"].map(rows["item_id"].value_counts())
    for number, form in enumerate(forms):
        of_form = rows[rows["form"] == number]
        column = _item_column(form)
        edited = of_form.loc[of_form["is_edited"], "row"]
        checks = [(row, column, "edited_text", "", REPAIRED) for row in edited]
        further = of_form.loc[of_form["n_forms"] < len(forms), "row"]
        if len(further):
            checks.append((None, column, "not_in_all_forms", f"rows {listed(further)}"))
        defects += defects_of(form.path, form.sheet, checks)
    return Votes(
        frame=decode_judgements(rows),
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
    item_column = _item_column(form)
    rows = form.rows.assign(
        rater=form.rater,
        item_id=form.rows[item_column].str.split().str.join(" "),
        place=np.arange(1, len(form.rows) + 1),
        stratum="all",
    )
    require_values(form.path, form.sheet, rows.set_index("row")[[column]])
    sides = rows[column].astype(object)
    stripped = sides.astype(str).str.strip()
    rows["left"] = stripped.map({"S1": RAG, "S2": BASE})
    rows["right"] = stripped.map({"S1": BASE, "S2": RAG})
    is_repeated = rows["item_id"].duplicated()
    is_unknown = ~stripped.isin(["S1", "S2"]) & ~is_repeated
    checks = [
        (number, item_column, "duplicate", quoted(item), LOST)
        for number, item in rows.loc[is_repeated, ["row", "item_id"]].itertuples(index=False)
    ]
    checks += [
        (number, column, "no_key", quoted(side), LOST)
        for number, side in zip(rows.loc[is_unknown, "row"], sides[is_unknown], strict=True)
    ]
    return rows[~is_repeated], defects_of(form.path, form.sheet, checks)


def _original_prompts(rows):
    """Prompts of one form whose two answers stand under another prompt in the others, to that."""
    first = rows["system1_output"]
    second = rows["system2_output"]
    is_left = rows["left"] == RAG
    answers = first.where(is_left, second) + "\n" + second.where(is_left, first)
    forms = rows.groupby("item_id")["form"].agg(set)
    originals = {}
    for _, items in rows["item_id"].groupby(answers[answers != "\n"]):
        usual, *others = sorted(items.unique(), key=lambda item: -len(forms[item]))
        for item in others:
            if len(forms[item]) == 1 and forms[item].isdisjoint(forms[usual]):
                originals[item] = usual
                forms[usual].update(forms[item])
    return originals


def _item_column(form):
    """Give the column that names an item for all raters: its prompt, else its id."""
    if form.rows["prompt_text"].str.strip().any():
        return "prompt_text"
    missing = {defect.column for defect in form.defects if defect.kind == "missing_column"}
    if "prompt_id" not in missing:
        return "prompt_id"
    names = ", ".join(name for name in form.rows if name not in {"row", *missing})
    way = to_type("columns", {"prompt_text": "COLUMN"})
    raise InputError(
        f"{form.path}: sheet {form.sheet!r} has no column 'prompt_text' or 'prompt_id', "
        f"which name the items; it has {names}: name one with {way}"
    )
