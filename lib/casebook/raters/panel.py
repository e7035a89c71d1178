"""Judgements of a panel as matrices of items and raters, for one pair of systems."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.votes import vote_matrix
from casebook.raters.unblinding import SCALES


@dataclass(frozen=True, eq=False)
class Panel:
    """What a panel said of two systems; all frames are items x raters."""

    focus: str
    other: str
    votes: pd.DataFrame
    left: pd.DataFrame
    place: pd.DataFrame
    ratings: dict
    strata: pd.Series
    texts: pd.DataFrame
    rows: pd.DataFrame

    @property
    def raters(self):
        """Raters, in order."""
        return list(self.votes.columns)

    def long_ratings(self, scales=SCALES):
        """Give a row per rating: item, rater, system, scale, rating (NaN: missing)."""
        parts = [
            self.ratings[scale, system]
            .rename_axis(index="item", columns="rater")
            .melt(ignore_index=False, value_name="rating")
            .reset_index()
            .assign(system=system, scale=scale)
            for scale in scales
            for system in (self.focus, self.other)
        ]
        table = pd.concat(parts, ignore_index=True)
        keys = pd.MultiIndex.from_frame(table[["item", "rater"]])
        judged = pd.MultiIndex.from_frame(self.rows[["item_id", "rater"]])
        return table[keys.isin(judged)].reset_index(drop=True)

    def differences(self, scale):
        """Ratings of the focus system minus those of the other, items x raters."""
        return self.ratings[scale, self.focus] - self.ratings[scale, self.other]


def panel_of(votes, other=None):
    """Arrange the judgements on one pair of systems."""
    focus = votes.focus
    others = [system for system in votes.systems if system != focus]
    if other is None and len(others) == 1:
        other = others[0]
    if other not in others:
        raise InputError(f"say which system {focus} is held against: {others}")
    frame = votes.frame
    pair = frame["left"].isin([focus, other]) & frame["right"].isin([focus, other])
    rows = frame[pair]
    if rows.empty:
        raise InputError(f"there is no judgement on {focus} and {other}")
    rows = rows.assign(focus_left=rows["left"] == focus)
    table = rows.rename(columns={"item_id": "item", "choice": "preference"})
    matrix = vote_matrix(table, win=focus, loss=other)
    matrix = matrix.reindex(columns=[r for r in votes.raters if r in matrix])

    def wide(values):
        keys = pd.MultiIndex.from_frame(rows[["item_id", "rater"]])
        unstacked = pd.Series(list(values), index=keys).unstack()  # noqa: PD010
        return unstacked.reindex(index=matrix.index, columns=matrix.columns)

    by_item = rows.drop_duplicates("item_id").set_index("item_id")
    return Panel(
        focus,
        other,
        matrix,
        wide(rows["focus_left"]),
        wide(rows["place"]),
        _ratings(rows, focus, other, wide),
        by_item["stratum"].reindex(matrix.index),
        _texts(by_item, focus, other).reindex(matrix.index),
        rows,
    )


def _ratings(rows, focus, other, wide):
    found = {}
    for scale in SCALES:
        sides = [rows[f"{scale}_{side}"].to_numpy(float) for side in ("left", "right")]
        left = rows["focus_left"].to_numpy(bool)
        found[scale, focus] = wide(np.where(left, *sides)).astype(float)
        found[scale, other] = wide(np.where(left, *sides[::-1])).astype(float)
    return found


def _texts(by_item, focus, other):
    left = by_item["focus_left"]
    one, two = by_item["text_left"], by_item["text_right"]
    return pd.DataFrame({"prompt": by_item["prompt"], focus: one.where(left, two), other: two.where(left, one)})
