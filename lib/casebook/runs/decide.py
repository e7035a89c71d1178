"""Whether one run is better than another: evidence, gates, decisions, and their documented reports.

With rows per query a verdict rests on the interval of the paired mean difference over groups of
queries: it passes if the whole interval lies above the margin, fails if all of it lies below, and
is undecided if the margin lies inside. With fewer than six groups it is undecided too: the interval
over their queries, which is reported, says nothing about new groups. Two runs that give every query
the same score are the same: there is nothing to decide. Without rows only the two scores are left,
which say nothing about chance: nothing is decided on them, unless EmbeddingShift's own rule is
asked for. Evidence that is gone or was altered is refused.
"""

import numpy as np
import pandas as pd

from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.frames import contrasts
from casebook.runs.promotions import active_promotion, promote
from casebook.runs.record import (
    RECORD,
    higher_is_better,
    metric_key,
    read_record,
    require,
    utc,
)
from casebook.runs.registry import (
    TOLERANCE,
    NoRows,
    best_run,
    find_run,
    query_scores,
    ranked,
    reported_number,
    short_key,
)
from casebook.stats.intervals import FEWEST
from casebook.verdicts import (
    FAIL,
    INCOMPARABLE,
    KEEP_ACTIVE,
    PASS,
    PROMOTE,
    SAME,
    UNDECIDED,
    gate_verdict,
)

ON_PAIRS = "paired_randomisation"  # basis of evidence: paired scores of queries
_ERRORS = {FAIL: CheckFailed, UNDECIDED: Undecided, INCOMPARABLE: Incomparable}
_MEASURED = (
    "low",
    "high",
    "level",
    "n",
    "groups",
    "p_value",
    "gained",
    "lost",
    "unchanged",
)


def ranking(listing, rows):
    """Rows of `ranked` with rank among comparable runs, n, interval and control of each score."""
    numbers = [
        reported_number(listing.folder(row), row["metric"])
        for _, row in rows.iterrows()
    ]
    columns = ["n", "low", "high", "control", "reason"]
    table = rows[["score", "metric", "workflow", "run", "path"]]
    table = table.join(pd.DataFrame(numbers, rows.index, columns))
    table["data"] = rows["key"].map(short_key)
    table.insert(0, "rank", rows.groupby("key").cumcount() + 1)
    return table


# --- two runs by query

CHANGES = ["gained", "lost", "unchanged"]


def compare_named(listing, names, metric):
    if len(names) != 2:
        raise InputError("compare takes no run or two: candidate and reference")
    runs = [find_run(listing, name) for name in names]
    if runs[0]["key"] != runs[1]["key"]:
        raise Incomparable("the runs were measured on different data")
    folders = [listing.folder(run) for run in runs]
    try:
        comparison = compare_runs(*folders, metric)
    except NoRows as reason:
        raise InputError(f"{metric}: no comparison by query: {reason}") from None
    labels = pd.json_normalize(
        [read_record(folder / RECORD).labels for folder in folders]
    )
    labels = labels.astype(str)
    differing = labels.loc[:, labels.iloc[0] != labels.iloc[1]]
    return comparison | {"labels": differing.to_dict("list")}


def compare_runs(candidate, reference, metric):
    """Compare the folders of two runs by the queries of a metric; gives a dict.

    Above 0 the candidate is better, whichever direction the metric has. Other queries, or other
    groups of them, are incomparable. ``flips`` is a frame of the queries, largest change first,
    ``reason`` why there is no interval.
    """
    after = query_scores(candidate, metric)
    before = query_scores(reference, metric)
    n_alone = len(after.index.symmetric_difference(before.index))
    if n_alone:
        raise Incomparable(f"{n_alone} queries are of one run only")
    both = after.join(before, rsuffix="_before")
    # Rows without groups, each a group of its own, take those of the other run.
    groups = both["group_before"] if both["group"].is_unique else both["group"]
    known = groups if both["group_before"].is_unique else both["group_before"]
    if (pd.factorize(groups)[0] != pd.factorize(known)[0]).any():
        raise Incomparable("the queries are in different groups")
    sign = 1 if higher_is_better(metric) else -1
    scores = pd.DataFrame(
        {"new": sign * both["score"], "old": sign * both["score_before"]}
    )
    row = contrasts(scores, [("new", "old")], groups).iloc[0]
    row = row.astype(object).where(row.notna(), None)  # undefined is never a number
    flips = _flips(both["score_before"], both["score"], sign)
    counts = flips["change"].value_counts().reindex(CHANGES, fill_value=0)
    return {
        **row[["difference", "low", "high", "reason"]].to_dict(),
        "level": 0.95,
        "n": int(row["n"]),
        "groups": int(row["groups"]),
        "p_value": row["p"],
        **counts.astype(object).to_dict(),
        "flips": flips,
    }


def _flips(before, after, sign):
    table = pd.DataFrame(
        {"before": before, "after": after, "difference": after - before}
    )
    better = sign * table["difference"]
    table["change"] = CHANGES[2]
    table.loc[better > TOLERANCE, "change"] = CHANGES[0]
    table.loc[better < -TOLERANCE, "change"] = CHANGES[1]
    order = np.lexsort([table.index, -better, -better.abs()])
    return table.iloc[order].rename_axis("query_id").reset_index()


