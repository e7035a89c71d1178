"""Judgements as people have them: a row per item, a row per rating, a form, or a tool's export.

They become tables of items x raters, or a book for each rater, as forms are.
"""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from casebook.data.records import read_table
from casebook.errors import InputError, refuse
from casebook.raters.annotation_tools import (
    BLANK,
    Annotations,
    Judgement,
    export_reader,
    label_text,
    listed,
    potato_label,
    read_label_studio_rows,
    row_answer,
)
from casebook.raters.layouts import LIKERT
from casebook.readers import near_names, read_yaml, spelling, suffix_of
from casebook.sheets import KINDS, Book, Sheet, as_ratings, read_book, wide_ratings

ROLES = read_yaml(Path(__file__).with_name("annotations.yml"))["roles"]
OBJECTS = (".json", ".jsonl", ".parquet")  # files of objects; others are tables
NEEDED = ("rater", "item", "rating")
ITEM = "prompt_id"  # as forms call the column that names their rows


def read_ratings(path, *, numbers=None, id_column=None, columns=None, criterion=None):
    r"""Read ratings, items x raters; blank cells are missing.

    Parameters
    ----------
    path : path-like
        CSV (comma, semicolon or tab; UTF-8), ``.xlsx`` or ``.xlsm`` with a row per item, whose
        first row names the raters; or with a row per rating, with columns such as rater, item,
        rating and perhaps criterion, in any letter case; JSON or JSON lines of such rows; or an
        export of potato (its folder too), argilla or Label Studio.
    numbers : bool, optional
        Whether ratings must be numbers (True) or may be labels (False); by default most
        of the cells tell.
    id_column : str, optional
        Column that names the items of a file with a row per item, ``""`` if there is none; by
        default the first column, if it is not a rater's.
    columns : dict, optional
        ``rater``, ``item``, ``rating`` or ``criterion`` to the name of that column in the file; of
        an export, ``item`` to the field that names the items.
    criterion : str, optional
        Which ratings to read, if there are those of several criteria.

    Returns
    -------
    pandas.DataFrame, shape [items, raters]
        Numbers (float, NaN missing) or labels (object, None missing). ``attrs["notes"]`` says
        what was read of a file with a row per rating or of an export, and what was left out.

    Raises
    ------
    InputError
        If the table is damaged, names no raters, repeats an item, holds text among
        numbers, or a column that is not the first looks like names of the items; if a rater
        rates an item twice and differently, or there are several criteria and none is chosen.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("item,ann,bob\nq1,4,5\nq2,2,\n")
    >>> read_ratings(path).to_dict("index")
    {'q1': {'ann': 4.0, 'bob': 5.0}, 'q2': {'ann': 2.0, 'bob': nan}}
    >>> _ = path.write_text("Rater,Item,Score\nann,q1,4\nbob,q1,5\nann,q2,2\n")
    >>> read_ratings(path).attrs["notes"]
    ['a row per rating: 3 ratings taken of 3 judgements']
    """
    if id_column is not None and (columns or criterion):
        name = "columns" if columns else "criterion"
        raise InputError(f"{path}: {name} has no effect where a row holds an item: leave it out")
    annotations = None if id_column is not None else read_annotations(path, columns)
    if annotations is None and criterion:
        raise InputError(f"{path}: a row holds an item, so there is no criterion {criterion!r}")
    if annotations is None:
        return _as_wide(path, numbers, id_column)
    ratings, notes = distinct_ratings(path, annotations)
    criteria = ratings["criterion"].unique()
    names = ", ".join(criteria)
    if criterion is None and len(criteria) > 1:
        raise InputError(
            f"{path}: holds ratings of several criteria: {names}: choose one (--criterion)"
        )
    if criterion:
        ratings = ratings[ratings["criterion"] == criterion]
    if ratings.empty:
        raise InputError(f"{path}: has no criterion {criterion!r}: it has {names}")
    return _items_by_raters(ratings, notes, numbers)


def read_criteria(path, columns=None):
    """Read the ratings of each criterion, numbers or labels: a dict of frames."""
    annotations = read_annotations(path, columns)
    if annotations is None:
        return {"ratings": _as_wide(path, None, None)}
    ratings, notes = distinct_ratings(path, annotations)
    return {
        criterion: _items_by_raters(of_criterion, notes, None)
        for criterion, of_criterion in ratings.groupby("criterion", sort=False)
    }


def _as_wide(path, numbers, id_column):
    ratings = wide_ratings(path, numbers=numbers, id_column=id_column)
    ratings.attrs["notes"] = []
    return ratings


