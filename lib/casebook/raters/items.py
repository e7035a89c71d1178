"""Single rated items, for a page of their own: what each rater gave, and where raters differ."""

import pandas as pd

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
