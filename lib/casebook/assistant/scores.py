"""Scores of a tool or of a judge in a log: their means, and how they agree with ours and people."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from casebook.assistant.study import (
    ANSWER_MEASURES,
    JUDGE_SCORE,
    LOG_SCORE,
    PEOPLE,
    answer_means,
    defined_measures,
    paired_contrast,
    system_differences,
    tool_measures,
    with_reasons,
)
from casebook.stats.areas import auroc
from casebook.stats.intervals import (
    cluster_codes,
    percentile_interval,
    resample_counts,
    resampled_clusters,
)
from casebook.stats.samples import clusters_of
from casebook.verdicts import BETTER, HIGHER, INTERVAL_BY_UNIT, LOWER, WORSE, margin_of

COMPARED = ("faithfulness", "mentions", "token F1")
"""Measures of ours that scores are compared with."""
NO_CONTROL = "none: the log has no such score of contexts of other questions"
FOREIGN = "contexts and references of other questions"
_VERDICTS = {BETTER: HIGHER, WORSE: LOWER}  # whether more is better, only the tool knows


def measure_name(measure):
    """Give the name that readers see, which is never that of a measure of ours for another's."""
    if measure.startswith(LOG_SCORE):
        return f"Score in the log: {measure.removeprefix(LOG_SCORE)}"
    if measure.startswith(JUDGE_SCORE):
        return f"Score of the judge: {measure.removeprefix(JUDGE_SCORE)}"
    return "Rating of people" if measure == PEOPLE else ANSWER_MEASURES[measure]


def log_scores(log):
    """Give the scores of a log, a column each, and people's ratings as `PEOPLE`.

    Columns without a number are left out; the rows are those of the log.
    """
    log = log.reset_index(drop=True)
    if "scores" not in log:  # one of ours, whose answers no tool has scored
        return pd.DataFrame(index=log.index)
    table = pd.DataFrame(log["scores"].tolist(), index=log.index, dtype=float)
    table = table.add_prefix(LOG_SCORE)
    return table.assign(**{PEOPLE: log["human"]}).dropna(axis=1, how="all")


def score_means(rows, *, n_resamples=10_000, seed=0):
    """Mean of every system and score, as `answer_means`, with the range of its values.

    A score of the log has no control: what the tool would have said of other contexts is not in it.
    """
    measures = tool_measures(rows)
    means = answer_means(rows, measures, n_resamples=n_resamples, seed=seed)
    if means.empty:
        return means
    ranges = rows.groupby("system")[measures].agg(["min", "max"])
    for end, column in {"min": "smallest", "max": "largest"}.items():
        means[column] = [ranges.loc[row.system, (row.measure, end)] for row in means.itertuples()]
    means["control_name"] = means["control"].notna().map({True: FOREIGN, False: NO_CONTROL})
    return means


def margin_of_scores(scores):
    """Give the difference that does not matter: only scores between 0 and 1 have one."""
    return margin_of("share") if scores.dropna().between(0, 1).all() else 0.0


def score_differences(rows, *, seed=0):
    """Paired differences of systems by score, as `system_differences`: higher or lower."""
    tables = []
    for measure in tool_measures(rows):
        margin = margin_of_scores(rows[measure])
        tables.append(system_differences(rows, [measure], margin=margin, seed=seed))
    tables = [table for table in tables if len(table)]
    if not tables:
        return pd.DataFrame()
    table = pd.concat(tables, ignore_index=True)
    return table.assign(verdict=table["verdict"].replace(_VERDICTS))


def against_foreign_contexts(rows, system, *, seed=0):
    """Contrast of each score of the judge with the same answers in contexts of other questions."""
    answers = rows[rows["system"] == system].set_index("id")
    contrasts = []
    for measure in tool_measures(rows):
        baseline = f"{measure} baseline"
        if baseline not in answers:
            continue
        pair = answers[[measure, baseline]].dropna()
        pair.columns = [system, FOREIGN]
        if len(pair):
            contrast = paired_contrast(pair, answers["group"], margin=margin_of("share"), seed=seed)
            contrasts.append({"measure": measure} | contrast)
    table = with_reasons(contrasts)
    return table if table.empty else table.assign(verdict=table["verdict"].replace(_VERDICTS))


# --- agreement


AGREEMENT_COLUMNS = ["system", "measure", "against", "statistic", "value", "low", "high", "n"]
AGREEMENT_COLUMNS += ["groups", "control", "undefined", "reason"]


