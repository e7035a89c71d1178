"""Ratings from 1 to 5: of two systems on the same items, and of explanations on Likert forms."""

import itertools

import numpy as np
import pandas as pd
from scipy import stats

from casebook.measures.agreement import krippendorff_alpha
from casebook.raters.forms import LIKERT, RATINGS, SCALES
from casebook.raters.preference import item_flips
from casebook.stats.intervals import at_least, bootstrap_mean, bootstrap_statistic, bounded, crossed_mean
from casebook.stats.samples import number_or_none
from casebook.stats.tests import effect_sizes, holm, paired_t, wilcoxon_signed_rank

LIKERT_SCALES = tuple(column.name for column in LIKERT.answers)


def bounded_mean(name, values, *, n_boot, seed):
    """Give a mean over items with its bootstrap interval as cells of a row."""
    if not len(values):
        return dict.fromkeys((name, f"{name} low", f"{name} high"))
    return bounded(name, bootstrap_mean(np.asarray(values, dtype=float), n_boot=n_boot, seed=seed))


def alpha_row(table, categories=RATINGS, *, n_boot=1000, seed=0):
    """Measure Krippendorff's ordinal alpha of ratings, items x raters."""
    options = {"level": "ordinal", "categories": list(categories), "wide": True}
    found = krippendorff_alpha(table, **options, n_boot=n_boot, seed=seed)
    panel, new = (bounds or (None, None) for bounds in (found.panel_ci, found.new_panel_ci))
    return {
        **{"alpha": found.estimate, "alpha low": panel[0], "alpha high": panel[1]},
        **{"new panel low": new[0], "new panel high": new[1], "percent_agreement": found.percent_agreement},
        **{"n": found.n_items, "raters": found.n_raters, "reason": found.reason},
    }


def _counts(tables):
    """Count how often each rating was given, in tables of ratings by (scale, system)."""
    rows = []
    for (scale, system), table in tables.items():
        counts = pd.Series(np.ravel(table)).value_counts().reindex(RATINGS, fill_value=0)
        for rating, count in counts.items():
            share = count / counts.sum() if counts.sum() else None
            rows.append({"scale": scale, "system": system, "rating": rating, "count": count, "share": share})
    return pd.DataFrame(rows)


# --- two systems ------------------------------------------------------------------


def rating_means(panel, *, n_boot=10_000, seed=0):
    """Mean ratings per scale and system, with the intervals over items."""
    rows = []
    judged = int(panel.place.notna().to_numpy().sum())
    for (scale, system), table in panel.ratings.items():
        by_item = table.mean(axis=1).dropna()
        known = table.stack().dropna()  # noqa: PD013 - one rating a row
        row = {"scale": scale, "system": system} | bounded_mean("mean", by_item, n_boot=n_boot, seed=seed)
        row["median"] = float(known.median()) if len(known) else None
        rows.append(row | {"n": len(by_item), "ratings": len(known), "missing": judged - len(known)})
    return pd.DataFrame(rows)


def rating_counts(panel):
    """Count how often each rating was given."""
    return _counts(panel.ratings)


def rating_tests(panel, *, n_boot=10_000, seed=0):
    """Compare the ratings of both systems on the same items, Holm's correction over the scales."""
    rows = []
    for scale in SCALES:
        table = panel.differences(scale)
        means = table.mean(axis=1).dropna().to_numpy()
        if not len(means):
            rows.append({"scale": scale, "n": 0, "p_sign_flip": None})
            continue
        sizes = effect_sizes(means)
        flip = item_flips(table, n_resamples=n_boot, seed=seed)
        both = at_least(crossed_mean(table), flip)
        row = {
            "scale": scale,
            **bounded("difference", flip.interval),
            "both low": both.interval.low,
            "both high": both.interval.high,
            "p_both": both.pvalue,
            **bounded("dz", sizes.dz),
            "rank_biserial": sizes.rank_biserial,
            "p_sign_flip": flip.pvalue,
        }
        p_values = {"p_wilcoxon": wilcoxon_signed_rank(means).pvalue, "p_t": paired_t(means).pvalue}
        rows.append(row | p_values | {"n": len(means)})
    return _with_holm(rows, "p_sign_flip")


