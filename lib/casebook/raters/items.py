"""Single rated items: what each rater gave, and where raters differ."""

import pandas as pd

from casebook.runs.items import ALL_TEXTS, item_page


def rating_items(frames, note=None):
    """Collect items with their ratings, those first on which raters differ on most criteria.

    ``frames`` are those of `casebook.raters.annotations.read_criteria`: criterion to a frame of
    items by raters. ``note`` stands on the page.
    """
    ratings = pd.concat(frames, names=["criterion", "id"]).rename_axis(columns="system")
    values = ratings.nunique(axis=1)
    different = (values > 1).unstack("criterion", fill_value=False)  # noqa: PD010
    different = (
        different[list(frames)].loc[ratings.index.unique("id")].add_suffix(": not all alike")
    )
    alike = (ratings.count(axis=1) > 1) & (values == 1)
    alike = alike.unstack("criterion", fill_value=False)[list(frames)].add_suffix(": all alike")  # noqa: PD010
    order = different.sum(axis=1).sort_values(ascending=False, kind="stable").index
    rows = ratings.stack().unstack("criterion")[list(frames)]  # noqa: PD010, PD013
    return item_page(
        different.join(alike).loc[order].reset_index(),
        rows.infer_objects().reset_index(),
        noun="item",
        by="rater",
        ready=[(tag, None, None) for tag in different.columns[different.any()]],
        shown=ALL_TEXTS,
        note=note,
    )
