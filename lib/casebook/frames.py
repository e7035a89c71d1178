"""The one frame: estimates of systems, and contrasts between them.

Tables, figures, sentences, ``numbers.json`` and the front page show its rows; nothing
else draws an interval of its own.
"""

import itertools
import math

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.areas import auroc, auroc_difference
from casebook.stats.intervals import (
    FEWEST,
    STATISTICS,
    bootstrap_mean,
    cluster_codes,
    cluster_sums,
    clustered_wilson,
    resampled_clusters,
    wilson,
)
from casebook.stats.samples import score_matrix
from casebook.stats.tests import (
    bounds_of_difference,
    minimal_detectable_effect,
    sign_flips,
)
from casebook.verdicts import (
    INTERVAL_BY_UNIT,
    NO_DIFFERENCE,
    NO_UNIT_DIFFERS,
    NOT_MEASURED,
    gate_verdict,
    verdict_of,
)

ESTIMATE_COLUMNS = ["system", *STATISTICS, "n", "groups", "control", "reason"]
DIFFERENCE_COLUMNS = ["system", "against", "difference", "low", "high", "n", "groups"]
CONTRAST_COLUMNS = [*DIFFERENCE_COLUMNS, "p", "p_adjusted", "verdict", "reason"]
COUNT_COLUMNS = ["better", "equal", "worse"]
PLANNED = "planned"
OTHER = "other"


