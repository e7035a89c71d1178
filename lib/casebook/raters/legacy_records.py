"""Rows of rated forms, in the shape that the documented analysis reads."""

from pathlib import Path

from casebook.errors import InputError
from casebook.raters.grids import read_book
from casebook.raters.unblinding import SCALES, SIDE_COLUMN


def read_records(paths, side_column=None, *, last_column=False):
    """Read the first sheet of each form as the documented analysis does.

    Parameters
    ----------
    paths : sequence of path-like
        Forms in the documented layout.
    side_column : str, optional
        Column of the key; ``_rag_side_for_analysis`` by default.
    last_column : bool
        Take the last column where there is none of that name.

    Returns
    -------
    list of (str, list of dict)
        Base name of each file and its rows, with ``side`` for the key.

    Raises
    ------
    InputError
        If a form cannot be read or has no key column.
    """
    return [_records(Path(p), side_column or SIDE_COLUMN, last_column) for p in paths]


def _records(path, side_column, last_column):
    grid = read_book(path).grids[0]
    if not grid.rows:
        raise InputError(f"{path}: sheet {grid.name!r} is empty")
    (_, head), *rows = sorted(grid.rows.items())
    names = [str(name).strip() if name is not None else "" for name in head]
    if side_column not in names and not last_column:
        raise InputError(
            f"{path}: no key column {side_column!r}: name it with --side-col, or allow "
            "the last column with --last-column"
        )
    key = names.index(side_column) if side_column in names else len(names) - 1
    records = []
    for _, cells in rows:
        padded = [*cells, *[None] * (len(names) - len(cells))]
        record = dict(zip(names, padded, strict=False))
        records.append(record | {"side": padded[key]})
    return path.name, records


def records_of(votes, suffix=""):
    """Give unblinded votes in the form that the documented analysis reads.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        Votes of two systems.
    suffix : str
        Added to the raters' labels, to give the documented file names.

    Returns
    -------
    list of (str, list of dict)
        As `read_records`; the focus system stands for RAG.
    """
    found = []
    for rater in votes.raters:
        part = votes.frame[votes.frame["rater"] == rater].to_dict("records")
        rows = []
        for row in part:
            side = {row["left"]: "S1", row["right"]: "S2"}.get(votes.focus)
            scores = {
                f"{scale}_{column}": row[f"{scale}_{place}"]
                for scale in SCALES
                for column, place in (("s1", "left"), ("s2", "right"))
            }
            known = {"prompt_text": row["item_id"], "preferred": row["preferred"]}
            rows.append(known | scores | {"side": side})
        found.append((f"{rater}{suffix}", rows))
    return found