def distinct_ratings(path, annotations):
    """Give the judgements that are ratings as a table, each once, and notes on all of them."""
    judgements = pd.DataFrame(annotations.judgements, columns=Judgement._fields, dtype=object)
    ratings = judgements[judgements["reason"].isna()]
    names = ["item", "rater", "criterion"]
    distinct = ratings.drop_duplicates(names)
    pairs = ratings.merge(distinct, on=names, suffixes=("", "_earlier"))
    refuse(
        [
            f"{row.path}:{row.row}: {row.rater} rates {row.item} a second time ({row.criterion}: "
            f"{row.rating!r}, in row {row.row_earlier} {row.rating_earlier!r}): keep one row"
            for row in pairs[pairs["rating"] != pairs["rating_earlier"]].itertuples()
        ]
    )
    reasons = judgements["reason"].value_counts(sort=False)
    left_out = [f"{count} {reason}" for reason, count in reasons.items()]
    if ratings.empty:
        why = "; ".join(left_out) or "no judgements"
        raise InputError(f"{path}: read as {annotations.layout}, holds no ratings: {why}")
    notes = [f"{annotations.layout}: {len(distinct)} ratings taken of {len(judgements)} judgements"]
    if len(distinct) < len(ratings):
        notes.append(f"{len(ratings) - len(distinct)} repeated judgements counted once")
    notes += [f"left out: {text}" for text in left_out]
    return distinct, [*notes, *annotations.notes]


def _items_by_raters(judgements, notes, numbers):
    """Arrange the ratings of one criterion as items x raters."""
    ratings = judgements.set_index("row")[["rating"]].set_axis(judgements["criterion"][:1], axis=1)
    values = as_ratings(judgements["path"].iloc[0], ratings, numbers).iloc[:, 0].to_numpy()
    frame = judgements.assign(value=values)
    wide = frame.pivot(index="item", columns="rater", values="value")  # noqa: PD010
    wide = wide.reindex(index=frame["item"].unique(), columns=frame["rater"].unique())
    if wide.to_numpy().dtype.kind != "f":
        wide = wide.astype(object).where(wide.notna(), None)
    wide.attrs["notes"] = notes
    return wide.rename_axis(index="item", columns=None)


# --- a book for each rater


class RaterBook(NamedTuple):
    """One rater's form as it came back, or the same made of an export."""

    rater: str
    book: Book
    columns: dict  # documented columns to their names in it
    left_out: tuple = ()  # judgements that are no ratings


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


def books_by_rater(path, columns):
    """Read a form as the book that it is, and a file of several raters as a book for each."""
    columns_of_roles = {name: column for name, column in columns.items() if name in ROLES}
    if suffix_of(path) not in (*OBJECTS, ".tsv"):
        book = read_book(path)
        if not _holds_several_raters(book, columns_of_roles):
            return [RaterBook(path.stem, book, columns)]
    records = list(read_table(path, rows_of=single))
    names = _names(records)
    reader = export_reader(records, names)
    roles = matching_roles(names, columns_of_roles)
    left_out = {}
    if reader is read_label_studio_rows:
        rows = _rows_of_raters(path, records, "annotator")
    elif reader or all(role in roles for role in NEEDED):
        annotations = _annotations_of(path, records, columns_of_roles)
        rows, left_out = _rows_of_judgements(path, annotations)
    elif "rater" in roles:
        rows = _rows_of_raters(path, records, roles["rater"])
    else:
        raise InputError(f"{path}: no column names the raters: say columns rater=COLUMN")
    columns = {name: column for name, column in columns.items() if name not in ROLES}
    books = []
    for rater, numbered in rows.items():
        numbers, cells = zip(*numbered, strict=True)
        table = pd.DataFrame(list(cells), list(numbers), dtype=object)
        book = Book(path, (Sheet(path.name, 1, table),))
        books.append(RaterBook(rater, book, columns, tuple(left_out.get(rater, ()))))
    return books


def _holds_several_raters(book, columns):
    """Say whether a table is an export or names its raters in a column, by the names in it."""
    if book.path.suffix.lower() != ".csv":
        return "rater" in columns
    names = list(book.sheets[0].table)
    if "annotation_id" in names or ("instance_id" in names and any(map(potato_label, names))):
        return True
    return matching_roles(names, columns).get("rater") not in (None, *LIKERT.names)


def _rows_of_judgements(path, annotations):
    """Give each rater's rows, a column for each criterion, and the judgements left out."""
    ratings, _ = distinct_ratings(path, annotations)
    criteria = dict.fromkeys(ratings["criterion"])
    blanks = [judgement for judgement in annotations.judgements if judgement.reason == BLANK]
    rows = defaultdict(dict)
    for judgement in [*ratings.itertuples(), *blanks]:
        empty = {ITEM: judgement.item, **annotations.fields.get(judgement.item, {}), **criteria}
        _, cells = rows[judgement.rater].setdefault(judgement.item, (judgement.row, empty))
        if judgement.reason is None:
            cells[judgement.criterion] = judgement.rating
    left_out = defaultdict(list)
    for judgement in annotations.judgements:
        if judgement.reason not in (None, BLANK):
            rater = judgement.rater if judgement.rater in rows else next(iter(rows))
            left_out[rater].append(judgement)
    return {rater: by_item.values() for rater, by_item in rows.items()}, left_out


