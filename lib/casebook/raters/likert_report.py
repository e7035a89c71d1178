"""Ratings of explanations: means with intervals, distributions, agreement."""

import numpy as np
import pandas as pd

from casebook.raters.agreement_tables import alpha_row
from casebook.raters.layouts import LIKERT
from casebook.raters.rows import bounded_mean, rating_shares

SCALES = tuple(column.name for column in LIKERT.answers)


def likert_summary(ratings, *, n_boot=10_000, seed=0):
    """Summarise Likert ratings per scale and system."""
    rows = []
    for scale in SCALES:
        for system, part in ratings.groupby("system", sort=False):
            table = _wide(part, scale)
            by_item = table.mean(axis=1).dropna()
            row = {"scale": scale, "system": system or "all"}
            row |= bounded_mean("mean", by_item, n_boot=n_boot, seed=seed)
            known = part[scale].dropna()
            row["median"] = float(known.median()) if len(known) else None
            row["share_4_5"] = float((known >= 4).mean()) if len(known) else None
            row |= {"ratings": len(known), "missing": int(part[scale].isna().sum())}
            rows.append(row | alpha_row(table, n_boot=min(n_boot, 1000), seed=seed))
    return pd.DataFrame(rows)


def _wide(part, scale):
    keys = ["item_id", "chunk", "rater"]
    return part.set_index(keys)[scale].unstack("rater")  # noqa: PD010


def likert_counts(ratings):
    """Count how often each rating was given."""
    rows = []
    for scale in SCALES:
        for system, part in ratings.groupby("system", sort=False):
            row = {"scale": scale, "system": system or "all"}
            rows += [row | cells for cells in rating_shares(part[scale])]
    return pd.DataFrame(rows)


def documented_means(ratings):
    """Mean ratings as documented: two decimals, overall and per annotator."""
    return {
        "overall": _means(ratings),
        "per_annotator": {rater: _means(part) for rater, part in ratings.groupby("rater", sort=False)},
    }


def _means(part):
    means = {scale: float(part[scale].mean()) for scale in SCALES}
    return {s: None if np.isnan(m) else round(m, 2) for s, m in means.items()}
