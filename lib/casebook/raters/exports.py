"""Judgements of several raters in one file, as the tables that their forms would hold."""

from typing import NamedTuple

import pandas as pd

from casebook.data.records import read_table
from casebook.errors import InputError
from casebook.raters.annotation_tools import (
    BLANK,
    export_reader,
    label_text,
    potato_label,
    read_label_studio_rows,
    row_answer,
)
from casebook.raters.annotations import (
    NEEDED,
    ROLES,
    distinct_ratings,
    matching_roles,
    read_annotations,
    single,
)
from casebook.raters.forms import LIKERT
from casebook.sheets import read_book

ITEM = "prompt_id"  # as forms call the column that names their rows


class RaterTable(NamedTuple):
    """One rater's judgements, a row per item with its fields, and those that are no ratings."""

    rater: str
    table: pd.DataFrame
    left_out: list


def holds_several_raters(path, columns):
    """Say whether a table is an export or names its raters in a column, by the names in it."""
    if path.suffix.lower() != ".csv":
        return "rater" in columns
    names = list(read_book(path).sheets[0].table)
    if "annotation_id" in names or ("instance_id" in names and any(map(potato_label, names))):
        return True
    return _rater_column(names, columns) not in (None, *LIKERT.names)


def _rater_column(names, columns):
    return matching_roles(names, _roles(columns)).get("rater")


def _roles(columns):
    """Give those of a mapping of columns that a file with a row per rating has."""
    return {role: name for role, name in columns.items() if role in ROLES}


def tables_by_rater(path, columns):
    """Give each rater's judgements in an export, or in rows with a column that names raters."""
    records = list(read_table(path, rows_of=single))
    names = dict.fromkeys(name for _, record in records for name in record)
    reader = export_reader(records, names)
    if reader is read_label_studio_rows:
        return _tables_of_rows(path, records, "annotator")
    roles = matching_roles(names, _roles(columns))
    if reader or all(role in roles for role in NEEDED):
        return _tables_of_judgements(path, read_annotations(path, _roles(columns)))
    if "rater" not in roles:
        raise InputError(f"{path}: no column names the raters: say columns rater=COLUMN")
    return _tables_of_rows(path, records, roles["rater"])


def _tables_of_judgements(path, annotations):
    """Arrange judgements of several criteria: a column for each, beside the fields of the item."""
    ratings, _ = distinct_ratings(path, annotations)
    criteria = dict.fromkeys(judgement.criterion for judgement in ratings)
    blanks = [judgement for judgement in annotations.judgements if judgement.reason == BLANK]
    rows = {}
    for judgement in [*ratings, *blanks]:
        by_item = rows.setdefault(judgement.rater, {})
        empty = {ITEM: judgement.item, **annotations.fields.get(judgement.item, {})}
        _, record = by_item.setdefault(
            judgement.item, (judgement.row, empty | dict.fromkeys(criteria))
        )
        if judgement.reason is None:
            record[judgement.criterion] = judgement.rating
    left_out = {}
    for judgement in annotations.judgements:
        if judgement.reason not in (None, BLANK):
            rater = judgement.rater if judgement.rater in rows else next(iter(rows))
            left_out.setdefault(rater, []).append(judgement)
    return [
        RaterTable(rater, _table(by_item.values()), left_out.get(rater, []))
        for rater, by_item in rows.items()
    ]


def _tables_of_rows(path, records, rater_column):
    """Part rows that hold all answers of one rater to one item."""
    rows = {}
    for number, record in records:
        rater = label_text(record.get(rater_column))
        if not rater:
            raise InputError.at(path, number, f"column {rater_column!r} names no rater")
        cells = {name: row_answer(cell)[0] or None for name, cell in record.items()}
        del cells[rater_column]
        if ITEM not in cells and "id" in cells:
            cells[ITEM] = cells["id"]
        rows.setdefault(rater, []).append((number, cells))
    return [RaterTable(rater, _table(numbered), []) for rater, numbered in rows.items()]


def _table(numbered):
    """Make a table of rows with their numbers."""
    numbers = [number for number, _ in numbered]
    return pd.DataFrame([cells for _, cells in numbered], numbers, dtype=object)