def _rows_of_raters(path, records, rater_column):
    """Part rows that hold all answers of one rater to one item."""
    rows = defaultdict(list)
    problems = []
    for number, record in records:
        rater = label_text(record.get(rater_column))
        if not rater:
            problems.append(f"{path}:{number}: column {rater_column!r} names no rater")
            continue
        cells = {name: row_answer(cell)[0] or None for name, cell in record.items()}
        del cells[rater_column]
        if ITEM not in cells and "id" in cells:
            cells[ITEM] = cells["id"]
        rows[rater].append((number, cells))
    refuse(problems)
    return rows


# --- files and their layouts


def read_annotations(path, columns=None):
    """Read a row per rating or an export; None of a table with a row per item."""
    columns = columns or {}
    if unknown := columns.keys() - ROLES.keys():
        raise InputError(
            f"columns: {min(unknown)!r} is none of {', '.join(ROLES)}, the columns of a rating"
        )
    annotations = []
    for file in _annotation_files(path):
        records = list(read_table(file, rows_of=single))
        annotations.append(_annotations_of(file, records, columns))
    if len(annotations) == 1:
        return annotations[0]
    judgements = []
    fields = {}
    notes = {}
    for part in annotations:
        if part is None:
            raise InputError(f"{path}: holds a file that is no export of potato: name one file")
        judgements += part.judgements
        fields |= part.fields
        notes |= dict.fromkeys(part.notes)
    return Annotations(annotations[0].layout, judgements, fields, tuple(notes))


def _annotation_files(path):
    """List the files of an export: one, or of potato's output folder all that hold answers."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = potato_files(path)
    if not files:
        raise InputError(
            f"{path}: is a folder without potato's annotated_instances or user_state.json: "
            "name a file"
        )
    return files


def potato_files(folder):
    """List the files with answers in potato's output folder: of all raters, else of each."""
    patterns = ("annotated_instances.*", "*/user_state.json", "*/annotated_instances.jsonl")
    for pattern in patterns:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def single(content):
    """Give the records of a JSON file that is one object: it is one."""
    return [content]


def _names(records):
    """Names of all fields, in order; the values are nothing."""
    return dict.fromkeys(name for _, record in records for name in record)


def _annotations_of(path, records, columns):
    """Read the records of an export or of a row per rating; None if a row may hold an item."""
    names = _names(records)
    if reader := export_reader(records, names):
        if refused := [name for name in columns if name != "item"]:
            raise InputError(f"{path}: columns: {refused[0]} has no effect on an export")
        try:
            return reader(path, records, columns.get("item"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: is not as the tool exports it: {error!r:.100}") from error
    is_table = suffix_of(path) not in OBJECTS
    roles = roles_of(path, names, columns, may_be_wide=is_table)
    return _read_long(path, records, roles) if roles else None


# --- a row per rating


def roles_of(path, names, columns, *, may_be_wide):
    """Find the columns of rater, item, rating and criterion; None if a row may hold an item."""
    for role, name in columns.items():
        if name not in names:
            raise InputError(
                f"{path}: no column {name!r}, which is to be read as {role!r}; "
                f"it has {listed(names)}"
            )
    roles = matching_roles(names, columns)
    missing = [role for role in NEEDED if role not in roles]
    if not missing:
        return roles
    near = _near_names([name for name in names if name not in roles.values()], missing)
    if columns or not may_be_wide or (len(missing) == 1 and near):
        raise InputError(
            f"{path}: a row per rating needs columns of rater, item and rating; "
            f"none names the {missing[0]} among {listed(names)}{_suggestion(near, missing[0])}"
        )
    return None


def matching_roles(names, columns):
    """Find the column of each role: the one that ``columns`` names, else by the words of it."""
    roles = dict(columns)
    for role, words in ROLES.items():
        by_word = {spelling(name): name for name in names if name not in roles.values()}
        matches = [by_word[spelling(word)] for word in words if spelling(word) in by_word]
        if role not in roles and matches:
            roles[role] = matches[0]
    return roles


def _near_names(names, roles):
    """Find, for each role, the name that is most likely a slip of one of its words."""
    near = {}
    for role in roles:
        for name in names:
            if near_names(name, ROLES[role]):
                near.setdefault(role, name)
    return near


def _suggestion(near, role):
    if role in near:
        return f": is it {near[role]!r}? Say columns {role}={near[role]}"
    return f": say columns {role}=COLUMN"


def _read_long(path, records, roles):
    """Read a row per rating."""
    judgements = []
    fields = {}
    problems = []
    for row, record in records:
        names = {role: label_text(record.get(column)) for role, column in roles.items()}
        if not names["rater"] or not names["item"]:
            problems.append(f"{path}:{row}: names no rater or no item")
            continue
        criterion = names.get("criterion", roles["rating"])
        reason = None if names["rating"] else BLANK
        judgements.append(
            Judgement(path, row, names["item"], names["rater"], criterion, names["rating"], reason)
        )
        data = {name: cell for name, cell in record.items() if name not in roles.values()}
        fields.setdefault(names["item"], data)
    refuse(problems)
    unread = [name for name in records[0][1] if name not in roles.values()]
    notes = [f"columns not read: {listed(unread)}"] if unread else []
    return Annotations("a row per rating", judgements, fields, tuple(notes))
