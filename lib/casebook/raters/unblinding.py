"""Unblinding: forms are joined with their sealed key, or with their own key column, as votes."""

from collections import namedtuple
from pathlib import Path

import pandas as pd

from casebook.data.tables import short
from casebook.errors import InputError, refuse
from casebook.files import sha256_file
from casebook.raters.design import seal, text_hash
from casebook.raters.layouts import (
    FORM_SIDES,
    KEY,
    KEY_SCHEMA,
    PAIRED_SCALES,
    PLAN_SCHEMA,
    PREREGISTRATION,
    SEALED,
)
from casebook.raters.read import LOST, NOTE, defects_of
from casebook.readers import read_json
from casebook.sheets import require_values

SIDE_COLUMN = "_rag_side_for_analysis"
# Systems of the documented layout, and what its key column says of the sides.
RAG = "RAG"
BASE = "BASE"
LEFT = {"S1": RAG, "S2": BASE}
RIGHT = {"S1": BASE, "S2": RAG}

#: Judgements of a panel with the systems behind them: a frame with a row each, what is wrong in the
#: forms, raters whose forms are missing; whether an unaltered pre-registration came with the key,
#: the margin of win rates that count as no difference and the level that it names.
Votes = namedtuple(
    "Votes",
    "frame systems focus raters defects absent registered margin alpha",
    defaults=((), (), False, None, None),
)


def open_forms(forms, key=None, side_column=None, last_column=False, force=False):
    """Unblind forms of preferences with the sealed key, or with their own key column.

    ``key`` is a file or the folder of the study.
    ``side_column`` says on which side, S1 or S2, the system under study stands; ``last_column``
    takes the last one for it if there is none of that name, and ``force`` unblinds although forms
    are missing.
    """
    path = forms[0].path
    if any(form.layout.name != "paired" for form in forms):
        raise InputError(
            f"{path}: is a Likert form; give forms that ask for a preference"
        )
    if key is not None:
        votes = unblind(forms, read_key(key), force=force)
    elif not side_column and any(form.key_sha256 for form in forms):
        way = "give the sealed key, or the folder of the study"
        raise InputError(f"{path}: these forms are blind: {way}")
    else:
        votes = read_votes(forms, side_column, last_column=last_column)
    if votes.frame["choice"].isna().all():
        raise InputError(f"{path}: no form holds a judgement; are they filled?")
    return votes


def read_key(path):
    """Read the key of a study, a file or in its folder, together with what was registered.

    The pre-registration lies beside the key, or in the folder above. It holds the SHA-256 of the
    key, and a seal that only the secret in the key can make.
    """
    path = Path(path)
    file = path / SEALED / KEY if path.is_dir() else path
    beside = file.with_name(PREREGISTRATION)
    public = beside if beside.is_file() else file.parent.parent / PREREGISTRATION
    key = _read(file, KEY_SCHEMA, "key")
    registered = _read(public, PLAN_SCHEMA, "pre-registration")
    digest = registered.get("key_sha256")
    if digest != sha256_file(file):
        raise InputError(f"{file}: is not the key whose SHA-256 is in {public}")
    signature = registered.pop("seal", None)
    if signature != seal(key["secret"], registered):
        raise InputError(f"{public}: was altered: it does not fit the seal in it")
    return key | {"key_sha256": digest, "primary": registered["primary"]}


def _read(path, schema, what):
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema") != schema:
        raise InputError(f"{path}: is no {what} of a rater study of this version")
    return content


def unblind(forms, key, *, force=False):
    """Join forms of preferences with the key."""
    rows, defects = join_with_key(forms, key, "paired", force)
    raters = tuple(rows["rater"].unique())
    primary = key["primary"]
    return Votes(
        decode_judgements(rows),
        tuple(key["systems"]),
        key["focus"],
        raters,
        defects,
        tuple(rater for rater in key["forms"] if rater not in raters),
        registered=True,
        margin=primary["no_difference"][1] - 0.5,
        alpha=primary["alpha"],
    )


