"""Ratings as every agreement coefficient reads them: codes, counts and categories."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from casebook.errors import InputError

MOST_CATEGORIES = 2000


@dataclass(frozen=True, eq=False)
class Panel:
    """Items rated by a panel."""

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
            raise InputError(
                f"{len(self.categories)} distinct ratings, at most {MOST_CATEGORIES}: "
                "these are measurements; use the intraclass correlation, or round them"
            )
        return self.tallied

    @property
    def n_raters(self):
        """Number of raters with a rating; the most per item if only counts are known."""
        if self.raters is not None:
            return len(self.raters)
        return int(self.per_item.max(initial=0))

    @cached_property
    def per_item(self):
        """Ratings per item, shape [items]."""
        if self.codes is None:
            return self.tallied.sum(axis=1)
        return (self.codes >= 0).sum(axis=1).astype(float)

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
            labels = ", ".join(self.categories[:4])
            raise InputError(
                f"labels such as {labels} have no order: give categories in order, or treat the ratings as nominal"
            )
        return np.arange(1.0, len(self.categories) + 1)

    @property
    def complete(self):
        """Whether each item was rated by all raters, shape [items]."""
        if self.codes is None:
            return np.zeros(self.n_items, dtype=bool)
        return (self.codes >= 0).all(axis=1)

    @property
    def indicators(self):
        """One-hot ratings, shape [items, raters, categories]; zero where missing."""
        return (self.codes[:, :, None] == np.arange(len(self.categories))).astype(float)

    @property
    def flat_indicators(self):
        """One-hot ratings, shape [items, raters * categories]."""
        width = self.n_raters * len(self.categories)
        return self.indicators.reshape(self.n_items, width)

    def keep(self, rows):
        """Keep some items."""
        if rows.all():
            return self
        codes, tallied = (None if part is None else part[rows] for part in (self.codes, self.tallied))
        return replace(self, tallied=tallied, codes=codes)

    def blank(self, rows):
        """Take the ratings of some items away, and leave the items."""
        if not rows.any():
            return self
        gone = rows[:, None]
        codes = None if self.codes is None else np.where(gone, -1, self.codes)
        tallied = None if self.tallied is None else np.where(gone, 0.0, self.tallied)
        return replace(self, tallied=tallied, codes=codes)

    def without(self, column):
        """Leave one rater out, and keep every item."""
        codes, tallied = np.delete(self.codes, column, axis=1), None
        if self.tallied is not None:
            theirs = self.codes[:, [column]] == np.arange(len(self.categories))
            tallied = self.tallied - theirs
        return replace(
            self,
            tallied=tallied,
            codes=codes,
            raters=self.raters[:column] + self.raters[column + 1 :],
            n_rated=int((codes >= 0).any(axis=1).sum()),
        )


def tally(codes, size):
    """Count the ratings of each item by category."""
    if size > MOST_CATEGORIES:
        return None
    rows = np.arange(len(codes))[:, None] * size
    present = codes >= 0
    flat = (rows + codes)[present]
    counts = np.bincount(flat, minlength=len(codes) * size).astype(float)
    return counts.reshape(len(codes), size)
