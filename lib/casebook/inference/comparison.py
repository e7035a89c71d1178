"""One table per system and one per pair: everything a comparison should show."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.effects import effect_sizes
from casebook.inference.multiplicity import holm
from casebook.inference.paired import paired_t, wilcoxon_signed_rank, win_tie_loss
from casebook.inference.permutation import paired_randomization, randomised_tukey_hsd
from casebook.inference.power import minimal_detectable_effect
from casebook.inference.resampling import resample_means
from casebook.inference.samples import check_share, score_matrix, system_pairs
from casebook.inference.tie_classes import tie_classes

MOST_TUKEY_RESAMPLES = 10_000
"""Permuting systems costs ten times what flipping signs does."""

PAIR_COLUMNS = [
    *("system_a", "system_b", "difference", "ci_low", "ci_high", "n"),
    *("p_randomisation", "p_holm", "p_max_t", "p_tukey", "p_t", "p_wilcoxon"),
    *("dz", "wins", "ties", "losses", "mde", "reason"),
]


@dataclass(frozen=True)
class Comparison:
    """Systems compared on the same units.

    Attributes
    ----------
    systems : pandas.DataFrame
        One row per system, the highest mean first (equal means by label): ``system``,
        ``mean``, ``ci_low``, ``ci_high``, ``n`` (units), ``tie_class`` and ``reason``
        (why an interval is missing or degenerate, else None).
    pairs : pandas.DataFrame
        One row per pair, in the order of the columns of the scores: ``system_a``,
        ``system_b``; ``difference`` (mean of a minus mean of b) with ``ci_low``,
        ``ci_high`` and ``n``; ``p_randomisation`` (paired randomisation) with its
        family-wise adjustments ``p_holm`` and ``p_max_t``; ``p_tukey`` (randomised
        Tukey HSD over all systems, family-wise); ``p_t`` and ``p_wilcoxon``
        (unadjusted); ``dz`` (Cohen); ``wins``, ``ties``, ``losses`` (units); ``mde``
        (smallest true difference that an unadjusted t test finds with power 0.8) and
        ``reason`` (why some of these are NaN, else None).
    level : float
        Coverage of the intervals; one minus it is the significance level.
    n_boot, n_resamples, n_tukey : int
        Bootstrap resamples, sign vectors (all ``2**n`` if those are no more),
        permutations of Tukey's test.
    seed : int
        Seed of all of them.
    """

    systems: pd.DataFrame
    pairs: pd.DataFrame
    level: float
    n_boot: int
    n_resamples: int
    n_tukey: int
    seed: int


def compare_systems(
    scores, *, baseline=None, level=0.95, n_boot=10_000, n_resamples=100_000, seed=0
):
    """Compare systems on paired units: intervals, tests, effect sizes, tie classes.

    Parameters
    ----------
    scores : pandas.DataFrame or array_like, shape [units, systems]
        Scores on one scale, higher is better.
    baseline : label, optional
        Test only the pairs of another system (a) with this one (b); the family of
        adjusted p-values is then those pairs, and tie classes, which need all pairs,
        are None.
    level : float, default 0.95
        Coverage of the percentile bootstrap intervals.
    n_boot : int, default 10000
        Bootstrap resamples, shared by systems and differences.
    n_resamples : int, default 100000
        Sign vectors; Tukey's test takes at most 10000 permutations.
    seed : int, default 0
        Seed.

    Returns
    -------
    Comparison
        Two systems share a tie class exactly if their ``p_max_t`` exceeds
        ``1 - level``; see `casebook.inference.tie_classes.tie_classes`.

    Raises
    ------
    InputError
        If there are no units, a score is missing or the baseline is unknown.
    """
    check_share("level", level)
    X, labels = score_matrix(scores)
    if not X.size:
        raise InputError("there are no units to compare")
    resamples = resample_means(X, n_boot=n_boot, seed=seed)
    pairs = system_pairs(labels, baseline)
    n_tukey = min(n_resamples, MOST_TUKEY_RESAMPLES)
    pair_frame = pd.DataFrame(columns=PAIR_COLUMNS)
    if len(pairs):
        table = pd.DataFrame(X, columns=labels)
        frames = [
            _randomised(table, baseline, n_resamples, n_tukey, seed),
            _estimates(resamples.differences(pairs), level),
            pd.DataFrame([_classical(X[:, i], X[:, j], 1 - level) for i, j in pairs]),
        ]
        pair_frame = pd.concat(frames, axis=1)[PAIR_COLUMNS]
    system_frame = _system_frame(labels, resamples, level)
    if baseline is None:
        system_frame["tie_class"] = _tie_classes(system_frame, pair_frame, 1 - level)
    return Comparison(
        system_frame, pair_frame, level, n_boot, n_resamples, n_tukey, seed
    )


def _estimates(resamples, level):
    """Estimates with their percentile intervals."""
    intervals = resamples.intervals(level)
    columns = {
        "difference": resamples.estimates,
        "ci_low": np.array([x.low for x in intervals], dtype=float),
        "ci_high": np.array([x.high for x in intervals], dtype=float),
        "n": resamples.n,
        "reason": pd.Series([x.reason for x in intervals], dtype=object),
    }
    return pd.DataFrame(columns)


def _system_frame(labels, resamples, level):
    frame = _estimates(resamples, level).rename(columns={"difference": "mean"})
    frame.insert(0, "system", pd.Series(labels, dtype=object))
    frame.insert(5, "tie_class", None)
    order = sorted(frame.index, key=lambda k: (-frame["mean"][k], str(labels[k])))
    return frame.loc[order].reset_index(drop=True)


def _randomised(table, baseline, n_resamples, n_tukey, seed):
    """Randomisation p-values of every pair, plain and family-wise."""
    test = paired_randomization(
        table, n_resamples=n_resamples, seed=seed, baseline=baseline
    )
    tukey = randomised_tukey_hsd(table, n_resamples=n_tukey, seed=seed)
    of_pair = dict(zip(map(frozenset, tukey.pairs), tukey.pvalue, strict=True))
    columns = {
        "system_a": pd.Series([a for a, _ in test.pairs], dtype=object),
        "system_b": pd.Series([b for _, b in test.pairs], dtype=object),
        "p_randomisation": test.pvalue,
        "p_holm": holm(test.pvalue),
        "p_max_t": test.pvalue_max_t,
        "p_tukey": [of_pair[frozenset(pair)] for pair in test.pairs],
    }
    return pd.DataFrame(columns)


def _classical(a, b, alpha):
    """Classical tests, effect size, counts and detectable effect of one pair."""
    test = paired_t(a, b)
    detectable = None
    if test.reason is None:
        sd = float(np.std(a - b, ddof=1))
        detectable = minimal_detectable_effect(sd, len(a), alpha=alpha)
    values = {
        "p_t": test.pvalue,
        "p_wilcoxon": wilcoxon_signed_rank(a, b).pvalue,
        "dz": effect_sizes(a, b).dz.estimate,
        "mde": detectable,
    }
    values = {name: np.nan if x is None else x for name, x in values.items()}
    return values | asdict(win_tie_loss(a, b))


def _tie_classes(systems, pairs, alpha):
    position = {label: k for k, label in enumerate(systems["system"])}
    told_apart = np.zeros((len(systems), len(systems)), dtype=bool)
    for row in pairs.itertuples():
        i, j = position[row.system_a], position[row.system_b]
        told_apart[i, j] = told_apart[j, i] = row.p_max_t <= alpha
    return tie_classes(told_apart)