def estimates(
    scores, clusters=None, control=None, *, level=0.95, n_resamples=10_000, seed=0
):
    """Mean of every system with its interval.

    Parameters
    ----------
    scores : pandas.DataFrame, shape [units, systems]
        Scores of the same units (questions, items, claims) by every system.
    clusters : array_like, shape [units], optional
        Case, policy, clause or person that a unit belongs to; whole clusters are
        drawn.
    control : label, optional
        Baseline whose mean is shown with every other.
    level : float, default 0.95
        Coverage of the intervals.
    n_resamples : int, default 10000
        Bootstrap draws.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    pandas.DataFrame
        One row per system: ``system``, ``value``, ``low``, ``high`` (NaN where
        undefined), ``n`` (units), ``groups`` (clusters; units without clusters),
        ``control`` and ``reason`` (why an interval is missing or is one over units,
        else None).

    Raises
    ------
    InputError
        If a score or a cluster is missing, or the control is not among the systems.

    Notes
    -----
    The interval is the hull of Student's t over clusters, from twenty clusters BCa
    (Efron 1987), and for 0/1 scores without clusters Wilson's. With fewer than six
    clusters it is one over units (reason ``interval_by_unit``).

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
    intervals = bootstrap_mean(
        frame, clusters=clusters, level=level, n_resamples=n_resamples, seed=seed
    )
    control = np.nan if control is None else frame[control].mean()
    groups = count_groups(clusters, len(frame))
    return coefficients(dict(zip(frame, intervals, strict=True)), groups, control)


def coefficients(intervals, groups=None, control=np.nan):
    """Intervals of any statistic by system as a frame like that of `estimates`."""
    rows = [
        {"system": name, **interval.row(), "reason": interval.reason}
        for name, interval in intervals.items()
    ]
    table = pd.DataFrame(rows, columns=ESTIMATE_COLUMNS).astype(
        dict.fromkeys(STATISTICS, float)
    )
    groups = table["n"] if groups is None else groups
    return table.assign(groups=groups, control=control, reason=_reasons(rows))


def shares(counts, *, level=0.95):
    """Shares of counts, (successes, trials) by system, as a frame like that of `estimates`.

    Of dependent trials they are lists, a number for each cluster.
    """
    found = {}
    for name, (successes, trials) in counts.items():
        interval = wilson if np.ndim(trials) == 0 else clustered_wilson
        found[name] = interval(successes, trials, level)
    return coefficients(found)


def areas(positive, scores, clusters=None, units=None, *, level=0.95):
    """AUROC of every column of scores as a frame like that of `estimates`; see `stats.areas`."""
    options = {"level": level, "clusters": clusters, "units": units}
    found = {name: auroc(positive, scores[name], **options) for name in scores}
    return coefficients(found, count_groups(clusters, len(positive)), 0.5)


def area_contrasts(positive, scores, pairs, clusters=None, units=None, *, level=0.95):
    """AUROC of one column of scores minus that of another, a row a pair, each on its own."""
    options = {"level": level, "clusters": clusters, "units": units}
    rows = []
    for system, against in pairs:
        found = auroc_difference(positive, scores[system], scores[against], **options)
        row = {"system": system, "against": against, **found.row("difference")}
        rows.append(row | {"reason": found.reason})
    table = pd.DataFrame(rows).assign(groups=count_groups(clusters, len(positive)))
    values = areas(positive, scores).set_index("system")["value"]
    table["level"] = table["system"].map(values)
    table["baseline"] = table["against"].map(values)
    return table[[*DIFFERENCE_COLUMNS, "level", "baseline", "reason"]].astype(
        {"reason": object}
    )


def count_groups(clusters, n):
    """Number of clusters; of units where there are no clusters."""
    if clusters is None:
        return n
    return int(cluster_codes(clusters, n).max(initial=-1)) + 1


def contrasts(
    scores,
    pairs,
    clusters=None,
    *,
    margin=0.0,
    level=0.95,
    n_resamples=10_000,
    seed=0,
    not_measured=None,
):
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
    not_measured : dict of (label, label) to str, optional
        Pairs whose two systems had the same input on every unit, with the reason. They
        are no part of the family. Decide this from the inputs, never from equal scores.

    Returns
    -------
    pandas.DataFrame
        One row per pair: ``system``, ``against``, ``difference``, ``low``, ``high``
        (NaN where undefined), ``n``, ``groups``, ``p`` (this contrast alone),
        ``p_adjusted`` (max-T over the family), ``verdict`` and ``reason``. The verdict
        is ``"equivalent"`` where the interval lies within the margin; else ``"better"``
        or ``"worse"`` exactly where ``p_adjusted <= 1 - level``, which is where the
        interval leaves out 0; ``"no difference"`` where the scores of all units are
        equal; ``"cannot be measured"`` where the two systems had the same input; else
        ``"undecided"``. A difference that is the same in all clusters has no interval,
        and the same verdict as an interval of width 0 where its test rejects.

    Raises
    ------
    InputError
        If a score or a cluster is missing, a pair names no system, or there are no
        units.

    Notes
    -----
    Sign-flip (Fisher randomisation) test over clusters, with single-step max-T of
    Westfall and Young 1993; intervals invert the test (Hartigan 1969). With fewer than
    six clusters test and interval are over units (reason ``interval_by_unit``); with
    fewer than six units there is no interval and the verdict is undecided.

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
    pairs = [tuple(pair) for pair in pairs]
    not_measured = not_measured or {}
    X, names = score_matrix(pd.DataFrame(scores))
    for name in itertools.chain(*pairs):
        if name not in names:
            raise InputError(f"unknown system {name!r}: no column of the scores")
    if not len(X):
        raise InputError("there are no units to compare")
    family = [pair for pair in pairs if pair not in not_measured]
    systems = [names.index(system) for system, _ in family]
    against = [names.index(baseline) for _, baseline in family]
    differences = np.ascontiguousarray(X[:, systems] - X[:, against])
    largest = np.abs(X).max(initial=0.0)
    differences[np.abs(differences) <= 1e-12 * largest] = 0.0
    units, reason_of_all = resampled_clusters(clusters, len(X))
    sums, sizes = cluster_sums(differences, units)
    flips = sign_flips(sums, sizes, level=level, n_resamples=n_resamples, seed=seed)
    row_of = {
        pair: {"verdict": NOT_MEASURED, "reason": reason}
        for pair, reason in not_measured.items()
    }
    for pair, of_pair, *found in zip(family, differences.T, *flips, strict=True):
        difference, low, high, p, p_adjusted = found
        low, high, reason = bounds_of_difference(of_pair, low, high, reason_of_all)
        row = {"difference": difference, "p_adjusted": p_adjusted}
        tested = row if len(sizes) >= FEWEST else {}
        verdict = verdict_of(low, high, margin, reason=reason, level=level, **tested)
        row |= {"low": low, "high": high, "p": p, "verdict": verdict, "reason": reason}
        row_of[pair] = row
    rows = [
        {"system": system, "against": baseline, **row_of[system, baseline]}
        for system, baseline in pairs
    ]
    table = pd.DataFrame(rows, columns=CONTRAST_COLUMNS)
    table = table.assign(n=len(X), groups=count_groups(clusters, len(X)))
    numbers = dict.fromkeys(["difference", "low", "high", "p", "p_adjusted"], float)
    return table.astype(numbers).assign(reason=_reasons(rows))


def _reasons(rows):
    return pd.Series([row["reason"] for row in rows], dtype=object)


def count_units(scores, pairs):
    """Count the units on which the first system of each pair is better, equal and worse."""
    counts = []
    for system, against in pairs:
        signs = np.sign((scores[system] - scores[against]).round(9))
        counts.append([(signs == sign).sum() for sign in (1, 0, -1)])
    return pd.DataFrame(counts, columns=COUNT_COLUMNS, dtype=int)


def between(scores, is_first, clusters=None, *, margin=0.0, level=0.95):
    """Mean of every system on some units against its mean on all others, which are not paired.

    Errors are robust to clusters (Liang and Zeger 1986, with the correction of Stata and Student's
    t over clusters minus one); with fewer than six clusters they are those of units.
    """
    from statsmodels.regression.linear_model import OLS  # slow to import

    n = len(scores)
    units, reason_of_all = resampled_clusters(clusters, n)
    codes, _ = pd.factorize(np.arange(n) if units is None else np.asarray(units))
    is_first = np.asarray(is_first, dtype=bool)
    kinds = np.column_stack([np.ones(n), is_first])
    rows = []
    for system, values in scores.items():
        model = OLS(values.to_numpy(float), kinds)
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
        difference = fit.params[1]
        low, high = fit.conf_int(1 - level)[1]
        reason = reason_of_all
        first = values[is_first]
        other = values[~is_first]
        if first.nunique() == other.nunique() == 1:
            difference = first.iloc[0] - other.iloc[0]
            reason = "no_variation" if difference else NO_UNIT_DIFFERS
        if reason not in (None, INTERVAL_BY_UNIT):
            low = high = np.nan
        rows.append(
            {
                "system": system,
                "against": system,
                "difference": difference,
                "low": low,
                "high": high,
                "level": first.mean(),
                "baseline": other.mean(),
                "verdict": verdict_of(low, high, margin, reason=reason),
                "reason": reason,
            }
        )
    table = pd.DataFrame(rows).astype({"reason": object})
    return table.assign(n=n, groups=count_groups(clusters, n))


def pair_sizes(scores, pairs, alpha, clusters):
    """Effect size and, of units without clusters, detectable effect of every pair."""
    rows = []
    for system, against in pairs:
        differences = (scores[system] - scores[against]).round(12)  # blind to rounding
        spread = differences.std() if len(set(differences)) > 1 else np.nan
        mde = np.nan
        if clusters is None and spread > 0:
            mde = minimal_detectable_effect(spread, len(scores), alpha=alpha)
        rows.append([differences.mean() / spread, mde])
    return pd.DataFrame(rows, columns=["dz", "mde"], dtype=float)


def tie_classes(systems, pairs, alpha):
    """Largest sets of systems of which no two differ, as text for each system, such as ``"1,2"``.

    Insert and absorb (Piepho 2004): each difference divides the classes that hold both systems, and
    what lies within another class is none. Two differ by the adjusted p-value of their pair.
    """
    systems = [*systems]
    differ = pairs.loc[pairs["p_adjusted"] <= alpha, ["system", "against"]]
    classes = {frozenset(systems)}
    for pair in differ.itertuples(index=False, name=None):
        together = {members for members in classes if members.issuperset(pair)}
        halves = {members - {system} for members in together for system in pair}
        others = classes - together
        kept = [half for half in halves if not any(half < other for other in others)]
        classes = others.union(kept)
    order = sorted(classes, key=lambda members: sorted(map(systems.index, members)))
    members = pd.DataFrame(
        {str(n): pd.Index(systems).isin(of) for n, of in enumerate(order, 1)}
    )
    return [",".join(members.columns[row]) for row in members.to_numpy()]


def interval_verdicts(frame, null=0.0):
    """Verdict on each row by where its interval lies; without one by its reason, if it has any.

    Examples
    --------
    >>> auroc = pd.DataFrame({"low": [0.6, 0.4, None], "high": [0.9, 0.8, None]}, dtype=float)
    >>> interval_verdicts(auroc, null=0.5).tolist()
    ['better', 'undecided', 'cannot be measured']
    """
    bounds = frame[["low", "high"]].astype(float).sub(null, axis=0)
    verdicts = [verdict_of(*row) for row in bounds.itertuples(index=False)]
    verdicts = pd.Series(verdicts, frame.index, dtype=object)
    verdicts = verdicts.mask(bounds.isna().any(axis=1), NOT_MEASURED)
    if "reason" in frame:
        verdicts = verdicts.mask(frame["reason"] == NO_UNIT_DIFFERS, NO_DIFFERENCE)
    return verdicts


def gate_of_row(row, margin):
    """Verdict of a gate on a contrast: not worse by more than a margin."""
    low, high = (
        None if math.isnan(bound) else bound for bound in (row["low"], row["high"])
    )
    if row["reason"] in (NO_UNIT_DIFFERS, "no_variation") and row["groups"] >= FEWEST:
        low = high = row["difference"]  # every unit changes by the same amount
    return gate_verdict(low, high, -margin, inclusive=True)
