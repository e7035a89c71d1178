"""Unblinding: forms are joined with their sealed key, or with their own key column, as votes."""

import hmac
from collections import namedtuple
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, ValidationError

from casebook.data.cards import first_problem
from casebook.data.tables import short
from casebook.errors import InputError, refuse
from casebook.files import sha256_file
from casebook.raters.design import seal, text_hash
from casebook.raters.layouts import (
    FORM_SIDES,
    KEY,
    KEY_SCHEMA,
    LIKERT,
    PAIRED_SCALES,
    PLAN_SCHEMA,
    PREREGISTRATION,
    SEALED,
)
from casebook.raters.read import LOST, REPAIRED, defects_of
from casebook.readers import read_json
from casebook.sheets import require_values

SIDE_COLUMN = "_rag_side_for_analysis"
# Systems of the documented layout, and what its key column says of the sides.
RAG = "RAG"
BASE = "BASE"
OTHER = {RAG: BASE, BASE: RAG}

#: Judgements of a panel with the systems behind them: a frame with a row each, what is wrong in the
#: forms, raters whose forms are missing; whether an unaltered pre-registration came with the key,
#: the margin of win rates that count as no difference and the level that it names.
Votes = namedtuple(
    "Votes",
    "frame systems focus raters defects absent registered margin alpha",
    defaults=((), (), False, None, None),
)


class _Row(BaseModel, strict=True):
    # What is sealed of a row of a form: of a pair its sides, of an explanation its system.
    id: str
    item: str | int | float
    texts: dict[str, str]
    left: str = ""
    right: str = ""
    chunk: str = ""
    system: str = ""


class _Form(BaseModel, strict=True):
    rows: list[_Row] = Field(min_length=1)


class _Key(BaseModel, strict=True):
    study: str
    secret: str = Field(min_length=32)
    layout: Literal["paired", "likert"]
    systems: list[str]
    focus: str = ""
    forms: dict[str, _Form] = Field(min_length=1)


def open_forms(forms, key=None, side_column=None, last_column=False, force=False):
    """Unblind forms of preferences with the sealed key, or with their own key column.

    ``key`` is a file or the folder of the study.
    ``side_column`` says on which side, S1 or S2, the system under study stands; ``last_column``
    takes the last one for it if there is none of that name, and ``force`` unblinds although forms
    are missing.
    """
    for form in forms:
        if form.layout.name != "paired":
            raise InputError(f"{form.path}: is a Likert form; give forms that ask for a preference")
    if key is not None:
        votes = unblind(forms, read_key(key), force=force)
    elif not side_column and any(form.key_sha256 for form in forms):
        way = "give the sealed key, or the folder of the study"
        raise InputError(f"{forms[0].path}: these forms are blind: {way}")
    else:
        votes = read_votes(forms, side_column, last_column=last_column)
    if votes.frame["choice"].isna().all():
        raise InputError(f"{forms[0].path}: no form holds a judgement; are they filled?")
    return votes


def read_key(path):
    """Read the key of a study, a file or in its folder, together with what was registered.

    The pre-registration lies beside the key, or in the folder above. It holds the SHA-256 of the
    key, and a seal that only the secret in the key can make.
    """
    path = Path(path)
    file = path / SEALED / KEY if path.is_dir() else path
    key = read_json(file)
    if not isinstance(key, dict) or key.get("schema") != KEY_SCHEMA:
        raise InputError(f"{file}: is no key of a rater study of this version; give key.json")
    try:
        _Key.model_validate(key)
    except ValidationError as error:
        problem = first_problem(error)
        raise InputError(f"{file}: is no key of a rater study, or is damaged: {problem}") from None
    public = [folder / PREREGISTRATION for folder in (file.parent, file.parent.parent)]
    public = [place for place in public if place.is_file()]
    if not public:
        way = "put it beside the key, or give the folder of the study"
        raise InputError(f"{file}: is used only with its {PREREGISTRATION}: {way}")
    registered = read_json(public[0])
    if not isinstance(registered, dict) or registered.get("schema") != PLAN_SCHEMA:
        raise InputError(f"{public[0]}: is no pre-registration of a rater study")
    if registered.get("key_sha256") != sha256_file(file):
        problem = f"its SHA-256 is not that in {public[0]}"
        raise InputError(f"{file}: is not the key that was registered: {problem}")
    sealed = str(registered.pop("seal", None)).encode()
    if not hmac.compare_digest(sealed, seal(key["secret"], registered).encode()):
        problem = "was altered since the forms were made: it does not fit the seal in it"
        raise InputError(f"{public[0]}: {problem}")
    return key | {name: registered[name] for name in ("key_sha256", "primary")}


def unblind(forms, key, *, force=False):
    """Join forms of preferences with the key."""
    rows, defects, raters = _join_with_key(forms, key, "paired", force)
    absent = tuple(rater for rater in key["forms"] if rater not in raters)
    margin = key["primary"]["no_difference"][1] - 0.5
    about = (defects, absent, True, margin, key["primary"]["alpha"])
    return Votes(decode_judgements(rows), tuple(key["systems"]), key["focus"], raters, *about)


def unblind_likert(forms, key, *, force=False):
    """Join Likert forms with the key: the frame of ratings, and the defects."""
    rows, defects, _ = _join_with_key(forms, key, "likert", force)
    answers = [column.name for column in LIKERT.answers]
    return rows[["rater", "item_id", "chunk", "system", *answers, "notes"]], defects


