"""The one frame: estimates of systems, and contrasts between them.

Tables, figures, sentences, ``numbers.json`` and the front page show its rows; nothing
else draws an interval of its own.
"""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.samples import score_matrix
from casebook.stats.intervals import cluster_sums, mean_intervals, too_few
from casebook.stats.tests import sign_flips

BETTER, WORSE, SAME = "better", "worse", "same"
EQUIVALENT, UNDECIDED = "equivalent", "undecided"
CONTRASTS = [
    *("system", "against", "difference", "low", "high", "n", "groups"),
    *("p", "p_adjusted", "verdict", "reason"),
]


def estimates(scores, clusters=None, control=None, *, level=0.95, n_boot=10_000, seed=0):
    """Mean of every system with its interval.

    Parameters
    ----------
    scores : pandas.DataFrame, shape [units, systems]
        Scores of the same units (questions, items, claims) by every system.
    clusters : array_like, shape [units], optional
        Case, policy, clause or person that a unit belongs to; whole clusters are
        drawn.
    control : label, optional
        System that knows nothing; its mean stands beside every other.
    level : float, default 0.95
        Coverage of the intervals.
    n_boot : int, default 10000
        Bootstrap draws.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    pandas.DataFrame
        One row per system: ``system``, ``value``, ``low``, ``high`` (NaN where
        undefined), ``n`` (units), ``groups`` (clusters; units without clusters),
        ``control`` and ``reason`` (why an interval is missing or degenerate, else
        None).

    Raises
    ------
    InputError
        If a score or a cluster is missing, or the control is not among the systems.

    Notes
    -----
    The interval is the hull of Student's t over clusters and, from twenty clusters,
    BCa (Efron 1987). With fewer than six clusters there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"bm25": [0, 1, 0.5, 1, 0, 1, 0.5, 1]})
    >>> row = estimates(scores).iloc[0]
    >>> f"{row.value:.3f} [{row.low:.2f}, {row.high:.2f}], n = {row.n}"
    '0.625 [0.25, 1.00], n = 8'
    """
    frame = pd.DataFrame(scores)
    if control is not None and control not in frame:
        raise InputError(f"unknown control {control!r}: it is no column of the scores")
    found = mean_intervals(frame, clusters, level=level, n_boot=n_boot, seed=seed)
    groups = len(cluster_sums(frame.to_numpy(float), clusters)[1])
    return pd.DataFrame(
        {
            "system": list(frame),
            "value": [x.estimate for x in found],
            "low": [x.low for x in found],
            "high": [x.high for x in found],
            "n": len(frame),
            "groups": groups,
            "control": np.nan if control is None else frame[control].mean(),
            "reason": pd.Series([x.reason for x in found], dtype=object),
        }
    ).astype({"value": float, "low": float, "high": float})


def contrasts(scores, pairs, clusters=None, *, margin=0.0, level=0.95, n_resamples=10_000, seed=0):
    """Paired differences of systems, as one family of planned contrasts.

    Parameters
    ----------
    scores : pandas.DataFrame, shape [units, systems]
        Scores of the same units by every system; higher is better.
    pairs : sequence of (label, label)
        The family: the second system is subtracted from the first.
    clusters : array_like, shape [units], optional
        As in `estimates`; signs of whole clusters are turned.
    margin : float, default 0
        Differences smaller than this do not matter; 0: no statement of equivalence.
    level : float, default 0.95
        Coverage of all intervals together; one minus it is the family-wise error.
    n_resamples : int, default 10000
        Sign patterns; all of them where those are no more.
    seed : int, default 0
        Seed of the patterns.

    Returns
    -------
    pandas.DataFrame
        One row per pair: ``system``, ``against``, ``difference``, ``low``, ``high``,
        ``n``, ``groups``, ``p`` (this contrast alone), ``p_adjusted`` (max-T over the
        family), ``verdict`` and ``reason``. The verdict is ``"better"`` or ``"worse"``
        exactly where ``p_adjusted <= 1 - level``, which is exactly where the interval
        leaves out 0; ``"equivalent"`` where the interval lies within the margin,
        ``"same"`` where no unit differs, else ``"undecided"``.

    Raises
    ------
    InputError
        If a score or a cluster is missing, a pair names no system, or there are no
        units.

    Notes
    -----
    Sign-flip (Fisher randomisation) test over clusters, with single-step max-T of
    Westfall and Young 1993; intervals invert the test (Hartigan 1969). With fewer than
    six clusters there is no interval and the verdict is undecided.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame(
    ...     {"full": [3, 4, 5, 5, 4, 5, 4], "bm25": [2, 2, 3, 4, 2, 4, 4]}
    ... )
    >>> row = contrasts(scores, [("full", "bm25")]).iloc[0]
    >>> f"{row.difference:.2f} [{row.low:.2f}, {row.high:.2f}], p = {row.p:.3f}"
    '1.29 [0.50, 2.00], p = 0.031'
    >>> row.verdict
    'better'
    """
    frame = pd.DataFrame(scores)
    pairs = list(pairs)
    unknown = [name for pair in pairs for name in pair if name not in frame]
    if unknown:
        raise InputError(f"unknown system {unknown[0]!r}: no column of the scores")
    X, names = score_matrix(frame)
    if not len(X):
        raise InputError("there are no units to compare")
    columns = {name: X[:, k] for k, name in enumerate(names)}
    differences = np.empty((len(X), len(pairs)))
    for k, (first, second) in enumerate(pairs):
        differences[:, k] = columns[first] - columns[second]
    differences[np.abs(differences) <= 1e-12 * np.abs(X).max(initial=0.0)] = 0.0
    sums, sizes = cluster_sums(differences, clusters)
    found = sign_flips(sums, sizes, level=level, n_resamples=n_resamples, seed=seed)
    reason = too_few(len(sizes), clusters)
    rows = []
    for k, (first, second) in enumerate(pairs):
        low, high, why = found.low[k], found.high[k], reason
        if reason is None and np.isnan(low):
            why = "too_few_clusters_for_the_family"
        if not differences[:, k].any():
            low, high, why = 0.0, 0.0, "no_variation"
        elif reason:
            low, high = np.nan, np.nan
        values = (found.difference[k], low, high, len(X), len(sizes))
        tests = (found.p[k], found.p_adjusted[k])
        rows.append((first, second, *values, *tests, _verdict(low, high, margin), why))
    return pd.DataFrame(rows, columns=CONTRASTS).astype({"reason": object})


def _verdict(low, high, margin):
    if low == high == 0:
        return SAME
    if -margin < low and high < margin:
        return EQUIVALENT
    if low > 0:
        return BETTER
    return WORSE if high < 0 else UNDECIDED
