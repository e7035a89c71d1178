"""Ratings from 1 to 5: of two systems on the same items, and of explanations on Likert forms."""

import itertools

import numpy as np
import pandas as pd
from scipy import stats

from casebook.frames import estimates
from casebook.measures.agreement import krippendorff_alpha
from casebook.raters.crossed import at_least, crossed_mean
from casebook.raters.layouts import LIKERT, PAIRED_SCALES, RATING_POINTS
from casebook.raters.preference import item_flips
from casebook.stats.intervals import STATISTICS, bootstrap_statistic, bounded
from casebook.stats.samples import number_or_none
from casebook.stats.tests import cohens_dz, holm, rank_biserial

LIKERT_SCALES = tuple(column.name for column in LIKERT.answers)


def rating_tables(panel, *, n_resamples, seed):
    """Tables of all ratings of two systems: agreement, means, counts, tests, correlation."""
    return {
        "rating_agreement": rating_agreement(panel, n_resamples=n_resamples, seed=seed),
        "rating_means": rating_means(panel, n_resamples=n_resamples, seed=seed),
        "rating_counts": rating_counts(panel),
        "rating_tests": rating_tests(panel, n_resamples=n_resamples, seed=seed),
        "rater_rating_tests": rater_rating_tests(panel, n_resamples=n_resamples, seed=seed),
        "correlation": preference_rating_correlation(panel, n_resamples=n_resamples, seed=seed),
    }


def bounded_mean(name, values, *, n_resamples, seed):
    """Mean over items with its interval as cells of a row."""
    means = estimates(pd.DataFrame({name: values}), n_resamples=n_resamples, seed=seed)
    mean = means.loc[0, list(STATISTICS)]
    return dict(zip((name, f"{name} low", f"{name} high"), mean, strict=True))


def alpha_row(table, categories=RATING_POINTS, *, n_resamples, seed):
    """Measure Krippendorff's ordinal alpha of ratings, items x raters."""
    alpha = krippendorff_alpha(
        table, categories=categories, wide=True, n_resamples=n_resamples, seed=seed
    )
    bounds = alpha.bounds
    return {
        "alpha": alpha.estimate,
        "alpha low": bounds["panel_low"],
        "alpha high": bounds["panel_high"],
        "new panel low": bounds["new_panel_low"],
        "new panel high": bounds["new_panel_high"],
        "percent_agreement": alpha.percent_agreement,
        "n": alpha.n_items,
        "raters": alpha.n_raters,
        "reason": alpha.reason,
    }


def _centre(table, *, n_resamples, seed):
    """Mean over items with its interval, and the median of all ratings."""
    return {
        **bounded_mean("mean", table.mean(axis=1).dropna(), n_resamples=n_resamples, seed=seed),
        "median": number_or_none(table.stack().median()),  # noqa: PD013 - one rating a row
    }


def _counts(tables):
    """Count how often each rating was given, in tables of ratings by (scale, system)."""
    counts = {key: pd.Series(np.ravel(table)).value_counts() for key, table in tables.items()}
    counts = pd.DataFrame(counts, list(RATING_POINTS)).fillna(0).astype(int)
    shares = counts / counts.sum()
    rows = pd.DataFrame({"count": counts.unstack(), "share": shares.unstack()})  # noqa: PD010
    return rows.rename_axis(["scale", "system", "rating"]).reset_index()


# --- two systems ------------------------------------------------------------------


def rating_means(panel, *, n_resamples=10_000, seed=0):
    """Mean ratings per scale and system, with the intervals over items."""
    rows = []
    n_judgements = int(panel.positions.notna().to_numpy().sum())
    for (scale, system), table in panel.ratings.items():
        n_ratings = int(table.count().sum())
        rows.append(
            {
                "scale": scale,
                "system": system,
                **_centre(table, n_resamples=n_resamples, seed=seed),
                "n": int(table.notna().any(axis=1).sum()),
                "ratings": n_ratings,
                "missing": n_judgements - n_ratings,
            }
        )
    return pd.DataFrame(rows)


def rating_counts(panel):
    """Count how often each rating was given."""
    return _counts(panel.ratings)


def rating_tests(panel, *, n_resamples=10_000, seed=0):
    """Compare the ratings of both systems on the same items, Holm's correction over the scales."""
    rows = []
    for scale in PAIRED_SCALES:
        table = panel.differences(scale)
        means = table.mean(axis=1).dropna().to_numpy()
        if not len(means):
            rows.append({"scale": scale, "n": 0, "p_sign_flip": None})
            continue
        flip = item_flips(table, n_resamples=n_resamples, seed=seed)
        items_and_raters = at_least(crossed_mean(table), flip)
        row = {
            "scale": scale,
            **bounded("difference", flip.interval),
            "both low": items_and_raters.interval.low,
            "both high": items_and_raters.interval.high,
            "p_both": items_and_raters.pvalue,
            **bounded("dz", cohens_dz(means)),
            "rank_biserial": rank_biserial(means),
            "p_sign_flip": flip.pvalue,
            "n": len(means),
        }
        rows.append(row)
    return _with_holm(rows, "p_sign_flip")


