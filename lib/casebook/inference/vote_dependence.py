"""How far votes depend on each other: clustering by item, and raters that differ."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.inference.votes import check_votes, preference_scores
from casebook.stats.intervals import Interval, bootstrap_statistic
from casebook.stats.samples import number_or_none

LEAST_EXPECTED = 5
"""Expected count below which the chi-square approximation is doubtful."""


@dataclass(frozen=True)
class Clustering:
    """How much the votes on one item resemble each other."""

    icc: Interval
    design_effect: float | None
    effective_n: float | None
    n_votes: int
    n_items: int


@dataclass(frozen=True)
class Heterogeneity:
    """Pearson's chi-square test that all raters have one win rate."""

    statistic: float | None
    pvalue: float | None
    df: int
    n: int
    least_expected: float | None
    reason: str | None = None


def vote_clustering(votes, *, ties="half", level=0.95, n_boot=2_000, seed=0):
    """Intraclass correlation of the votes on one item, and what it costs."""
    scores = preference_scores(votes, ties)
    scores = scores[(~np.isnan(scores)).any(axis=1)]
    icc = bootstrap_statistic(scores, _icc, level=level, n_boot=n_boot, seed=seed)
    sizes = (~np.isnan(scores)).sum(axis=1)
    n = int(sizes.sum())
    if icc.estimate is None:
        return Clustering(icc, None, None, n, len(scores))
    effect = 1 + (float(np.sum(sizes**2)) / n - 1) * icc.estimate
    effective = n / effect if effect > 0 else None
    return Clustering(icc, effect, effective, n, len(scores))


def _icc(scores):
    """ICC(1) of scores in rows; NaN if undefined."""
    sizes = (~np.isnan(scores)).sum(axis=1)
    n, groups = sizes.sum(), len(sizes)
    if groups < 2 or n <= groups:
        return np.nan
    means = np.nanmean(scores, axis=1)
    within = np.nansum((scores - means[:, None]) ** 2) / (n - groups)
    between = np.sum(sizes * (means - np.nanmean(scores)) ** 2) / (groups - 1)
    size = (n - np.sum(sizes**2) / n) / (groups - 1)
    total = between + (size - 1) * within
    return (between - within) / total if total > 0 else np.nan


def rater_heterogeneity(votes):
    """Test whether all raters prefer the first system equally often."""
    V = check_votes(votes)
    table = np.array([(V == 1).sum(axis=0), (V == -1).sum(axis=0)], dtype=float)
    table = table[:, table.sum(axis=0) > 0]
    n, df = int(table.sum()), max(table.shape[1] - 1, 0)
    if df < 1:
        return Heterogeneity(None, None, df, n, None, "fewer_than_two_raters")
    if not table.sum(axis=1).all():
        return Heterogeneity(None, None, df, n, 0.0, "no_variation")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    statistic = float(np.sum((table - expected) ** 2 / expected))
    pvalue = number_or_none(special.chdtrc(df, statistic))
    least = float(expected.min())
    reason = "small_expected_counts" if least < LEAST_EXPECTED else None
    return Heterogeneity(statistic, pvalue, df, n, least, reason)
