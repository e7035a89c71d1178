"""Ratings of explanations: means with intervals, distributions, agreement."""

import numpy as np
import pandas as pd

from casebook.raters.agreement_tables import alpha_row
from casebook.raters.layouts import LIKERT
from casebook.raters.rows import bounded_mean, rating_shares

SCALES = tuple(column.name for column in LIKERT.answers)


def likert_summary(ratings, *, n_boot=10_000, seed=0):
    """Summarise Likert ratings per scale and system.

    Parameters
    ----------
    ratings : pandas.DataFrame
        From `casebook.raters.unblinding.unblind_likert`.
    n_boot, seed
        Of the bootstrap of explanations.

    Returns
    -------
    pandas.DataFrame
        Columns scale, system, mean (over explanations, of their mean ratings) with
        bounds, median, n (explanations), ratings, missing, share_4_5 (of ratings), and
        the ordinal alpha with both intervals, percent_agreement, raters and reason.
    """
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
    """Count how often each rating was given.

    Parameters
    ----------
    ratings : pandas.DataFrame
        As for `likert_summary`.

    Returns
    -------
    pandas.DataFrame
        Columns scale, system, rating (1 to 5), count and share.
    """
    rows = []
    for scale in SCALES:
        for system, part in ratings.groupby("system", sort=False):
            row = {"scale": scale, "system": system or "all"}
            rows += [row | cells for cells in rating_shares(part[scale])]
    return pd.DataFrame(rows)


def documented_means(ratings):
    """Mean ratings as documented: two decimals, overall and per annotator.

    Parameters
    ----------
    ratings : pandas.DataFrame
        As for `likert_summary`.

    Returns
    -------
    dict
        ``overall`` and ``per_annotator``: scale to mean, None without a rating.
        Blinded systems are pooled, as in the documented scorer.
    """
    return {
        "overall": _means(ratings),
        "per_annotator": {
            rater: _means(part) for rater, part in ratings.groupby("rater", sort=False)
        },
    }


def _means(part):
    means = {scale: float(part[scale].mean()) for scale in SCALES}
    return {s: None if np.isnan(m) else round(m, 2) for s, m in means.items()}
