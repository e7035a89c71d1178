"""Ratings as people have them: a row per item, a row per rating, or a form.

They become tables of items x raters, or a book for each rater, as forms are.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from casebook.data.records import field_text, read_table
from casebook.errors import InputError, refuse
from casebook.raters.layouts import LIKERT
from casebook.readers import near_names, read_yaml, spelling, suffix_of
from casebook.sheets import KINDS, Book, Sheet, as_ratings, read_book, wide_ratings

ROLES = read_yaml(Path(__file__).with_name("annotations.yml"))["roles"]
OBJECTS = (".json", ".jsonl", ".parquet")  # files of objects; others are tables
NEEDED = ("rater", "item", "rating")
ITEM = "prompt_id"  # as forms call the column that names their rows
MOST_NAMES = 5  # that a message lists


class Judgement(NamedTuple):
    """One rating by one rater of one item, "" for a blank one, and where it stands."""

    row: int
    item: str
    rater: str
    criterion: str
    rating: str


@dataclass(frozen=True, eq=False)
class LongTable:
    """A row per rating: the judgements, the further fields of their items, and notes."""

    judgements: list
    fields: dict  # of each item
    notes: list


def read_ratings(path, *, numbers=None, id_column=None, columns=None, criterion=None):
    r"""Read ratings, items x raters; blank cells are missing.

    Parameters
    ----------
    path : path-like
        CSV (comma, semicolon or tab; UTF-8), ``.xlsx`` or ``.xlsm`` with a row per item, whose
        first row names the raters; or with a row per rating, with columns such as rater, item,
        rating and perhaps criterion, in any letter case; JSON or JSON lines of such rows.
    numbers : bool, optional
        Whether ratings must be numbers (True) or may be labels (False); by default most
        of the cells tell.
    id_column : str, optional
        Column that names the items of a file with a row per item, ``""`` if there is none; by
        default the first column, if its header says so (item, unit, subject, case, question,
        prompt, id, or a name that ends in ``_id``).
    columns : dict, optional
        ``rater``, ``item``, ``rating`` or ``criterion`` to the name of that column in the file.
    criterion : str, optional
        Which ratings to read, if there are those of several criteria.

    Returns
    -------
    pandas.DataFrame, shape [items, raters]
        Numbers (float, NaN missing) or labels (object, None missing). ``attrs["notes"]`` says
        what was read of a file with a row per rating, and what was left out.

    Raises
    ------
    InputError
        If the table is damaged, names no raters, repeats an item, holds text among
        numbers, or does not say which column names the items; if a rater rates an item twice
        and differently, or there are several criteria and none is chosen.

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
    table = None if id_column is not None else read_long(path, columns)
    if table is None and criterion:
        raise InputError(f"{path}: a row holds an item, so there is no criterion {criterion!r}")
    if table is None:
        return _as_wide(path, numbers, id_column)
    ratings, notes = distinct_ratings(path, table)
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
    return _items_by_raters(path, ratings, notes, numbers)


def read_criteria(path, columns=None):
    """Read the ratings of each criterion, numbers or labels: a dict of frames."""
    table = read_long(path, columns)
    if table is None:
        return {"ratings": _as_wide(path, None, None)}
    ratings, notes = distinct_ratings(path, table)
    return {
        criterion: _items_by_raters(path, of_criterion, notes, None)
        for criterion, of_criterion in ratings.groupby("criterion", sort=False)
    }


def _as_wide(path, numbers, id_column):
    ratings = wide_ratings(path, numbers=numbers, id_column=id_column)
    ratings.attrs["notes"] = []
    return ratings


def distinct_ratings(path, table):
    """Ratings of a long table as a frame, each once, and notes on all judgements."""
    judgements = pd.DataFrame(table.judgements, columns=Judgement._fields, dtype=object)
    ratings = judgements[judgements["rating"] != ""]
    names = ["item", "rater", "criterion"]
    distinct = ratings.drop_duplicates(names)
    pairs = ratings.merge(distinct, on=names, suffixes=("", "_earlier"))
    refuse(
        [
            f"{path}:{row.row}: {row.rater} rates {row.item} a second time ({row.criterion}: "
            f"{row.rating!r}, in row {row.row_earlier} {row.rating_earlier!r}): keep one row"
            for row in pairs[pairs["rating"] != pairs["rating_earlier"]].itertuples()
        ]
    )
    n_blank = len(judgements) - len(ratings)
    if ratings.empty:
        raise InputError(f"{path}: read as a row per rating, holds no ratings: {n_blank} blank")
    notes = [f"a row per rating: {len(distinct)} ratings taken of {len(judgements)} judgements"]
    if len(distinct) < len(ratings):
        notes.append(f"{len(ratings) - len(distinct)} repeated judgements counted once")
    if n_blank:
        notes.append(f"left out: {n_blank} blank")
    return distinct, notes + table.notes


