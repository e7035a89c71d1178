"""Ratings of two systems compared: with the item as unit, and rater by rater."""

import numpy as np
import pandas as pd
from scipy import stats

from casebook.inference.preference import item_flips
from casebook.raters.rows import bounded_mean, rating_shares
from casebook.raters.unblinding import SCALES
from casebook.stats.intervals import at_least, bootstrap_statistic, bounded, crossed_mean
from casebook.stats.samples import number_or_none
from casebook.stats.tests import effect_sizes, holm, paired_t, wilcoxon_signed_rank


def rating_means(panel, *, n_boot=10_000, seed=0):
    """Mean ratings per system and scale, with the intervals over items."""
    rows = []
    for (scale, system), table in panel.ratings.items():
        by_item = table.mean(axis=1).dropna()
        row = {"scale": scale, "system": system}
        row |= bounded_mean("mean", by_item, n_boot=n_boot, seed=seed)
        known = table.to_numpy()[table.notna().to_numpy()]
        judged = panel.place.notna().to_numpy().sum()
        row |= {"median": float(np.median(known)) if len(known) else None}
        row |= {"n": len(by_item), "ratings": len(known)}
        rows.append(row | {"missing": int(judged - len(known))})
    return pd.DataFrame(rows)


def rating_counts(panel):
    """Count how often each rating was given."""
    rows = []
    for (scale, system), table in panel.ratings.items():
        row = {"scale": scale, "system": system}
        rows += [row | cells for cells in rating_shares(table)]
    return pd.DataFrame(rows)


def rating_tests(panel, *, n_boot=10_000, seed=0):
    """Compare the ratings of both systems on the same items."""
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
        rows.append(
            {
                "scale": scale,
                **bounded("difference", flip.interval),
                "both low": both.interval.low,
                "both high": both.interval.high,
                "p_both": both.pvalue,
                **bounded("dz", sizes.dz),
                "rank_biserial": sizes.rank_biserial,
                "p_sign_flip": flip.pvalue,
                "p_wilcoxon": wilcoxon_signed_rank(means).pvalue,
                "p_t": paired_t(means).pvalue,
                "n": len(means),
            }
        )
    table = pd.DataFrame(rows)
    table["p_holm"] = pd.Series(holm(list(table["p_sign_flip"])), dtype=object)
    return table


def rater_rating_tests(panel):
    """Compare the ratings of both systems rater by rater."""
    rows = []
    for scale in SCALES:
        for rater, column in panel.differences(scale).items():
            known = column.dropna().to_numpy()
            row = {"scale": scale, "rater": rater, "n": len(known), "p_wilcoxon": None}
            if len(known):
                sizes = effect_sizes(known)
                row |= bounded("difference", sizes.mean_difference)
                row |= {"rank_biserial": sizes.rank_biserial}
                row["p_wilcoxon"] = wilcoxon_signed_rank(known).pvalue
            rows.append(row)
    table = pd.DataFrame(rows)
    table["p_holm"] = pd.Series(holm(list(table["p_wilcoxon"])), dtype=object)
    return table


def preference_rating_correlation(panel, *, n_boot=2_000, seed=0):
    """Correlate, over items, the mean net vote with the mean rating differences."""
    rows = []
    for scale in SCALES:
        by_item = panel.differences(scale).mean(axis=1)
        pair = np.column_stack([panel.votes.mean(axis=1), by_item])
        known = pair[np.isfinite(pair).all(axis=1)]
        found = bootstrap_statistic(known, _spearman, n_boot=n_boot, seed=seed)
        rows.append({"scale": scale, **bounded("spearman", found), "n": found.n})
    return pd.DataFrame(rows)


def _spearman(pair):
    if len(pair) < 3 or np.ptp(pair, axis=0).min() == 0:
        return None
    ranks = stats.rankdata(pair, axis=0)
    return number_or_none(np.corrcoef(ranks.T)[0, 1])
