"""Tables of ratings, of counts and of two raters, checked and made into a panel."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.agreement_panel import Panel, tally
from casebook.sheets import names_items


def as_panel(ratings, categories=None, wide=False, every_row=False, ids_allowed=False):
    """Check a table of ratings."""
    if isinstance(ratings, Panel):
        return ratings
    frame = as_frame(ratings)
    _refuse_transposed(frame, wide)
    if not ids_allowed:
        _refuse_ids(frame)
    scores, numeric = _matrix(frame)
    codes, scale = _encode(scores, numeric, categories)
    used = (codes >= 0).any(axis=0)
    raters = tuple(name for name, u in zip(frame.columns, used, strict=True) if u)
    codes = codes[:, used]
    rated = (codes >= 0).any(axis=1)
    codes = codes if every_row else codes[rated]
    ordered = numeric or categories is not None
    counts, n_rated = tally(codes, len(scale)), int(rated.sum())
    return Panel(counts, scale, codes, raters, len(frame), n_rated, ordered)


def from_counts(counts, categories=None):
    """Take a table that says how many raters chose which category."""
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any():
        raise InputError("counts must be items x categories, finite and not negative")
    scale = np.arange(1.0, table.shape[1] + 1)
    if categories is not None:
        scale = _scale(categories)
    if len(scale) != table.shape[1]:
        raise InputError(f"{len(scale)} categories for {table.shape[1]} columns")
    rated = table.sum(axis=1) > 0
    return Panel(table[rated], scale, None, None, len(table), int(rated.sum()))


def from_table(table, categories=None):
    """Take the contingency table of two raters."""
    cells = np.asarray(table, dtype=float)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise InputError("a contingency table must be square")
    if (cells < 0).any() or (cells != np.rint(cells)).any():
        raise InputError("a contingency table holds whole numbers of items")
    rows, columns = np.indices(cells.shape).reshape(2, -1)
    codes = np.repeat(np.stack([rows, columns], 1), cells.ravel().astype(int), axis=0)
    scale = np.arange(1.0, len(cells) + 1) if categories is None else _scale(categories)
    if len(scale) != len(cells):
        raise InputError(f"{len(scale)} categories for {len(cells)} columns")
    counts, n = tally(codes, len(scale)), len(codes)
    return Panel(counts, scale, codes, ("row", "column"), n, n, large_sample=True)


def as_frame(ratings):
    """Give a table of ratings as a frame, whose labels are numbers if it had none."""
    if isinstance(ratings, pd.DataFrame):
        return ratings
    # A list is taken as objects: numpy would make text of numbers beside text.
    given = isinstance(ratings, np.ndarray)
    values = ratings if given else np.array(ratings, dtype=object)
    if values.ndim != 2:
        raise InputError(f"ratings must be items x raters, not {values.ndim}-D")
    return pd.DataFrame(values)


def _refuse_transposed(frame, wide):
    if not frame.columns.is_unique:
        names = frame.columns[frame.columns.duplicated()].unique()
        raise InputError(f"raters named more than once: {', '.join(map(str, names))}")
    items, raters = frame.shape
    if raters > items and not wide:
        raise InputError(
            f"{items} items (rows) and {raters} raters (columns): more raters than "
            "items; transpose the table, or allow wide tables if that is meant"
        )


def _refuse_ids(frame):
    """Refuse a column that names the items: as a rater it would ruin the agreement."""
    columns = {name: frame[name].tolist() for name in frame}
    for name, values in columns.items():
        others = [columns[other] for other in columns if other != name]
        if names_items(name, values, others):
            raise InputError(
                f"column {name!r} looks like names of the items, not ratings: make it "
                "the index (ratings.set_index(...)) or leave it out"
            )


def _matrix(frame):
    """Give numbers with NaN, or labels with None, and which of the two."""
    try:
        scores = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        labels = frame.to_numpy(dtype=object)
        present = labels[~pd.isna(labels)]
        if not all(isinstance(value, str) for value in present):
            problem = "ratings mix numbers and text; write them all in one way"
            raise InputError(problem) from None
        return labels, False
    if np.isinf(scores).any():
        row, column = np.argwhere(np.isinf(scores))[0]
        raise InputError(f"item {frame.index[row]}, rater {frame.columns[column]}: infinite rating")
    return scores, True


def _encode(scores, numeric, categories):
    """Give the number of each rating's category, -1 where missing, and the scale."""
    flat = scores.ravel()
    missing = pd.isna(flat)
    found, inverse = np.unique(flat[~missing].astype(float if numeric else str), return_inverse=True)
    scale = found if categories is None else _scale(categories)
    codes = np.full(flat.shape, -1)
    if categories is None:
        codes[~missing] = inverse
    else:
        codes[~missing] = _places(found, scale)[inverse]
    return codes.reshape(scores.shape), scale


def _scale(categories):
    values = np.array(list(categories))
    scale = values.astype(float if values.dtype.kind in "biuf" else str)
    if len(np.unique(scale)) < len(scale) or not len(scale):
        raise InputError("categories must be distinct, and at least one")
    if scale.dtype.kind == "f" and (np.diff(scale) <= 0).any():
        raise InputError("numeric categories must be given in ascending order")
    return scale


def _places(found, scale):
    place = {value: k for k, value in enumerate(scale.tolist())}
    unknown = [value for value in found.tolist() if value not in place]
    if unknown:
        raise InputError(f"ratings outside of the categories: {unknown[:5]}")
    return np.array([place[value] for value in found.tolist()], dtype=int)
