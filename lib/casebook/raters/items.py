"""Single rated items: what each rater gave, and where raters differ."""

import pandas as pd

from casebook.runs.items import ALL_TEXTS, item_page

ALIKE = "{}: all alike"
DIFFERENT = "{}: not all alike"
UNANIMOUS = "unanimous"
NOT_UNANIMOUS = "not unanimous"
MOST_VOTES = "more votes: {}"
RATED = "{scale} of {system}"


def rating_items(frames):
    """Collect items with their ratings, those first on which raters differ on most criteria.

    ``frames`` are those of `casebook.raters.annotations.read_criteria`: criterion to a frame of
    items by raters.
    """
    names = dict.fromkeys(name for frame in frames.values() for name in frame.index)
    items = pd.DataFrame(index=pd.Index(names, name="id"))
    for criterion, frame in frames.items():
        tags = {DIFFERENT.format(criterion): _differ(frame), ALIKE.format(criterion): _agree(frame)}
        items = items.join(pd.DataFrame(tags)).fillna(False).astype(bool)
    ready = list(different_items(frames).values())
    order = items[ready].sum(axis=1).sort_values(ascending=False, kind="stable").index
    return item_page(
        items.loc[order].reset_index(),
        _by_rater(frames),
        noun="item",
        by="rater",
        ready=[(tag, None, None) for tag in ready],
        shown=ALL_TEXTS,
    )


def different_items(frames):
    """Give the tag of the items on which raters differ, by criterion, where there are any."""
    return {name: DIFFERENT.format(name) for name, frame in frames.items() if _differ(frame).any()}


def vote_items(panel, note=None):
    """Collect items with votes, sides, places and ratings, those of least agreement first.

    ``panel`` is that of `casebook.raters.analysis.analyse`; ``note`` stands on the page.
    """
    votes = panel.votes
    total = votes.sum(axis=1)
    tags = {NOT_UNANIMOUS: _differ(votes), UNANIMOUS: _agree(votes)}
    for system, vote in {panel.focus: 1, panel.against: -1}.items():
        tags[MOST_VOTES.format(system)] = total * vote > 0
        tags |= {f"{rater} for {system}": votes[rater] == vote for rater in votes}
    fields = {f"vote for {panel.focus}": votes}
    for (scale, system), ratings in panel.ratings.items():
        name = RATED.format(scale=scale, system=system)
        fields[name] = ratings
        for rating in ratings.melt()["value"].dropna().sort_values().unique():
            tags[f"{name}: {rating:g}"] = ratings.eq(rating).any(axis=1)
    fields |= {"position in the form": panel.positions, "on the left": panel.left}
    asked = panel.positions >= 1
    results = _by_rater({name: frame.where(asked) for name, frame in fields.items()})
    sides = {True: panel.focus, False: panel.against}
    results["on the left"] = results["on the left"].map(sides)
    counts = zip(votes.eq(1).sum(axis=1), votes.eq(-1).sum(axis=1), strict=True)
    items = pd.DataFrame(tags).rename_axis("id").reset_index()
    items["text"] = [f"{panel.focus} {won}, {panel.against} {lost}" for won, lost in counts]
    agreement = votes.mean(axis=1).abs().fillna(0).reset_index(drop=True)
    ready = [NOT_UNANIMOUS, *(MOST_VOTES.format(system) for system in (panel.focus, panel.against))]
    return item_page(
        items.loc[agreement.sort_values(kind="stable").index],
        results,
        noun="item",
        by="rater",
        ready=[(tag, None, None) for tag in ready],
        shown=ALL_TEXTS,
        note=note,
    )


def _differ(frame):
    return frame.apply(lambda ratings: len(set(ratings.dropna())) > 1, axis=1)


def _agree(frame):
    return (frame.notna().sum(axis=1) > 1) & ~_differ(frame)


def _by_rater(frames):
    """Give a row a rater and item, a column a frame of items by raters, where anything is given."""
    columns = {}
    for name, frame in frames.items():
        rows = frame.melt(var_name="system", value_name=name, ignore_index=False)
        columns[name] = rows.set_index("system", append=True)[name]
    rows = pd.DataFrame(columns).dropna(how="all")
    return rows.rename_axis(["id", "system"]).reset_index()
