"""Apply the shift to some queries and skip others: comparison, segmenter, oracle."""

import numpy as np

from casebook.errors import InputError
from casebook.runs.record import query_groups, read_per_query
from casebook.shift.segments_file import APPLY, MEASURES, SKIP, check_metric
from casebook.stats.intervals import mean_intervals
from casebook.stats.tests import difference_intervals

SYSTEMS = ("Baseline", "PosNeg", "Segmented")


def compare_segments(segments, metric=None, *, n_boot=10_000, seed=0):
    """Compare baseline, shifted and segmented answers."""
    metric = check_metric(metric or segments.metric)
    frames = [read_per_query(segments.baseline), read_per_query(segments.shifted)]
    base, shifted = (f.set_index(f["QueryId"].str.lower()) for f in frames)
    used = base.index.intersection(shifted.index, sort=False)
    if used.empty:
        raise InputError(f"{segments.shifted}: shares no query with the baseline")
    apply = _applied(segments, base.index.union(shifted.index), used)
    counts = {
        "used": len(used),
        "missing": len(base.index.difference(shifted.index)),
        "extra": len(shifted.index.difference(base.index)),
        "apply": int(apply.sum()),
        "skip": int((~apply).sum()),
    }
    base, shifted = base.loc[used], shifted.loc[used]
    groups = query_groups(base)
    counts["groups"] = len(set(groups))
    tables = summarise(base, shifted, apply, groups, n_boot, seed)
    return {"metric": metric, "counts": counts, **tables}


def _applied(segments, known, used):
    decisions = {q.lower(): word for q, word in segments.decisions.items()}
    unknown = [query for query in decisions if query not in known]
    if unknown:
        raise InputError(
            f"decision about unknown query {unknown[0]!r}: it stands in neither "
            f"{segments.baseline} nor {segments.shifted}"
        )
    undecided = [query for query in used if query not in decisions]
    if undecided:
        raise InputError(
            f"{len(undecided)} of {len(used)} queries have no decision "
            f"(first: {undecided[0]}): give each {APPLY} or {SKIP}"
        )
    return np.array([decisions[query] == APPLY for query in used])


def summarise(base, shifted, apply, groups=None, n_boot=10_000, seed=0):
    """Give the three systems' means and their paired differences, with intervals."""
    kpi, delta = {s: {} for s in SYSTEMS}, {s: {} for s in SYSTEMS[1:]}
    for measure, column in MEASURES.items():
        before, after = (f[column].to_numpy(float) for f in (base, shifted))
        table = np.stack([before, after, np.where(apply, after, before)], axis=1)
        means = mean_intervals(table, groups, n_boot=n_boot, seed=seed)
        gains = difference_intervals(table[:, 1:] - table[:, :1], groups, n_resamples=n_boot, seed=seed)
        for target, found in ((kpi, means), (delta, gains)):
            for system, interval in zip(target, found, strict=True):
                target[system][measure] = interval.number()
    return {"kpi": kpi, "delta": delta}


def gap_gain(base, shifted):
    """Give how much the shift widens the gap between first and second document."""
    gaps = [(f["TopScore"] - f["Top2Score"]).to_numpy(float) for f in (base, shifted)]
    return np.nan_to_num(gaps[1] - gaps[0], nan=-np.inf)


def fit_tau(gains, differences):
    """Choose the threshold of the gap rule on development queries."""
    candidates = np.unique(gains[np.isfinite(gains)])[::-1]
    best, value = np.inf, 0.0
    for tau in candidates:
        total = differences[gains >= tau].sum()
        if total > value + 1e-12:
            best, value = float(tau), total
    return best


def oracle(base, shifted, metric="ndcg@3", eps=0.0):
    """Decide with the labels of the reported queries: an upper bound, not a system."""
    column = MEASURES[check_metric(metric)]
    gain = shifted[column].to_numpy(float) - base[column].to_numpy(float)
    return gain > eps