def _items_by_raters(path, judgements, notes, numbers):
    """Arrange the ratings of one criterion as items x raters."""
    ratings = judgements.set_index("row")[["rating"]].set_axis(judgements["criterion"][:1], axis=1)
    values = as_ratings(path, ratings, numbers).iloc[:, 0].to_numpy()
    frame = judgements.assign(value=values)
    wide = frame.pivot(index="item", columns="rater", values="value")  # noqa: PD010
    wide = wide.reindex(index=frame["item"].unique(), columns=frame["rater"].unique())
    if wide.to_numpy().dtype.kind != "f":
        wide = wide.astype(object).where(wide.notna(), None)
    wide.attrs["notes"] = notes
    return wide.rename_axis(index="item", columns=None)


# --- a book for each rater


class RaterBook(NamedTuple):
    """One rater's form as it came back, or the same made of a file of several raters."""

    rater: str
    book: Book
    columns: dict  # documented columns to their names in it


def form_files(paths):
    """List the forms among files and folders, or of a single one."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    files = []
    for path in map(Path, paths):
        if path.is_dir():
            files += [file for file in sorted(path.iterdir()) if _is_form(file)]
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
    records = list(read_table(path))
    roles = matching_roles(_names(records), columns_of_roles)
    if all(role in roles for role in NEEDED):
        rows = _rows_of_judgements(path, _read_long(path, records, roles))
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
        books.append(RaterBook(rater, book, columns))
    return books


def _holds_several_raters(book, columns):
    """Whether a table names its raters in a column."""
    if book.path.suffix.lower() != ".csv":
        return "rater" in columns
    roles = matching_roles(list(book.sheets[0].table), columns)
    return roles.get("rater") not in (None, *LIKERT.names)


def _rows_of_judgements(path, table):
    """Rows of each rater, a column for each criterion."""
    ratings, _ = distinct_ratings(path, table)
    criteria = dict.fromkeys(ratings["criterion"])
    blanks = [judgement for judgement in table.judgements if not judgement.rating]
    rows = defaultdict(dict)
    for judgement in [*ratings.itertuples(), *blanks]:
        empty = {ITEM: judgement.item, **table.fields[judgement.item], **criteria}
        _, cells = rows[judgement.rater].setdefault(judgement.item, (judgement.row, empty))
        if judgement.rating:
            cells[judgement.criterion] = judgement.rating
    return {rater: by_item.values() for rater, by_item in rows.items()}


def _rows_of_raters(path, records, rater_column):
    """Part rows that hold all answers of one rater to one item."""
    rows = defaultdict(list)
    problems = []
    for number, record in records:
        rater = field_text(record.get(rater_column))
        if not rater:
            problems.append(f"{path}:{number}: column {rater_column!r} names no rater")
            continue
        cells = {name: field_text(cell) or None for name, cell in record.items()}
        del cells[rater_column]
        rows[rater].append((number, cells))
    refuse(problems)
    return rows


# --- a row per rating


def read_long(path, columns=None):
    """A row per rating of a file; None where a row may hold an item."""
    path = Path(path)
    columns = columns or {}
    if unknown := columns.keys() - ROLES.keys():
        raise InputError(
            f"columns: {min(unknown)!r} is none of {', '.join(ROLES)}, the columns of a rating"
        )
    records = list(read_table(path))
    may_be_wide = suffix_of(path) not in OBJECTS
    roles = roles_of(path, _names(records), columns, may_be_wide=may_be_wide)
    return _read_long(path, records, roles) if roles else None


def _names(records):
    """Names of all fields, in order; the values are nothing."""
    return dict.fromkeys(name for _, record in records for name in record)


def _listed(names):
    more = ", ..." if len(names) > MOST_NAMES else ""
    return ", ".join(map(str, list(names)[:MOST_NAMES])) + more


def roles_of(path, names, columns, *, may_be_wide):
    """Find the columns of rater, item, rating and criterion; None if a row may hold an item."""
    for role, name in columns.items():
        if name not in names:
            raise InputError(
                f"{path}: no column {name!r}, which is to be read as {role!r}; "
                f"it has {_listed(names)}"
            )
    roles = matching_roles(names, columns)
    missing = [role for role in NEEDED if role not in roles]
    if not missing:
        return roles
    near = _near_names([name for name in names if name not in roles.values()], missing)
    if columns or not may_be_wide or (len(missing) == 1 and near):
        raise InputError(
            f"{path}: a row per rating needs columns of rater, item and rating; "
            f"none names the {missing[0]} among {_listed(names)}{_suggestion(near, missing[0])}"
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
    judgements = []
    fields = {}
    problems = []
    for row, record in records:
        texts = {role: field_text(record.get(column)) for role, column in roles.items()}
        if not texts["rater"] or not texts["item"]:
            problems.append(f"{path}:{row}: names no rater or no item")
            continue
        criterion = texts.get("criterion", roles["rating"])
        judgements.append(Judgement(row, texts["item"], texts["rater"], criterion, texts["rating"]))
        data = {name: cell for name, cell in record.items() if name not in roles.values()}
        fields.setdefault(texts["item"], data)
    refuse(problems)
    unread = [name for name in records[0][1] if name not in roles.values()]
    notes = [f"columns not read: {_listed(unread)}"] if unread else []
    return LongTable(judgements, fields, notes)
