"""A panel's ratings: a table of items x raters, counts, or a contingency table, checked and coded."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.sheets import names_items

MOST_CATEGORIES = 2000


class UnfitRatings(InputError):
    """Ratings of a kind that a coefficient cannot take; `code` is the reason in tables."""

    def __init__(self, code, problem):
        super().__init__(problem)
        self.code = code


@dataclass(frozen=True, eq=False)
class Panel:
    """Items rated by a panel: codes [items, raters] (-1 missing), counts [items, categories]."""

    tallied: np.ndarray | None
    categories: np.ndarray
    codes: np.ndarray | None
    raters: tuple | None
    n_rows: int
    n_rated: int
    ordered: bool = True
    large_sample: bool = False

    @property
    def n_items(self):
        """Number of items held."""
        return len(self.tallied if self.codes is None else self.codes)

    @property
    def counts(self):
        """How many raters put each item into each category."""
        if self.tallied is None:
            many = f"{len(self.categories)} distinct ratings, at most {MOST_CATEGORIES}: these are measurements"
            raise UnfitRatings("too_many_categories", f"{many}; use the intraclass correlation, or round them")
        return self.tallied

    @property
    def n_raters(self):
        """Number of raters with a rating; the most per item if only counts are known."""
        return int(self.per_item.max(initial=0)) if self.raters is None else len(self.raters)

    @cached_property
    def per_item(self):
        """Ratings per item, shape [items]."""
        return self.tallied.sum(axis=1) if self.codes is None else (self.codes >= 0).sum(axis=1).astype(float)

    @property
    def vary(self):
        """Whether the pairable ratings fall into more than one category."""
        pairable = self.per_item >= 2
        if self.tallied is not None:
            return np.count_nonzero(self.tallied[pairable].any(axis=0)) > 1
        shown = self.codes[pairable]
        return len(np.unique(shown[shown >= 0])) > 1

    @property
    def values(self):
        """Categories as numbers: themselves, or 1, 2, ... for labels in order."""
        if self.categories.dtype.kind == "f":
            return self.categories
        if not self.ordered:
            what = f"labels such as {', '.join(self.categories[:4])} have no order"
            remedy = "give categories in order, or treat the ratings as nominal"
            raise UnfitRatings("labels_without_order", f"{what}: {remedy}")
        return np.arange(1.0, len(self.categories) + 1)

    @property
    def complete(self):
        """Whether each item was rated by all raters, shape [items]."""
        return np.zeros(self.n_items, dtype=bool) if self.codes is None else (self.codes >= 0).all(axis=1)

    @property
    def indicators(self):
        """One-hot ratings, shape [items, raters, categories]; zero where missing."""
        return (self.codes[:, :, None] == np.arange(len(self.categories))).astype(float)

    def keep(self, rows):
        """Keep some items."""
        if rows.all():
            return self
        codes, tallied = (None if part is None else part[rows] for part in (self.codes, self.tallied))
        return replace(self, tallied=tallied, codes=codes)

    def only(self, columns):
        """Keep some raters, and every item."""
        codes = self.codes[:, columns]
        tallied = None if self.tallied is None else _tally(codes, len(self.categories))
        raters, rated = tuple(self.raters[k] for k in columns), int((codes >= 0).any(axis=1).sum())
        return replace(self, tallied=tallied, codes=codes, raters=raters, n_rated=rated)

    def without(self, column):
        """Leave one rater out, and keep every item."""
        return self.only([k for k in range(self.n_raters) if k != column])


def as_panel(ratings, categories=None, wide=False, ids_allowed=False):
    """Check a table of ratings."""
    if isinstance(ratings, Panel):
        return ratings
    frame = ratings
    if not isinstance(frame, pd.DataFrame):
        # A list is taken as objects: numpy would make text of numbers beside text.
        values = ratings if isinstance(ratings, np.ndarray) else np.array(ratings, dtype=object)
        if values.ndim != 2:
            raise InputError(f"ratings must be items x raters, not {values.ndim}-D")
        frame = pd.DataFrame(values)
    _refuse_other_tables(frame, wide, ids_allowed)
    scores, numeric = _matrix(frame)
    codes, scale = _encode(scores, numeric, categories)
    used = (codes >= 0).any(axis=0)
    raters = tuple(name for name, u in zip(frame.columns, used, strict=True) if u)
    codes = codes[:, used]
    codes = codes[(codes >= 0).any(axis=1)]
    ordered = numeric or categories is not None
    return Panel(_tally(codes, len(scale)), scale, codes, raters, len(frame), len(codes), ordered)


def from_counts(counts, categories=None):
    """Take a table that says how many raters chose which category."""
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any():
        raise InputError("counts must be items x categories, finite and not negative")
    scale = _scale_of_columns(categories, table.shape[1])
    rated = table.sum(axis=1) > 0
    return Panel(table[rated], scale, None, None, len(table), int(rated.sum()))


def from_table(table, categories=None):
    """Take the contingency table of two raters."""
    cells = np.asarray(table, dtype=float)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise InputError("a contingency table must be square")
    if (cells < 0).any() or (cells != np.rint(cells)).any():
        raise InputError("a contingency table holds whole numbers of items")
    codes = np.repeat(np.argwhere(np.ones_like(cells)), cells.ravel().astype(int), axis=0)
    scale, n = _scale_of_columns(categories, len(cells)), len(codes)
    return Panel(_tally(codes, len(scale)), scale, codes, ("row", "column"), n, n, large_sample=True)


def _scale_of_columns(categories, columns):
    scale = np.arange(1.0, columns + 1) if categories is None else _scale(categories)
    if len(scale) != columns:
        raise InputError(f"{len(scale)} categories for {columns} columns")
    return scale


def _tally(codes, size):
    """Count the ratings of each item by category."""
    if size > MOST_CATEGORIES:
        return None
    flat = (np.arange(len(codes))[:, None] * size + codes)[codes >= 0]
    return np.bincount(flat, minlength=len(codes) * size).astype(float).reshape(len(codes), size)


def _refuse_other_tables(frame, wide, ids_allowed):
    """Refuse a transposed table, and a column that names the items: it would ruin the agreement."""
    if not frame.columns.is_unique:
        names = frame.columns[frame.columns.duplicated()].unique()
        raise InputError(f"raters named more than once: {', '.join(map(str, names))}")
    items, raters = frame.shape
    if raters > items and not wide:
        size = f"{items} items (rows), {raters} raters (columns)"
        raise InputError(f"{size}: more raters than items; transpose the table, or allow wide tables if that is meant")
    columns = {} if ids_allowed else {name: frame[name].tolist() for name in frame}
    for name, values in columns.items():
        if names_items(name, values, [columns[other] for other in columns if other != name]):
            raise InputError(f"column {name!r} looks like names of the items: ratings.set_index(...), or leave it out")


def _matrix(frame):
    """Give numbers with NaN, or labels with None, and which of the two."""
    try:
        scores = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        labels = frame.to_numpy(dtype=object)
        if not all(isinstance(value, str) for value in labels[~pd.isna(labels)]):
            raise InputError("ratings mix numbers and text; write them all in one way") from None
        return labels, False
    if np.isinf(scores).any():
        row, column = np.argwhere(np.isinf(scores))[0]
        raise InputError(f"item {frame.index[row]}, rater {frame.columns[column]}: infinite rating")
    return scores, True


def _encode(scores, numeric, categories):
    """Give the number of each rating's category, -1 where missing, and the scale."""
    flat = pd.Series(scores.ravel())
    known = flat.dropna()
    scale = np.unique(known.to_numpy(float if numeric else str)) if categories is None else _scale(categories)
    unknown = np.unique(known[~known.isin(scale)]).tolist()
    if unknown:
        raise InputError(f"ratings outside of the categories: {unknown[:5]}")
    return pd.Categorical(flat, categories=scale).codes.astype(int).reshape(scores.shape), scale


def _scale(categories):
    values = np.array(list(categories))
    scale = values.astype(float if values.dtype.kind in "biuf" else str)
    if len(np.unique(scale)) < len(scale) or not len(scale):
        raise InputError("categories must be distinct, and at least one")
    if scale.dtype.kind == "f" and (np.diff(scale) <= 0).any():
        raise InputError("numeric categories must be given in ascending order")
    return scale
