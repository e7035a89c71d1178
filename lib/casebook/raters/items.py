"""Single rated items: what each rater gave, and where raters differ."""

import numpy as np
import pandas as pd

from casebook.runs.items import ALL_TEXTS, item_page

ALIKE = "{}: all alike"
DIFFERENT = "{}: not all alike"
NOT_UNANIMOUS = "not unanimous"
MOST_VOTES = "more votes: {}"
RATED = "{scale} of {system}"


def rating_items(frames):
    """Collect items with their ratings, those first on which raters differ on most criteria.

    ``frames`` are those of `casebook.raters.annotations.read_criteria`: criterion to a frame of
    items by raters.
    """
    is_different = pd.DataFrame({name: _differ(frame) for name, frame in frames.items()})
    order = is_different.fillna(False).astype(int).sum(axis=1)
    tags = {name: [] for name in order.sort_values(ascending=False, kind="stable").index}
    for criterion, frame in frames.items():
        for name in frame.index[frame.notna().sum(axis=1) > 1]:
            tag = DIFFERENT if is_different.loc[name, criterion] else ALIKE
            tags[name].append(tag.format(criterion))
    return item_page(
        pd.DataFrame({"id": list(tags), "tags": list(tags.values())}),
        _by_rater(frames),
        noun="item",
        by="rater",
        ready=[(tag, None, None) for tag in different_items(frames).values()],
        shown=ALL_TEXTS,
    )


def different_items(frames):
    """Give the tag of the items on which raters differ, by criterion, where there are any."""
    return {name: DIFFERENT.format(name) for name, frame in frames.items() if _differ(frame).any()}


def vote_items(panel, note=None):
    """Collect items with votes, sides, places and ratings, those of least agreement first.

    ``panel`` is that of `casebook.raters.analysis.analyse`; ``note`` stands on the page.
    """
    focus, against = panel.focus, panel.against
    asked = panel.positions >= 1
    fields = {f"vote for {focus}": panel.votes}
    for (scale, system), ratings in panel.ratings.items():
        fields[RATED.format(scale=scale, system=system)] = ratings
    fields |= {"position in the form": panel.positions, "on the left": panel.left}
    results = _by_rater({name: frame.where(asked) for name, frame in fields.items()})
    results["on the left"] = results["on the left"].map({True: focus, False: against})
    wins = panel.votes.eq(1).sum(axis=1)
    losses = panel.votes.eq(-1).sum(axis=1)
    leading = np.select([wins > losses, wins < losses], [focus, against], "none")
    items = pd.DataFrame({"id": panel.votes.index})
    items["text"] = [
        f"{focus} {won}, {against} {lost}" for won, lost in zip(wins, losses, strict=True)
    ]
    items["tags"] = [
        [MOST_VOTES.format(most), *_tags_of_votes(panel, item)]
        for item, most in zip(panel.votes.index, leading, strict=True)
    ]
    order = panel.votes.mean(axis=1).abs().fillna(0).to_numpy().argsort(kind="stable")
    return item_page(
        items.iloc[order],
        results,
        noun="item",
        by="rater",
        ready=[
            (tag, None, None) for tag in (NOT_UNANIMOUS, *map(MOST_VOTES.format, (focus, against)))
        ],
        shown=ALL_TEXTS,
        note=note,
    )


def _tags_of_votes(panel, item):
    """Tag an item by whether its raters agree, whom each prefers, and the ratings."""
    votes = panel.votes.loc[item].dropna()
    names = {1: panel.focus, -1: panel.against}
    tags = [f"{rater} for {names[vote]}" for rater, vote in votes.items() if vote in names]
    if len(votes) > 1:
        tags.append(NOT_UNANIMOUS if len(set(votes)) > 1 else "unanimous")
    for (scale, system), ratings in panel.ratings.items():
        given = sorted(set(ratings.loc[item].dropna()))
        tags += [f"{RATED.format(scale=scale, system=system)}: {rating:g}" for rating in given]
    return tags


def _differ(frame):
    return frame.apply(lambda ratings: len(set(ratings.dropna())) > 1, axis=1)


def _by_rater(frames):
    """Give a row a rater and item, a column a frame of items by raters, where anything is given."""
    columns = {}
    for name, frame in frames.items():
        rows = frame.melt(var_name="system", value_name=name, ignore_index=False)
        columns[name] = rows.set_index("system", append=True)[name]
    rows = pd.DataFrame(columns).dropna(how="all")
    return rows.rename_axis(["id", "system"]).reset_index()