def rater_rating_tests(panel, *, n_resamples=10_000, seed=0):
    """Compare the ratings of both systems rater by rater, with Holm's correction."""
    rows = []
    for scale, rater in itertools.product(PAIRED_SCALES, panel.raters):
        differences = panel.differences(scale)[[rater]].dropna()
        row = {"scale": scale, "rater": rater, "n": len(differences), "p_sign_flip": None}
        if len(differences):
            flip = item_flips(differences, n_resamples=n_resamples, seed=seed)
            row |= bounded("difference", flip.interval)
            row["rank_biserial"] = rank_biserial(differences[rater])
            row["p_sign_flip"] = flip.pvalue
        rows.append(row)
    return _with_holm(rows, "p_sign_flip")


def _with_holm(rows, column):
    adjusted = pd.Series(holm([row[column] for row in rows]), dtype=object)
    return pd.DataFrame(rows).assign(p_holm=adjusted)


def preference_rating_correlation(panel, *, n_resamples=10_000, seed=0):
    """Correlate, over items, the mean net vote with the mean rating differences."""
    rows = []
    for scale in PAIRED_SCALES:
        pair = np.column_stack([panel.votes.mean(axis=1), panel.differences(scale).mean(axis=1)])
        complete_pairs = pair[np.isfinite(pair).all(axis=1)]
        correlation = bootstrap_statistic(
            complete_pairs, _spearman, n_resamples=n_resamples, seed=seed
        )
        rows.append({"scale": scale, **bounded("spearman", correlation), "n": correlation.n})
    return pd.DataFrame(rows)


def _spearman(pair):
    if len(pair) < 3 or np.ptp(pair, axis=0).min() == 0:
        return None
    return number_or_none(np.corrcoef(stats.rankdata(pair, axis=0).T)[0, 1])


def rating_agreement(panel, *, n_resamples=10_000, seed=0):
    """Measure ordinal alpha of the ratings: per scale and system, and of differences."""
    rows = []
    for scale in PAIRED_SCALES:
        for system in (panel.focus, panel.against):
            alpha = alpha_row(panel.ratings[scale, system], n_resamples=n_resamples, seed=seed)
            rows.append({"scale": scale, "of": system, **alpha})
        alpha = alpha_row(
            panel.differences(scale), range(-4, 5), n_resamples=n_resamples, seed=seed
        )
        rows.append({"scale": scale, "of": "difference", **alpha})
    return pd.DataFrame(rows)


# --- explanations ------------------------------------------------------------------


def likert_summary(ratings, *, n_resamples=10_000, seed=0):
    """Summarise Likert ratings per scale and system: mean over items, distribution, agreement."""
    rows = []
    for scale in LIKERT_SCALES:
        for system, part in ratings.groupby("system", sort=False):
            by_rater = part.set_index(["item_id", "chunk", "rater"])[scale]
            table = by_rater.unstack("rater")  # noqa: PD010
            ratings_of_scale = part[scale].dropna()
            rows.append(
                {
                    "scale": scale,
                    "system": system or "all",
                    **_centre(table, n_resamples=n_resamples, seed=seed),
                    "share_4_5": number_or_none((ratings_of_scale >= 4).mean()),
                    "ratings": len(ratings_of_scale),
                    "missing": int(part[scale].isna().sum()),
                    **alpha_row(table, n_resamples=min(n_resamples, 1000), seed=seed),
                }
            )
    return pd.DataFrame(rows)


def likert_counts(ratings):
    """Count how often each rating was given."""
    parts = list(ratings.groupby("system", sort=False))
    return _counts(
        {(scale, system or "all"): part[scale] for scale in LIKERT_SCALES for system, part in parts}
    )


def documented_means(ratings):
    """Mean ratings as documented: two decimals, overall and per annotator."""

    def means(part):
        means_by_scale = part[list(LIKERT_SCALES)].mean()
        return {
            scale: None if np.isnan(mean) else round(float(mean), 2)
            for scale, mean in means_by_scale.items()
        }

    annotators = {rater: means(part) for rater, part in ratings.groupby("rater", sort=False)}
    return {"overall": means(ratings), "per_annotator": annotators}
