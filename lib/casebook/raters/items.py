"""Single rated items, for a page of their own: what each rater gave, and where raters differ."""

import numpy as np
import pandas as pd

from casebook.raters.layouts import PAIRED_SCALES
from casebook.runs.outputs import plain_items

ALIKE = "{}: all alike"
DIFFERENT = "{}: not all alike"


def rating_items(frames):
    """Give items with their ratings, those first on which raters differ on most criteria.

    ``frames`` are those of `casebook.raters.annotations.read_criteria`: criterion to a frame of
    items by raters.
    """
    names = list(dict.fromkeys(name for frame in frames.values() for name in frame.index))
    raters = list(dict.fromkeys(rater for frame in frames.values() for rater in frame))
    tables = {
        criterion: frame.reindex(index=names, columns=raters) for criterion, frame in frames.items()
    }
    items = [_rated_item(name, tables, raters) for name in names]
    order = sorted(range(len(items)), key=lambda k: -_differences(items[k]))
    return plain_items("ratings", items, order, criteria=list(frames))


def different_items(frames):
    """Give the tag of the items on which raters differ, by criterion, where there are any."""
    tags = {}
    for criterion, frame in frames.items():
        if any(_are_different(ratings) for _, ratings in frame.iterrows()):
            tags[criterion] = DIFFERENT.format(criterion)
    return tags


def vote_items(panel, remark=""):
    """Give items with their votes, sides, places and ratings, those of least agreement first.

    ``panel`` is that of `casebook.raters.analysis.analyse`; ``remark`` stands on the page.
    """
    items = []
    for item in panel.votes.index:
        raters = [rater for rater in panel.raters if panel.positions.loc[item, rater] >= 1]
        votes = [_vote(panel, item, rater) for rater in raters]
        items.append({"id": str(item), "votes": votes})
    agreement = panel.votes.mean(axis=1).abs().fillna(0).to_numpy()
    return plain_items(
        "votes",
        items,
        np.argsort(agreement, kind="stable").tolist(),
        controls=[],
        systems=[panel.focus, panel.against],
        scales=list(PAIRED_SCALES),
        remark=remark or None,
    )


def _vote(panel, item, rater):
    """Give one rater's vote on one item, with side, place and the ratings by scale and system."""
    ratings = [
        [
            _integer(panel.ratings[scale, system].loc[item, rater])
            for system in (panel.focus, panel.against)
        ]
        for scale in PAIRED_SCALES
    ]
    return {
        "rater": str(rater),
        "vote": _integer(panel.votes.loc[item, rater]),
        "left": bool(panel.left.loc[item, rater]),
        "place": _integer(panel.positions.loc[item, rater]),
        "ratings": ratings,
    }


def _integer(value):
    return None if pd.isna(value) else int(value)


def _rated_item(name, tables, raters):
    rows = []
    for rater in raters:
        row = [_rating(table.loc[name, rater]) for table in tables.values()]
        if any(value is not None for value in row):
            rows.append([str(rater), *row])
    tags = []
    for criterion, table in tables.items():
        ratings = table.loc[name].dropna()
        if len(ratings) > 1:
            tags.append((DIFFERENT if _are_different(ratings) else ALIKE).format(criterion))
    return {"id": str(name), "ratings": rows, "tags": tags}


def _are_different(ratings):
    return len(set(ratings.dropna())) > 1


def _rating(value):
    if pd.isna(value):
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


def _differences(item):
    return sum(tag.endswith(DIFFERENT.format("")) for tag in item["tags"])
