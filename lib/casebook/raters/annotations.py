"""Ratings: a row each, a column a rater or a criterion, votes by category, a square table."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.data.tables import (
    NUMBER,
    ROLES,
    listed,
    read_roles,
    read_table,
    reading_text,
    refusal,
    to_type,
)
from casebook.errors import InputError

MOST_VOTES = 1_000_000


def read_ratings(path, *, criterion=None, **told):
    r"""Ratings of one criterion as a table of items x raters; empty cells are missing.

    Parameters
    ----------
    path : path-like
        CSV, TSV, JSON, JSON lines, xlsx or parquet with a row per rating, in columns called item,
        rater, rating and perhaps criterion (``casebook.data.tables.ROLES["ratings"]``).
    criterion : str, optional
        Which ratings to read, if there are those of several criteria.
    raters : sequence of str, optional
        Columns of raters, in a file with a row per item.
    criteria : sequence of str, optional
        Columns of criteria, in a file with a row per item and rater.
    columns : dict, optional
        ``item``, ``rater``, ``rating`` or ``criterion`` to the name of that column in the file.
    values : dict, optional
        Words in the file to ratings, ``{"N/A": "", "Yes": "yes"}``; "" is missing.
    rows : str, optional
        Sheet of a workbook, or path of the list in a JSON file.
    numbers : bool, optional
        Whether ratings must be numbers (True), or are labels if one is none (False). By default
        a file that has both is refused.

    Returns
    -------
    pandas.DataFrame, shape [items, raters]
        Numbers (float, NaN missing) or labels (object, None missing). ``attrs["notes"]`` says
        what was read, and what was not.

    Raises
    ------
    InputError
        In one line with what to type: if a column is not there, a rater rates an item twice, a
        word stands for a missing rating, two labels differ in case or blanks only, text stands
        among numbers, or there are several criteria and none is chosen.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("item,rater,rating\nq1,ann,4\nq1,bob,5\nq2,ann,2\n")
    >>> read_ratings(path).to_dict("index")
    {'q1': {'ann': 4.0, 'bob': 5.0}, 'q2': {'ann': 2.0, 'bob': nan}}
    >>> _ = path.write_text("item,topic,ann,bob\nq1,rent,4,5\nq2,pets,2,\n")
    >>> ratings = read_ratings(path, raters=["ann", "bob"])
    >>> ratings.to_dict("index")
    {'q1': {'ann': 4.0, 'bob': 5.0}, 'q2': {'ann': 2.0, 'bob': nan}}
    >>> ratings.attrs["notes"][1]
    'ratings: 2 items; raters ann, bob; numbers from 2 to 5; 1 missing'
    """
    frames = read_criteria(path, **told)
    if criterion is None and len(frames) > 1:
        raise refusal(path, f"rates several criteria: {listed(frames)}: choose one (--criterion)")
    criterion = criterion or next(iter(frames))
    if criterion not in frames:
        raise refusal(path, f"has no criterion {criterion!r}: it has {listed(frames)}")
    return frames[criterion]


def read_criteria(
    path, *, raters=(), criteria=(), columns=None, values=None, rows=None, numbers=None
):
    """Ratings of each criterion, see `read_ratings`: a dict of frames of items x raters."""
    table = read_table(path, rows)
    raters = _names("raters", raters)
    criteria = _names("criteria", criteria)
    if raters and criteria:
        raise InputError("raters and criteria: columns are one or the other: leave one out")
    if raters:
        reading = _read_named(table, raters, ["item", "criterion"], [], columns, values)
        ratings = _rows(reading, "rater", raters)
    elif criteria:
        ids = ["item", "rater"]
        reading = _read_named(table, criteria, ids, ids, columns, values)
        ratings = _rows(reading, "criterion", criteria)
    else:
        _refuse_no_raters(table, columns or {})
        needed = ["item", "rater", "rating"]
        other = f"; or, a column per criterion: {to_type('criteria', 'A,B')}"
        reading = read_roles(table, "ratings", needed, columns, values, hint=other)
        ratings = reading.table
    hint = ""
    if "criterion" not in ratings:
        hint = f", or name the criteria: {to_type('columns', {'criterion': 'COLUMN'})}"
        ratings = ratings.assign(criterion=reading.columns.get("rating", "ratings"))
    long = replace(reading, table=ratings)
    long.names("item")
    long.names("rater")
    long.names("criterion")
    long.refuse_repeats("item", "rater", "criterion", hint=hint)
    frames = {}
    for criterion, part in ratings.groupby("criterion", sort=False):
        frame = _items_by_raters(replace(reading, table=part), numbers)
        reading.notes.append(f"{criterion}: {_described(frame)}")
        if frame.notna().any(axis=None):
            frames[criterion] = frame
    if not frames:
        raise refusal(path, f"holds no ratings: all {len(ratings)} are empty")
    for frame in frames.values():
        frame.attrs |= {"notes": _notes(reading), "reading": reading.record()}
    return frames


def _names(option, names):
    """Names of columns, as a list or as a text with commas."""
    names = names.split(",") if isinstance(names, str) else names
    names = [name.strip() for name in names or ()]
    if "" in names or len({*names}) < len(names):
        raise InputError(f"{option} {','.join(names)!r}: name columns, each once, as A,B")
    return names


def _refuse_no_raters(table, columns):
    """Refuse a table without the roles of a row per rating: nothing in it says who rates."""
    known = {name for role in ("rater", "rating") for name in ROLES["ratings"][role]}
    if known.isdisjoint(table) and columns.keys().isdisjoint(("rater", "rating")):
        names = ", ".join(ROLES["ratings"]["rater"])
        ways = f"{to_type('raters', 'A,B')} (a column each) or "
        ways += to_type("columns", {"rater": "COLUMN"})
        ways += "; casebook agreement --counts A,B reads votes"
        problem = f"has no rater ({names}); it has {listed(table)}: type {ways}"
        raise refusal(table.attrs["path"], problem)


def _read_named(table, names, ids, needed, columns, values):
    """Columns that are named, and those that tell what a row is: without them it is an item."""
    path = table.attrs["path"]
    columns = columns or {}
    for role in columns.keys() & ROLES["ratings"].keys() - {*ids}:
        raise InputError(f"columns: {role} has no effect beside {listed(names)}: leave it out")
    for name in {*ids, *columns.values()} & {*names}:
        raise refusal(path, f"column {name!r} tells the items or raters: it has no ratings too")
    told = dict.fromkeys(ROLES["ratings"].keys() - {*ids}, "-") | columns
    reading = read_roles(table, "ratings", needed, told, values, further=names)
    if "item" not in reading:
        reading.table["item"] = reading.table.index.astype(str)
        reading.notes.append("items: the rows of the file")
    return reading


def _rows(reading, role, names):
    """A row per rating of what stands in a column per rater, or per criterion."""
    ids = reading.table.drop(columns=names)
    parts = [ids.assign(**{role: name, "rating": reading.table[name]}) for name in names]
    return pd.concat(parts)


def _items_by_raters(reading, numbers):
    """Ratings of one criterion: numbers if all are, or if one is and none may be a label."""
    table = reading.table
    words = reading.texts("rating", may_be_empty=True).replace(reading.values)
    is_number = words.str.fullmatch(NUMBER)
    if numbers is None:
        numbers = is_number.any()
    if numbers or (is_number | (words == "")).all():
        ratings = reading.numbers(
            "rating", "; or, if these are labels: casebook agreement --level nominal"
        )
    else:
        labels = reading.labels("rating")
        if labels[is_number].map(float).nunique() < labels[is_number].nunique():
            way = to_type("values", {"1.0": "1"})
            problem = f"two labels are one number, as 1 and 1.0: {way} makes them one"
            raise refusal(reading.path, problem)
        ratings = labels.where(labels != "", None)
    table = table.assign(rating=ratings)
    frame = table.pivot(index="item", columns="rater", values="rating")  # noqa: PD010
    frame = frame.reindex(index=table["item"].unique(), columns=table["rater"].unique())
    if frame.to_numpy().dtype.kind != "f":
        frame = frame.astype(object).where(frame.notna(), None)
    return frame.rename_axis(index="item", columns=None)


def _described(frame):
    """What was read of a criterion: items, raters, range or categories, missing ratings."""
    given = pd.Series(frame.to_numpy().ravel()).dropna()
    scale = f"labels {listed(given.unique())}"
    if given.dtype.kind == "f":
        scale = f"numbers from {given.min():g} to {given.max():g}"
    return f"{len(frame)} items; raters {listed(frame)}; {scale}; {frame.size - len(given)} missing"


def _notes(reading):
    """Lines of what was read, with the name of the file alone."""
    head, *_ = reading_text(reading.record()).splitlines()
    return [head, *reading.notes]


# --- tables of votes


def read_counts(path, categories, *, columns=None, values=None, rows=None):
    """Votes by category, a row per item: a frame of items x categories."""
    categories = _names("categories", categories)
    reading = _read_named(read_table(path, rows), categories, ["item"], [], columns, values)
    reading.names("item")
    reading.refuse_repeats("item")
    votes = pd.DataFrame({name: reading.numbers(name) for name in categories})
    n_empty = int(votes.isna().to_numpy().sum())
    votes = votes.fillna(0)
    is_count = (votes >= 0) & (votes % 1 == 0) & (votes <= MOST_VOTES)
    for row, cells in votes[~is_count.all(axis=1)].iterrows():
        reading.refuse(row, f"votes are no counts up to {MOST_VOTES:,}: {listed(cells)}")
    votes = votes.astype(int).set_axis(reading.table["item"], axis=0)
    per_item = listed(sorted(votes.sum(axis=1).unique()))
    sizes = f"{len(votes)} items; categories {listed(votes)}; {per_item} votes an item"
    reading.notes.append(f"{sizes}; {n_empty} empty cells are no votes")
    votes.attrs["notes"] = _notes(reading)
    return votes


def read_square(path, categories, **told):
    """Ratings of two raters, of a table of one's categories by the other's: items x raters."""
    votes = read_counts(path, categories, **told)
    if {*votes.index} != {*votes}:
        problem = f"rows are {listed(votes.index)}, not {listed(votes)}"
        way = to_type("columns", {"item": "COLUMN"})
        raise refusal(path, f"{problem}: name them in a column: {way}")
    n_votes = votes.to_numpy().ravel()
    if n_votes.sum() > MOST_VOTES:
        raise refusal(path, f"has {n_votes.sum():,} votes, more than {MOST_VOTES:,}")
    cells = pd.DataFrame(itertools.product(votes.index, votes), columns=["rows", "columns"])
    ratings = cells.loc[np.repeat(cells.index, n_votes)].reset_index(drop=True).rename_axis("item")
    ratings.attrs["notes"] = [*votes.attrs["notes"][:1], f"square: {_described(ratings)}"]
    return ratings
