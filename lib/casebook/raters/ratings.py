"""Ratings from 1 to 5: of two systems on the same items, and of explanations on Likert forms."""

import pandas as pd

from casebook.frames import estimates
from casebook.measures.agreement import krippendorff_alpha
from casebook.raters.layouts import LIKERT, PAIRED_SCALES, RATING_POINTS
from casebook.raters.preference import at_least, crossed_mean, item_flips
from casebook.stats.intervals import bounded
from casebook.stats.tests import cohens_dz, holm, rank_biserial

LIKERT_SCALES = tuple(column.name for column in LIKERT.answers)


# Tables of all ratings of two systems: agreement, means, tests.
def rating_tables(panel, **draws):
    return {
        "rating_agreement": rating_agreement(panel, **draws),
        "rating_means": rating_means(panel, **draws),
        "rating_tests": rating_tests(panel, **draws),
    }


# Krippendorff's ordinal alpha of ratings, items x raters, as cells of a row.
def alpha_row(table, categories=RATING_POINTS, **draws):
    alpha = krippendorff_alpha(table, categories=categories, wide=True, **draws)
    names = ["alpha low", "alpha high", "new panel low", "new panel high"]
    columns = ["panel_low", "panel_high", "new_panel_low", "new_panel_high"]
    row = {"alpha": alpha.estimate}
    row |= {name: alpha.bounds[column] for name, column in zip(names, columns, strict=True)}
    row |= {"percent_agreement": alpha.percent_agreement, "n": alpha.n_items}
    return row | {"raters": alpha.n_raters, "reason": alpha.reason}


# Mean over items with its interval, and the median of all ratings.
def _centre(table, **draws):
    means = table.mean(axis=1).dropna().to_frame("mean")
    mean = estimates(means, **draws).iloc[0]
    row = {"mean": mean["value"], "mean low": mean["low"], "mean high": mean["high"]}
    return row | {"median": table.stack().median(), "n": mean["n"]}  # noqa: PD013


# --- two systems ------------------------------------------------------------------


def rating_means(panel, **draws):
    """Mean ratings per scale and system, with the intervals over items."""
    n_judgements = int(panel.positions.count().sum())
    rows = []
    for (scale, system), table in panel.ratings.items():
        row = {"scale": scale, "system": system, **_centre(table, **draws)}
        row["ratings"] = int(table.count().sum())
        rows.append(row | {"missing": n_judgements - row["ratings"]})
    return pd.DataFrame(rows)


def rating_tests(panel, **draws):
    """Ratings of both systems on the same items, with Holm's correction over the scales."""
    rows = []
    for scale in PAIRED_SCALES:
        table = panel.differences(scale)
        means = table.mean(axis=1).dropna().to_numpy()
        row = {"scale": scale, "n": len(means), "p_sign_flip": None}
        if len(means):
            flip = item_flips(table, **draws)
            both = at_least(crossed_mean(table), flip)
            row |= bounded("difference", flip.interval)
            row |= {"both low": both.interval.low, "both high": both.interval.high}
            row |= {"p_both": both.pvalue, "p_sign_flip": flip.pvalue}
            row |= bounded("dz", cohens_dz(means))
            row["rank_biserial"] = rank_biserial(means)
        rows.append(row)
    adjusted = holm([row["p_sign_flip"] for row in rows])
    return pd.DataFrame(rows).assign(p_holm=pd.Series(adjusted, dtype=object))


def rating_agreement(panel, **draws):
    """Ordinal alpha of the ratings: per scale and system, and of differences."""
    rows = []
    for scale in PAIRED_SCALES:
        for system in (panel.focus, panel.against):
            alpha = alpha_row(panel.ratings[scale, system], **draws)
            rows.append({"scale": scale, "of": system, **alpha})
        alpha = alpha_row(panel.differences(scale), range(-4, 5), **draws)
        rows.append({"scale": scale, "of": "difference", **alpha})
    return pd.DataFrame(rows)


# --- explanations ------------------------------------------------------------------


def likert_summary(ratings, **draws):
    """Likert ratings per scale and system: means over items, medians and agreement."""
    rows = []
    for scale in LIKERT_SCALES:
        for system, part in ratings.groupby("system", sort=False):
            by_rater = part.set_index(["item_id", "chunk", "rater"])[scale]
            table = by_rater.unstack("rater")  # noqa: PD010
            row = {"scale": scale, "system": system or "all", **_centre(table, **draws)}
            row["share_4_5"] = (part[scale].dropna() >= 4).mean()
            row |= {"ratings": part[scale].count(), "missing": part[scale].isna().sum()}
            rows.append(row | alpha_row(table, n_resamples=1000, seed=draws.get("seed", 0)))
    return pd.DataFrame(rows)


def documented_means(ratings):
    """Mean ratings as documented: two decimals, overall and per annotator."""
    by_rater = ratings.groupby("rater", sort=False)
    annotators = {rater: _rounded_means(part) for rater, part in by_rater}
    return {"overall": _rounded_means(ratings), "per_annotator": annotators}


def _rounded_means(ratings):
    means = ratings[list(LIKERT_SCALES)].mean().dropna()
    rounded = {scale: round(mean, 2) for scale, mean in means.to_dict().items()}
    return dict.fromkeys(LIKERT_SCALES) | rounded
