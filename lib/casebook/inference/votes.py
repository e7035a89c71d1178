"""Votes of a panel on pairs of answers, as a matrix of items and raters."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.samples import check_choice

TIES = ("drop", "half")


@dataclass(frozen=True)
class VoteCounts:
    """Votes by outcome for the first system; missing ones are counted, not dropped."""

    wins: int
    ties: int
    losses: int
    missing: int


def vote_matrix(table, *, win, loss, tie="Tie"):
    """Arrange votes in a matrix of items and raters."""
    missing = {"item", "rater", "preference"} - set(table)
    if missing:
        raise InputError(f"votes lack the column {min(missing)!r}")
    known = table["preference"].isin([win, loss, tie]) | table["preference"].isna()
    if not known.all():
        row = table[~known].iloc[0]
        raise InputError(
            f"item {row['item']}, {row['rater']}: preference {row['preference']!r} is none of {win}, {loss}, {tie}"
        )
    twice = table[table.duplicated(["item", "rater"])]
    if len(twice):
        row = twice.iloc[0]
        raise InputError(f"item {row['item']}: {row['rater']} votes more than once")
    values = table["preference"].map({win: 1.0, loss: -1.0, tie: 0.0})
    keys = pd.MultiIndex.from_frame(table[["item", "rater"]])
    return values.set_axis(keys).unstack().sort_index(axis=0).sort_index(axis=1)  # noqa: PD010


def check_votes(votes):
    """Check a matrix of votes and give it as an array."""
    try:
        V = np.asarray(votes, dtype=float)
    except (TypeError, ValueError) as problem:
        raise InputError(f"votes must be 1, 0, -1 or missing: {problem}") from None
    if V.ndim != 2:
        raise InputError(f"votes must be items x raters, not {V.ndim}-dimensional")
    wrong = V[~np.isnan(V) & ~np.isin(V, (-1, 0, 1))]
    if wrong.size:
        raise InputError(f"votes must be 1, 0, -1 or missing, not {wrong[0]:g}")
    if np.isnan(V).all():
        raise InputError("there are no votes")
    return V


def check_sides(votes, on_the_left):
    """Check the sides of a matrix of votes and give them as an array."""
    V = check_votes(votes)
    left = np.asarray(on_the_left)
    if left.shape != V.shape:
        raise InputError(f"sides must have the shape of the votes, {V.shape}")
    cast = ~np.isnan(V)
    if any(side not in (True, False) for side in left[cast]):
        raise InputError("every vote needs a side: True or False")
    sides = np.zeros(V.shape, dtype=bool)
    sides[cast] = left[cast].astype(bool)
    return sides


def count_votes(votes):
    """Count votes by outcome."""
    V = np.asarray(votes, dtype=float)
    outcomes = (int(np.count_nonzero(value == V)) for value in (1, 0, -1))
    return VoteCounts(*outcomes, missing=int(np.count_nonzero(np.isnan(V))))


def preference_scores(votes, ties="half"):
    """Score votes as shares of a win."""
    check_choice("ties", ties, TIES)
    V = check_votes(votes)
    scores = (V + 1) / 2
    if ties == "drop":
        scores[V == 0] = np.nan
    return scores


def item_means(votes):
    """Mean net vote of every item that has a vote."""
    V = check_votes(votes)
    return np.nanmean(V[~np.isnan(V).all(axis=1)], axis=1)
