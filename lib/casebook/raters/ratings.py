"""Ratings from 1 to 5: of two systems on the same items, and of explanations on Likert forms."""

import pandas as pd

from casebook.frames import estimates
from casebook.measures.agreement import agreement_table
from casebook.raters.layouts import LIKERT, PAIRED_SCALES
from casebook.raters.preference import at_least, crossed_mean, items_mean
from casebook.stats.tests import holm

LIKERT_SCALES = [column.name for column in LIKERT.answers]
BOUNDS = ["both low", "both high", "p_both"]
TEST_COLUMNS = [
    "scale",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    *BOUNDS,
    "n",
    "reason",
]
# Columns of agreement to those of a table that has a mean beside them.
ALPHA_COLUMNS = {
    "estimate": "alpha",
    "panel_low": "alpha low",
    "panel_high": "alpha high",
    "new_panel_low": "new panel low",
    "new_panel_high": "new panel high",
    "percent_agreement": "percent_agreement",
    "n_raters": "raters",
    "reason": "alpha reason",
}


def alpha_row(table, **draws):
    """Krippendorff's ordinal alpha of ratings, items x raters, as a row."""
    found = agreement_table(
        table, "ordinal", coefficients=["krippendorff_alpha"], wide=True, **draws
    )
    return found.iloc[0][[*ALPHA_COLUMNS]].rename(ALPHA_COLUMNS).to_dict()


def mean_row(table, judgements, **draws):
    """Mean over items of the means of raters, with its interval, and what is missing."""
    means = table.mean(axis=1).dropna().to_frame("mean")
    row = estimates(means, **draws).iloc[0]
    row = row.rename({"value": "mean"})[["mean", "low", "high", "n"]].to_dict()
    row["ratings"] = table.count().sum()
    row["missing"] = judgements - row["ratings"]
    return row


# --- two systems


def rating_tables(panel, **draws):
    """Tables of all ratings of two systems: agreement, means, tests."""
    means = []
    agreement = []
    for (scale, system), table in panel.ratings.items():
        about = {"scale": scale, "system": system}
        means.append(about | mean_row(table, len(panel.rows), **draws))
        agreement.append(about | alpha_row(table, **draws))
    for scale in PAIRED_SCALES:
        about = {"scale": scale, "system": "difference"}
        agreement.append(about | alpha_row(panel.differences(scale), **draws))
    return {
        "rating_agreement": pd.DataFrame(agreement),
        "rating_means": pd.DataFrame(means),
        "rating_tests": rating_tests(panel, **draws),
    }


def rating_tests(panel, **draws):
    """Ratings of both systems on the same items, with Holm's correction over the scales."""
    rows = []
    for scale in PAIRED_SCALES:
        differences = panel.differences(scale)
        if differences.notna().any(axis=None):
            row = items_mean(differences, **draws)
            both = at_least(crossed_mean(differences), row)
            both = [both[name] for name in ("low", "high", "p")]
            rows.append(row | dict(zip(BOUNDS, both, strict=True)) | {"scale": scale})
    table = pd.DataFrame(rows).reindex(columns=TEST_COLUMNS)
    return table.assign(p_holm=pd.Series(holm(table["p"]), dtype=float))


# --- explanations


def likert_summary(ratings, **draws):
    """Likert ratings per scale and system: means over items and agreement."""
    rows = []
    for scale in LIKERT_SCALES:
        for system, part in ratings.groupby("system", sort=False):
            by_rater = part.set_index(["item_id", "chunk", "rater"])[scale]
            table = by_rater.unstack("rater")  # noqa: PD010
            row = {"scale": scale, "system": system or "all"}
            rows.append(
                row | mean_row(table, len(part), **draws) | alpha_row(table, **draws)
            )
    return pd.DataFrame(rows)


def documented_means(ratings):
    """Mean ratings as documented: two decimals, overall and per annotator."""
    overall = ratings[LIKERT_SCALES].mean()
    by_rater = ratings.groupby("rater", sort=False)[LIKERT_SCALES].mean()
    return {
        "overall": overall.map(rounded).to_dict(),
        "per_annotator": by_rater.map(rounded).to_dict("index"),
    }


def rounded(value, digits=2):
    return None if pd.isna(value) else round(float(value), digits)