def join_with_key(forms, key, layout, force=False):
    """The rows of all forms with what the key holds of each, and the defects."""
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    name = forms[0].layout.key
    tables = {rater: pd.DataFrame(form["rows"]) for rater, form in key["forms"].items()}
    sealed = pd.concat(tables, names=["rater"]).reset_index("rater")
    sealed = sealed.rename(columns={"id": name, "item": "item_id"})
    rows = {}
    defects = []
    problems = []
    for form in forms:
        of_form = form.rows[["row", *form.layout.names]].merge(sealed, "left", on=name)
        known = of_form.dropna(subset="rater")
        rater = known["rater"].max()
        if form.key_sha256 not in (None, key["key_sha256"]):
            problems.append(
                f"{form.path}: was made with another key: it names another SHA-256"
            )
        elif known.empty:
            problems.append(f"{form.path}: none of its ids is in the key")
        elif rater in rows:
            problems.append(f"{form.path}: form of {rater} is in already")
        rows[rater] = known.assign(place=range(1, len(known) + 1))
        differences = _differences(of_form, sealed[sealed["rater"] == rater], name)
        defects += [*form.defects, *defects_of(form.path, form.sheet, differences)]
    refuse(problems)
    absent = sorted(tables.keys() - rows)
    if absent and not force:
        missing = (
            f"{len(absent)} of {len(tables)} forms are not in ({', '.join(absent)})"
        )
        raise InputError(f"{missing}: unblind when they are, or force it")
    return pd.concat([rows[rater] for rater in tables if rater in rows]), tuple(defects)


def _differences(rows, sealed, name):
    """Ids and texts of a form that are not as they were sent out."""
    for identity in sealed.loc[~sealed[name].isin(rows[name]), name]:
        yield None, name, "missing_row", identity, LOST
    for row in rows[rows["rater"].isna()].itertuples():
        yield row.row, name, "unknown_id", getattr(row, name), LOST
    for row in rows.dropna(subset="rater").to_dict("records"):
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
    "comment",
]


def decode_judgements(rows):
    """Rows of forms that were joined with a key, with the chosen system and both sides named."""
    choice = rows["left"].where(rows["preferred"] == "S1")
    choice = choice.mask(rows["preferred"] == "S2", rows["right"])
    is_tie = (rows["preferred"] == "Tie") & rows["left"].notna()
    rows = rows.assign(choice=choice.mask(is_tie, "Tie"))
    rows = rows.rename(columns=FORM_COLUMNS).reindex(columns=JUDGEMENT_COLUMNS)
    return rows.reset_index(drop=True)


# --- the documented layout, which carries its key in a column


def read_votes(forms, side_column=None, *, last_column=False):
    """The judgements of forms that carry their key."""
    tables = []
    for form in forms:
        rows = form.rows.set_index("row", drop=False)
        column = key_column(form.path, list(rows)[1:], side_column, last_column)
        require_values(form.path, form.sheet, rows[[column]])
        sides = rows[column].astype(str).str.strip()
        rows = rows.assign(
            rater=form.rater,
            item_id=rows["prompt_text"].str.split().str.join(" "),
            place=range(1, len(rows) + 1),
            left=sides.map(LEFT),
            right=sides.map(RIGHT),
        )
        tables.append(rows)
    kept = [rows.drop_duplicates("item_id") for rows in tables]
    votes = pd.concat(kept)
    n_forms = votes["item_id"].value_counts()
    defects = []
    for form, rows in zip(forms, tables, strict=True):
        items = rows["item_id"]
        again = items.duplicated()
        has_no_key = rows["left"].isna() & ~again
        is_alone = items.map(n_forms) < min(len(forms), 2)
        checks = []
        for kind, is_so, effect in (
            ("no_key", has_no_key, LOST),
            ("duplicate", again, LOST),
            ("other_prompt", is_alone, NOTE),
        ):
            for row, item in items[is_so].items():
                checks.append((row, "prompt_text", kind, short(item), effect))
        defects += [*form.defects, *defects_of(form.path, form.sheet, checks)]
    raters = tuple(form.rater for form in forms)
    return Votes(decode_judgements(votes), (RAG, BASE), RAG, raters, tuple(defects))


def key_column(path, columns, side_column=None, last_column=False):
    """The column that says which side is the system under study; none is guessed."""
    side_column = side_column or SIDE_COLUMN
    if side_column in columns:
        return side_column
    if last_column:
        return columns[-1]
    way = (
        "name it with --side-col, give the sealed key with --key, or take --last-column"
    )
    raise InputError(
        f"{path}: has no key column {side_column!r} (S1 or S2, the side of the system under study)"
        f"; it has {', '.join(columns)}: {way}"
    )