def rater_rating_tests(panel):
    """Compare the ratings of both systems rater by rater."""
    rows = []
    for scale, rater in itertools.product(SCALES, panel.raters):
        known = panel.differences(scale)[rater].dropna().to_numpy()
        row = {"scale": scale, "rater": rater, "n": len(known), "p_wilcoxon": None}
        if len(known):
            sizes = effect_sizes(known)
            row |= bounded("difference", sizes.mean_difference) | {"rank_biserial": sizes.rank_biserial}
            row["p_wilcoxon"] = wilcoxon_signed_rank(known).pvalue
        rows.append(row)
    return _with_holm(rows, "p_wilcoxon")


def _with_holm(rows, column):
    adjusted = pd.Series(holm([row[column] for row in rows]), dtype=object)
    return pd.DataFrame(rows).assign(p_holm=adjusted)


def preference_rating_correlation(panel, *, n_boot=2_000, seed=0):
    """Correlate, over items, the mean net vote with the mean rating differences."""
    rows = []
    for scale in SCALES:
        pair = np.column_stack([panel.votes.mean(axis=1), panel.differences(scale).mean(axis=1)])
        known = pair[np.isfinite(pair).all(axis=1)]
        found = bootstrap_statistic(known, _spearman, n_boot=n_boot, seed=seed)
        rows.append({"scale": scale, **bounded("spearman", found), "n": found.n})
    return pd.DataFrame(rows)


def _spearman(pair):
    if len(pair) < 3 or np.ptp(pair, axis=0).min() == 0:
        return None
    return number_or_none(np.corrcoef(stats.rankdata(pair, axis=0).T)[0, 1])


def rating_agreement(panel, *, n_boot=1000, seed=0):
    """Measure ordinal alpha of the ratings: per scale and system, and of differences."""
    rows = []
    for scale in SCALES:
        given = {system: (panel.ratings[scale, system], RATINGS) for system in (panel.focus, panel.other)}
        given["difference"] = panel.differences(scale), range(-4, 5)
        for of, (table, categories) in given.items():
            rows.append({"scale": scale, "of": of} | alpha_row(table, categories, n_boot=n_boot, seed=seed))
    return pd.DataFrame(rows)


# --- explanations ------------------------------------------------------------------


def likert_summary(ratings, *, n_boot=10_000, seed=0):
    """Summarise Likert ratings per scale and system: mean over items, distribution, agreement."""
    rows = []
    for scale in LIKERT_SCALES:
        for system, part in ratings.groupby("system", sort=False):
            table = part.pivot(index=["item_id", "chunk"], columns="rater", values=scale)  # noqa: PD010
            by_item = table.mean(axis=1).dropna()
            known = part[scale].dropna()
            row = {"scale": scale, "system": system or "all", **bounded_mean("mean", by_item, n_boot=n_boot, seed=seed)}
            row["median"] = float(known.median()) if len(known) else None
            row["share_4_5"] = float((known >= 4).mean()) if len(known) else None
            row |= {"ratings": len(known), "missing": int(part[scale].isna().sum())}
            rows.append(row | alpha_row(table, n_boot=min(n_boot, 1000), seed=seed))
    return pd.DataFrame(rows)


def likert_counts(ratings):
    """Count how often each rating was given."""
    parts = list(ratings.groupby("system", sort=False))
    return _counts({(scale, system or "all"): part[scale] for scale in LIKERT_SCALES for system, part in parts})


def documented_means(ratings):
    """Mean ratings as documented: two decimals, overall and per annotator."""

    def means(part):
        found = part[list(LIKERT_SCALES)].mean()
        return {scale: None if np.isnan(mean) else round(float(mean), 2) for scale, mean in found.items()}

    annotators = {rater: means(part) for rater, part in ratings.groupby("rater", sort=False)}
    return {"overall": means(ratings), "per_annotator": annotators}
