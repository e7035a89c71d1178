"""Shift some queries and skip others: the segments file, its comparison, gap rule and oracle."""

from collections import namedtuple
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.files import write_json
from casebook.frames import single_contrasts
from casebook.readers import parse_json
from casebook.runs.outputs import number
from casebook.runs.record import query_groups, read_per_query
from casebook.stats.intervals import bootstrap_mean

SEGMENT_SYSTEMS = ("Baseline", "PosNeg", "Segmented")
PER_QUERY_COLUMNS = {"map@1": "Ap1", "ndcg@3": "Ndcg3"}
APPLY = "ApplyShift"
SKIP = "SkipShift"
_DECISION_WORDS = {"applyshift": APPLY, "variantb": APPLY, "skipshift": SKIP, "varianta": SKIP}


# A segments file: two per-query files, and for each query whether to shift it.
Segments = namedtuple("Segments", "metric eps baseline shifted decisions")


def read_segments(path):
    """Read a segments file in either known spelling."""
    path = Path(path)
    try:
        raw = parse_json(path.read_text(encoding="utf-8-sig"))
        values = {key.lower(): value for key, value in raw.items()}
        decisions = dict(values["decisions"])
    except FileNotFoundError:
        raise InputError(f"{path}: no such segments file") from None
    except KeyError:
        raise InputError(f"{path}: lacks Decisions") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: not a segments file: {error}") from None
    files = []
    for variant, name in (("varianta", "Baseline"), ("variantb", "PosNeg")):
        value = values.get(f"{variant}path") or values.get(f"{name.lower()}path")
        if value is None:
            raise InputError(f"{path}: lacks {name}Path")
        if not isinstance(value, str):
            raise InputError(f"{path}: {name}Path must be the path of a file")
        files.append(path.parent / value)
    for query, word in decisions.items():
        if str(word).lower() not in _DECISION_WORDS:
            raise InputError(f"{path}: query {query}: {word!r} is not {APPLY} or {SKIP}")
        decisions[query] = _DECISION_WORDS[str(word).lower()]
    baseline, shifted = files
    metric = _checked_metric(values.get("metric") or "ndcg@3", path)
    return Segments(metric, values.get("eps"), baseline, shifted, decisions)


def _checked_metric(metric, where="--metric"):
    if str(metric).lower() not in PER_QUERY_COLUMNS:
        raise InputError(f"{where}: metric {metric!r}: choose {', '.join(PER_QUERY_COLUMNS)}")
    return str(metric).lower()


def write_segments(path, segments):
    """Write a segments file under the documented names."""
    values = {
        "Metric": segments.metric,
        "Eps": segments.eps,
        "BaselinePath": str(segments.baseline),
        "PosNegPath": str(segments.shifted),
        "Decisions": segments.decisions,
    }
    return write_json(path, values)


def decisions_of(query_ids, apply):
    """Decisions in the documented words."""
    words = np.where(apply, APPLY, SKIP).tolist()
    return dict(zip(query_ids, words, strict=True))


def compare_segments(segments, metric=None, *, seed=0):
    """Compare baseline, shifted and segmented rankings: counts, means and paired differences."""
    metric = _checked_metric(metric or segments.metric)
    base = _by_query(segments.baseline)
    shifted = _by_query(segments.shifted)
    used = base.index.intersection(shifted.index, sort=False)
    if used.empty:
        raise InputError(f"{segments.shifted}: shares no query with the baseline")
    decisions = {query.lower(): word for query, word in segments.decisions.items()}
    unknown = [query for query in decisions if query not in base.index.union(shifted.index)]
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
    apply = np.array([decisions[query] == APPLY for query in used])
    groups = query_groups(base.loc[used])
    counts = {
        "used": len(used),
        "missing": len(base) - len(used),
        "extra": len(shifted) - len(used),
        "apply": int(apply.sum()),
        "skip": int((~apply).sum()),
        "groups": groups.nunique(),
    }
    summary = summarise(base.loc[used], shifted.loc[used], apply, groups, seed=seed)
    return {"metric": metric, "counts": counts, **summary}


def _by_query(path):
    """Read a per-query file; ids of queries are compared without regard to case."""
    frame = read_per_query(path)
    return frame.set_index(frame["QueryId"].str.lower())


def summarise(base, shifted, apply, groups=None, n_resamples=10_000, seed=0):
    """Means of three systems (kpi) and paired differences from the baseline (delta)."""
    kpi = {name: {} for name in SEGMENT_SYSTEMS}
    delta = {name: {} for name in SEGMENT_SYSTEMS[1:]}
    for measure, column in PER_QUERY_COLUMNS.items():
        before = base[column].to_numpy(float)
        after = shifted[column].to_numpy(float)
        table = np.stack([before, after, np.where(apply, after, before)], axis=1)
        means, gains = means_and_gains(table, groups, n_resamples, seed)
        for system, mean in zip(kpi, means, strict=True):
            kpi[system][measure] = mean
        for system, gain in zip(delta, gains, strict=True):
            delta[system][measure] = gain
    return {"kpi": kpi, "delta": delta}


def means_and_gains(table, groups, n_resamples=10_000, seed=0):
    """Means of systems [queries, systems] and paired differences from the first, with intervals."""
    means = bootstrap_mean(table, clusters=groups, n_resamples=n_resamples, seed=seed)
    pairs = [(system, 0) for system in range(1, table.shape[1])]
    gains = single_contrasts(table, pairs, groups, n_resamples=n_resamples, seed=seed)
    rows = gains.to_dict("records")
    return [interval.number() for interval in means], [number(row, "difference") for row in rows]


def gap_gain(base, shifted):
    """How much a shift widens the gap between first and second document; -inf without a second."""
    gap_before = (base["TopScore"] - base["Top2Score"]).to_numpy(float)
    gap_after = (shifted["TopScore"] - shifted["Top2Score"]).to_numpy(float)
    return np.nan_to_num(gap_after - gap_before, nan=-np.inf)


def fit_tau(gains, differences):
    """Choose the threshold of the gap rule that gains most on development queries; inf: none."""
    best_tau = np.inf
    best_total = 0.0
    for tau in np.unique(gains[np.isfinite(gains)])[::-1]:
        total = differences[gains >= tau].sum()
        if total > best_total + 1e-12:
            best_tau = float(tau)
            best_total = total
    return best_tau


def oracle(base, shifted, metric="ndcg@3", eps=0.0):
    """Decide with the labels of the reported queries: an upper bound, not a system."""
    column = PER_QUERY_COLUMNS[_checked_metric(metric)]
    return shifted[column].to_numpy(float) - base[column].to_numpy(float) > eps
