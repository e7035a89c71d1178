"""Scores of a tool in a log, and how scores and measures of ours agree with people."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from casebook.assistant.study import (
    JUDGE_SCORE,
    LOG_SCORE,
    PEOPLE,
    WITH_PEOPLE,
    answer_scores,
    joined,
    measure_name,
)
from casebook.findings import interval_verdicts
from casebook.frames import coefficients
from casebook.stats.areas import auroc
from casebook.stats.intervals import (
    cluster_codes,
    percentile_interval,
    resample_counts,
    resampled_clusters,
)
from casebook.verdicts import INTERVAL_BY_UNIT


def log_scores(log):
    """Scores of a log, a column each, and people's ratings as `PEOPLE`.

    Columns without a number are left out; the rows are those of the log.
    """
    log = log.reset_index(drop=True)
    if "scores" not in log:  # one of ours, whose answers no tool has scored
        return pd.DataFrame(index=log.index)
    table = pd.DataFrame(log["scores"].tolist(), index=log.index, dtype=float)
    table = table.add_prefix(LOG_SCORE)
    return table.assign(**{PEOPLE: log["human"]}).dropna(axis=1, how="all")


def people_agreement(rows, measures, **about):
    """How each measure agrees with people's ratings, by system; scores of a judge come first.

    With ratings of two kinds it is the AUROC, the probability that an answer which people rate
    better has the higher score (chance: 0.5), else Spearman's correlation (chance: 0).
    """
    if PEOPLE not in rows:
        return joined([])
    is_binary = rows[PEOPLE].nunique() == 2
    statistic, null = ("AUROC", 0.5) if is_binary else ("Spearman's correlation", 0.0)
    tables = []
    for measure in sorted(measures, key=lambda name: not name.startswith(JUDGE_SCORE)):
        name = measure_name(measure)
        for system, answers in rows.groupby("system", sort=False):
            rated = answers.dropna(subset=[measure, PEOPLE])
            if rated.empty or measure == PEOPLE:
                continue
            given = about | {"names": {system: f"{name}, {system}"}}
            scores = answer_scores(rated, measure, [system], **given)
            values, ratings = scores.values[system], rated[PEOPLE].to_numpy()
            if is_binary:
                highest = rows[PEOPLE].max()
                found = auroc(ratings == highest, values, clusters=scores.clusters)
            else:
                options = {"clusters": scores.clusters, "n_resamples": scores.n_resamples}
                found = rank_correlation(values, ratings, seed=scores.seed, **options)
            row = coefficients({system: found}, rated["group"].nunique(), null)
            of_both = replace(scores, measure=f"{statistic}, {measure}{WITH_PEOPLE}", margin=0.0)
            row = of_both.described(row.assign(null=null, score=name))
            tables.append(row.assign(verdict=interval_verdicts(row, null), margin=0.0))
    return joined(tables)


def rank_correlation(x, y, *, clusters=None, n_resamples=2_000, seed=0):
    """Spearman's correlation with its percentile interval over rows, or whole clusters of rows."""
    pairs = np.column_stack([x, y])
    n = len(pairs)
    resampled, reason = resampled_clusters(clusters, n)
    codes = np.arange(n) if resampled is None else cluster_codes(resampled, n)
    draws = []
    if (reason or INTERVAL_BY_UNIT) == INTERVAL_BY_UNIT:
        for counts in resample_counts(codes.max() + 1, n_resamples, seed):
            draws += [_correlation(pairs.repeat(row[codes].astype(int), 0)) for row in counts]
    estimate = _correlation(pairs)
    if np.isnan(estimate):
        reason = "no_variation"
    interval = percentile_interval(estimate, draws, n, reason=reason)
    if interval.low is not None:
        return replace(interval, reason=reason)
    return interval


def _correlation(pairs):
    if np.ptp(pairs, axis=0).min() == 0:
        return np.nan
    return np.corrcoef(rankdata(pairs, axis=0).T)[0, 1]
