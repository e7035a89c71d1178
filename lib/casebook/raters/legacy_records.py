"""Rows of rated forms, in the shape that the documented analysis reads."""

from pathlib import Path

from casebook.errors import InputError
from casebook.raters.layouts import PAIRED
from casebook.raters.responses import renamed
from casebook.raters.unblinding import SCALES, SIDE_COLUMN
from casebook.sheets import header_of, read_book, sheet_records

ANSWERS = [column.name for column in PAIRED.answers]


def read_records(paths, side_column=None, *, last_column=False, columns=None):
    """Read the first sheet of each form as the documented analysis does."""
    side_column = side_column or SIDE_COLUMN
    return [_records(Path(p), side_column, last_column, columns or {}) for p in paths]


def _records(path, side_column, last_column, columns):
    grid = renamed(path, read_book(path).grids[:1], columns)[0]
    names = [name for name in header_of(grid)[1] if name]
    if side_column not in names and not last_column:
        raise InputError(
            f"{path}: no key column {side_column!r} among {', '.join(names)}: name it "
            "with --side-col, or allow the last column with --last-column"
        )
    key = side_column if side_column in names else names[-1]
    needed = {*ANSWERS, key}
    rows = [record for _, record in sheet_records(path, grid, needed)]
    return path.name, [row | {"side": row[key]} for row in rows]


def records_of(votes, suffix=""):
    """Give unblinded votes in the form that the documented analysis reads."""
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