# --- what supports a candidate: a verdict on one metric and its basis


def evidence_of(verdict, *notes, basis=None, improvement=None):
    return {  # the documented fields; what was not measured is None
        "verdict": verdict,
        "basis": basis,
        "improvement": improvement,
        **dict.fromkeys(_MEASURED),
        "notes": list(notes),
    }


def weigh(
    listing, candidate, reference, metric, margin, *, inclusive=False, original=False
):
    """Weigh one run against another on one metric.

    ``inclusive`` passes a run that is not worse by more than the margin. Without rows nothing is
    decided; ``original`` then decides on the two scores, as EmbeddingShift does.
    """
    runs = [candidate, reference]
    if candidate["key"] != reference["key"]:
        return evidence_of(INCOMPARABLE, "the runs were measured on different data")
    scores = [listing.score(run, metric) for run in runs]
    if None in scores:
        return evidence_of(FAIL, "MISSING: a run failed or does not hold the metric")
    notes = []
    folders = [listing.folder(run) for run in runs]
    if not all(require(folder).outputs for folder in folders):
        notes.append(
            "a run lists no hashes: that its files were not altered is on trust"
        )
    equal = PASS if inclusive else SAME  # equal runs are not worse by any margin
    try:
        pairs = compare_runs(*folders, metric)
    except Incomparable as reason:
        return evidence_of(INCOMPARABLE, *notes, str(reason))
    except NoRows as reason:
        notes.append(f"no interval, only the two scores: {reason}")
        gain = scores[0] - scores[1]
        gain = gain if higher_is_better(metric) else -gain
        verdict = gate_verdict(gain, gain, margin, inclusive) if gain else equal
        verdict = verdict if original else UNDECIDED
        return evidence_of(verdict, *notes, basis="eps", improvement=gain)
    if not pairs["gained"] + pairs["lost"]:
        notes.append("no row differs")
        verdict = equal
    elif pairs["groups"] < FEWEST:
        notes.append("fewer than six groups: nothing is decided about new ones")
        verdict = UNDECIDED
    else:
        verdict = gate_verdict(pairs["low"], pairs["high"], margin, inclusive)
    evidence = evidence_of(
        verdict, *notes, basis=ON_PAIRS, improvement=pairs["difference"]
    )
    return evidence | {name: pairs[name] for name in _MEASURED}


def settle(verdict, message):
    if verdict in _ERRORS:
        raise _ERRORS[verdict](message)


# --- decisions, in their documented form


def decide(listing, metric, *, run=None, eps=1e-6, original=False):
    """Whether the best run, or one that is named, should become the active one."""
    promotion = active_promotion(listing.root, metric)
    active = promotion and find_run(listing, promotion["path"])
    candidate = run
    n_competing = 1
    if run is None:
        rows = ranked(listing, metric)
        if promotion:
            rows = rows[rows["key"] == active["key"]]
        n_competing = len(rows)
        candidate = best_run(rows, metric) if n_competing or not promotion else active
    before = promotion and promotion["score"]
    after = listing.score(candidate, metric)
    if after is None:
        evidence = evidence_of(FAIL, "MISSING: it failed or does not hold the metric")
    elif promotion is None:
        evidence = evidence_of(PASS, "no run was promoted before", basis="first")
    elif candidate["path"] == promotion["path"]:
        note = f"{candidate['run']} is promoted already: nothing to promote"
        evidence = evidence_of(SAME, note, basis="same_run", improvement=0.0)
    else:
        evidence = weigh(listing, candidate, active, metric, eps, original=original)
    if n_competing > 1 and evidence["basis"] == ON_PAIRS:
        note = (
            f"best of {n_competing} runs: the interval does not correct for that choice"
        )
        evidence["notes"].append(note)
    return {
        "metricKey": metric_key(metric),
        "createdUtc": utc(),
        "runsRoot": str(listing.root),
        "epsilon": eps,
        "totalRunsFound": len(listing.runs),
        "competing": n_competing,
        "candidate": _named_run(listing, candidate, after),
        "active": promotion
        and _named_run(listing, active, before) | {"seq": promotion["seq"]},
        "action": PROMOTE if evidence["verdict"] == PASS else KEEP_ACTIVE,
        "delta": None if None in (before, after) else after - before,
        "reason": "; ".join(evidence["notes"]),
        "evidence": evidence,
    }


def _named_run(listing, run, score):
    folder = listing.folder(run)
    return {
        "workflowName": run["workflow"],
        "runId": run["run"],
        "path": run["path"],
        "score": score,
        "runDirectory": str(folder),
        "runJsonPath": str(folder / RECORD),
    }


def apply_decision(listing, decision):
    if decision["action"] != PROMOTE:
        return None
    grounds = {name: decision[name] for name in ("action", "epsilon", "totalRunsFound")}
    return promote(
        listing,
        find_run(listing, decision["candidate"]["path"]),
        decision["metricKey"],
        f"decided by {decision['evidence']['basis']}",
        after=decision["active"]["seq"] if decision["active"] else 0,
        decision=decision["evidence"] | grounds,
    )
