"""Ratings: a row each, a column a rater or a criterion, votes by category."""

from dataclasses import replace

import pandas as pd

from casebook.data.tables import (
    NUMBER,
    listed,
    read_roles,
    read_table,
    refusal,
    to_type,
)


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
        Numbers (float, NaN missing) or labels (object, None missing). ``attrs["reading"]`` says
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
    >>> ratings.attrs["reading"]["notes"]
    'ratings: 2 items; raters ann, bob; numbers from 2 to 5; 1 missing'
    """
    frames = read_criteria(path, **told)
    chosen = [criterion] if criterion else list(frames)
    if len(chosen) > 1 or chosen[0] not in frames:
        raise refusal(
            path, f"rates the criteria {listed(frames)}: choose one (--criterion)"
        )
    return frames[chosen[0]]


def read_criteria(
    path, *, raters=(), criteria=(), columns=None, values=None, rows=None, numbers=None
):
    """Ratings of each criterion, see `read_ratings`: a dict of frames of items x raters."""
    table = read_table(path, rows)
    if raters or criteria:
        role = "rater" if raters else "criterion"
        needed = () if raters else ("item", "rater")
        roles = (role, "rating")
        reading = _with_columns(
            table, raters or criteria, roles, columns, values, needed
        )
        ids = list(reading.table.columns.drop(reading.further))
        cells = reading.table.set_index(ids, append=True).rename_axis(columns=role)
        ratings = cells.stack().rename("rating").reset_index([*ids, role])  # noqa: PD013
    else:
        ways = f"{to_type('raters', 'A,B')}, {to_type('criteria', 'A,B')}"
        ways = f"; or a column each: {ways}; votes: casebook agreement --counts A,B"
        for needed in (["rater"], ["item", "rating"]):  # who rates is asked first
            reading = read_roles(table, "ratings", needed, columns, values, hint=ways)
        ratings = reading.table
    if "criterion" not in ratings:
        ratings["criterion"] = reading.columns.get("rating", "ratings")
    long = replace(reading, table=ratings)
    for role in ("item", "rater", "criterion"):
        long.names(role)
    hint = f"; of several criteria: {to_type('columns', {'criterion': 'COLUMN'})}"
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
        frame.attrs["reading"] = reading.record()
    return frames


def _with_columns(table, names, others, columns, values, needed=()):
    """Columns that are a rater, a criterion or a category each, and what a row has besides."""
    names = names.replace(", ", ",").split(",") if isinstance(names, str) else names
    columns = (columns or {}) | dict.fromkeys(others, "-")
    reading = read_roles(table, "ratings", needed, columns, values, further=names)
    if "item" not in reading:
        reading.table["item"] = reading.table.index.astype(str)
        reading.notes.append("items: the rows of the file")
    return reading


def _items_by_raters(reading, numbers):
    """Ratings of one criterion: numbers if all are, or if one is and none may be a label."""
    table = reading.table
    words = reading.texts("rating", may_be_empty=True).replace(reading.values)
    is_number = words.str.fullmatch(NUMBER)
    numbers = is_number.any() if numbers is None else numbers
    if numbers or (is_number | (words == "")).all():
        ratings = reading.numbers(
            "rating", "; of labels: casebook agreement --level nominal"
        )
    else:
        labels = reading.labels("rating")
        ratings = labels.where(labels != "", None)
    frame = table.assign(rating=ratings)
    frame = frame.pivot(index="item", columns="rater", values="rating")  # noqa: PD010
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


# --- tables of votes


def read_counts(path, categories, *, columns=None, values=None, rows=None):
    """Votes by category, a row per item: a frame of items x categories."""
    others = ("rater", "criterion", "rating")
    reading = _with_columns(read_table(path, rows), categories, others, columns, values)
    items = reading.names("item")
    reading.refuse_repeats("item")
    votes = pd.DataFrame(
        {name: reading.numbers(name) for name in reading.further}
    ).fillna(0)
    for row in votes.index[~votes.isin(range(100_000)).all(axis=1)][:1]:
        # Or a hundred thousand in one cell.
        reading.refuse(row, f"votes are no counts: {listed(votes.loc[row])}")
    counts = votes.astype(int).set_axis(items, axis=0)
    per_item = listed(sorted(counts.sum(axis=1).unique()))
    note = f"{len(counts)} items; categories {listed(counts)}; {per_item} votes an item"
    reading.notes.append(note)
    counts.attrs["reading"] = reading.record()
    return counts