def score_agreement(rows, *, n_resamples=2_000, seed=0):
    """Measure how each score agrees with measures of ours and with people, by system.

    Against ratings of two kinds (good or bad) it is the AUROC, the probability that a good answer
    scores above a bad one (control 0.5); else Spearman's correlation (control 0). Our measures are
    held against people too. Columns: `AGREEMENT_COLUMNS`, of which ``undefined`` counts answers
    that one of both cannot judge.
    """
    scores = [measure for measure in tool_measures(rows) if measure != PEOPLE]
    ours = defined_measures(rows, COMPARED)
    people = [PEOPLE] if PEOPLE in rows else []
    judges = [score for score in scores if score.startswith(JUDGE_SCORE)]
    of_the_log = [score for score in scores if score not in judges]
    pairs = [*product(scores + ours, people), *product(scores, ours), *product(judges, of_the_log)]
    agreement = []
    for system, answers in rows.groupby("system", sort=False):
        for measure, against in pairs:
            pair = answers[[measure, against, "group"]].dropna()
            if pair.empty:
                continue
            row = {"system": system, "measure": measure, "against": against}
            row |= _agreement(
                pair[measure],
                pair[against],
                clusters_of(pair["group"]),
                n_resamples=n_resamples,
                seed=seed,
            )
            row["groups"] = pair["group"].nunique()
            row["undefined"] = len(answers) - len(pair)
            agreement.append(row)
    return with_reasons(agreement, AGREEMENT_COLUMNS)


def agreement_with_people(agreement, system):
    """Give the row of a system's first score against people: a judge's, the log's, or ours."""
    if agreement.empty:
        return None
    rows = agreement[(agreement["against"] == PEOPLE) & (agreement["system"] == system)]
    rows = rows[rows["value"].notna()]
    if rows.empty:
        return None
    of_a_judge = rows["measure"].str.startswith(JUDGE_SCORE)
    return (rows[of_a_judge] if of_a_judge.any() else rows).iloc[0]


def _agreement(scores, others, clusters, *, n_resamples, seed):
    """Agreement of two columns without gaps: AUROC if the other has two values."""
    values = sorted(others.unique())
    if others.name == PEOPLE and len(values) == 2:
        interval = auroc(others == values[1], scores, clusters=clusters)
        statistic = {"statistic": "AUROC", "control": 0.5}
    else:
        interval = rank_correlation(
            scores, others, clusters=clusters, n_resamples=n_resamples, seed=seed
        )
        statistic = {"statistic": "Spearman", "control": 0.0}
    return statistic | interval.row() | {"reason": interval.reason}


def rank_correlation(x, y, *, clusters=None, level=0.95, n_resamples=2_000, seed=0):
    """Spearman's correlation with its percentile interval over rows, or whole clusters of rows."""
    x_codes = np.unique(np.asarray(x), return_inverse=True)[1]
    y_codes = np.unique(np.asarray(y), return_inverse=True)[1]
    n = len(x_codes)
    resampled, reason = resampled_clusters(clusters, n)
    codes = np.arange(n) if resampled is None else cluster_codes(resampled, n)
    estimate = _correlations(x_codes, y_codes, np.ones((1, n)))[0]
    draws = np.empty(0)
    if not (reason or "").startswith(("fewer", "no_units")):
        counts = resample_counts(int(codes.max()) + 1, n_resamples, seed)
        draws = np.concatenate([_correlations(x_codes, y_codes, W[:, codes]) for W in counts])
    if math.isnan(estimate):
        reason = "no_variation"
    interval = percentile_interval(estimate, draws, n, level=level, reason=reason)
    if interval.low is not None and reason == INTERVAL_BY_UNIT:
        return replace(interval, reason=reason)
    return interval


def _correlations(x_codes, y_codes, weights):
    """Correlate mid-ranks of rows that count as often as each row of weights says."""
    x_ranks = _mid_ranks(x_codes, weights)
    y_ranks = _mid_ranks(y_codes, weights)
    size = weights.sum(axis=1, keepdims=True)
    x_ranks -= (weights * x_ranks).sum(axis=1, keepdims=True) / size
    y_ranks -= (weights * y_ranks).sum(axis=1, keepdims=True) / size
    covariance = (weights * x_ranks * y_ranks).sum(axis=1)
    variances = (weights * x_ranks**2).sum(axis=1) * (weights * y_ranks**2).sum(axis=1)
    varies = variances > 1e-9
    return np.where(varies, covariance / np.sqrt(np.where(varies, variances, 1)), np.nan)


def _mid_ranks(codes, weights):
    """Mid-rank of each row in each resample; codes are the order of its value."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(codes.max() + 1))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return (np.cumsum(counts, axis=1) - counts / 2)[:, codes]