# What was sealed beside each row of the forms, the forms' defects, and the raters.
def _join_with_key(forms, key, layout, force):
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    form_of_rater = _forms_by_rater(forms, key)
    absent = [rater for rater in key["forms"] if rater not in form_of_rater]
    if absent and not force:
        missing = f"{len(absent)} of {len(key['forms'])} forms are not in ({', '.join(absent)})"
        raise InputError(f"{missing}: unblind when they are, or force it")
    defects = []
    tables = []
    for rater, form in form_of_rater.items():
        name = form.layout.key
        sealed = pd.DataFrame(key["forms"][rater]["rows"])
        sealed = sealed.rename(columns={"id": name, "item": "item_id"})
        rows = form.rows[["row", *form.layout.names]].merge(sealed, on=name)
        tables.append(rows.assign(rater=rater, place=np.arange(1, len(rows) + 1)))
        differences = _differences_from_key(form.rows, sealed, rows, name)
        defects += [*form.defects, *defects_of(form.path, form.sheet, differences)]
    return pd.concat(tables, ignore_index=True), tuple(defects), tuple(form_of_rater)


# Each rater's form by the ids in it, whatever its file is called, in the order of the key.
def _forms_by_rater(forms, key):
    rater_of_id = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    form_of = dict.fromkeys(key["forms"])
    problems = []
    for form in forms:
        raters = form.rows[form.layout.key].map(rater_of_id).value_counts().index
        if form.key_sha256 not in (None, key["key_sha256"]):
            problems.append(f"{form.path}: was made with another key: it names another SHA-256")
        elif raters.empty:
            problem = "none of its ids is in the key: another study, or edited ids"
            problems.append(f"{form.path}: {problem}")
        elif form_of[raters[0]]:
            first = form_of[raters[0]].path
            problems.append(f"{form.path}: form of {raters[0]} is in already: {first}")
        else:
            form_of[raters[0]] = form
    refuse(problems)
    return {rater: form for rater, form in form_of.items() if form}


# Ids and texts of a form that are not as they were sent out.
def _differences_from_key(form_rows, sealed, rows, name):
    unknown = form_rows[~form_rows[name].isin(sealed[name])]
    for number, identity in zip(unknown["row"], unknown[name], strict=True):
        yield number, name, "unknown_id", identity, LOST
    missing = sealed.loc[~sealed[name].isin(rows[name]), name]
    for position, identity in missing.items():
        yield None, name, "missing_row", f"{identity}, row {position + 2}", LOST
    if rows[name].tolist() != sealed[name].drop(missing.index).tolist():
        yield None, name, "reordered", "rows are joined by their ids"
    for row in rows.to_dict("records"):
        for column, digest in row["texts"].items():
            text = row[column].replace("\r\n", "\n").replace("\r", "\n")
            if text and text_hash(text) != digest:
                yield row["row"], column, "edited_text", "not as sent out"


FORM_COLUMNS = {
    "prompt_text": "prompt",
    "system1_output": "text_left",
    "system2_output": "text_right",
}
for _form, _side in FORM_SIDES.items():
    FORM_COLUMNS |= {f"{scale}_{_form}": f"{scale}_{_side}" for scale in PAIRED_SCALES}
JUDGEMENT_COLUMNS = [
    *("rater", "item_id", "place", "row", "left", "right", "preferred", "choice"),
    *FORM_COLUMNS.values(),
    *("comment", "guess"),
]


# Name the chosen system and the two sides in rows of forms that were joined with a key.
def decode_judgements(rows):
    preferred = rows["preferred"]
    choices = [preferred == "S1", preferred == "S2", (preferred == "Tie") & rows["left"].notna()]
    systems = [rows["left"].astype(object), rows["right"].astype(object), "Tie"]
    rows = rows.rename(columns=FORM_COLUMNS).assign(choice=np.select(choices, systems, None))
    return rows.reindex(columns=JUDGEMENT_COLUMNS)


# --- the documented layout, which carries its key in a column


def read_votes(forms, side_column=None, *, last_column=False):
    """The judgements of forms that carry their key."""
    tables = []
    for number, form in enumerate(forms):
        column = key_column(form.path, list(form.rows.columns[1:]), side_column, last_column)
        require_values(form.path, form.sheet, form.rows.set_index("row")[[column]])
        items = form.rows[_item_column(form)].str.split().str.join(" ")
        left = form.rows[column].astype(str).str.strip().map({"S1": RAG, "S2": BASE})
        about = {"rater": form.rater, "form": number, "place": np.arange(1, len(items) + 1)}
        tables.append(form.rows.assign(item_id=items, left=left, right=left.map(OTHER), **about))
    rows = pd.concat(tables, ignore_index=True)
    again = rows.duplicated(["form", "item_id"])
    originals = _original_prompts(rows[~again])
    kinds = {
        ("no_key", LOST): rows["left"].isna() & ~again,
        ("duplicate", LOST): again,
        ("edited_text", REPAIRED): rows["item_id"].isin(originals) & ~again,
    }
    defects = []
    for number, form in enumerate(forms):
        checks = []
        for (kind, effect), is_so in kinds.items():
            found = rows[is_so & (rows["form"] == number)]
            for row, item in zip(found["row"], found["item_id"], strict=True):
                checks.append((row, _item_column(form), kind, short(item), effect))
        defects += [*form.defects, *defects_of(form.path, form.sheet, checks)]
    rows["item_id"] = rows["item_id"].replace(originals)
    raters = tuple(form.rater for form in forms)
    return Votes(decode_judgements(rows[~again]), (RAG, BASE), RAG, raters, tuple(defects))


# The column that says which side is the system under study; none is guessed.
def key_column(path, columns, side_column=None, last_column=False):
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


# Prompts of one form whose two answers stand under another prompt in the others, to that.
def _original_prompts(rows):
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


# The column that names an item for all raters: its prompt, else its id.
def _item_column(form):
    return "prompt_text" if form.rows["prompt_text"].str.strip().any() else "prompt_id"
