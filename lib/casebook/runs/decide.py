"""Whether one run is better than another: evidence, gates, decisions, and their documented reports.

With rows per query a verdict rests on the interval of the paired mean difference over groups of
queries: it passes if the whole interval lies above the margin, fails if all of it lies below, and
is undecided if the margin lies inside. With fewer than six groups it is undecided too: the interval
over their queries, which is reported, says nothing about new groups. Two runs that give every query
the same score are the same: there is nothing to decide. Without rows only the two scores are left,
which say nothing about chance: nothing is decided on them, unless EmbeddingShift's own rule is
asked for. Evidence that is gone or was altered is refused.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.readers import read_yaml
from casebook.runs.evidence import RECORD, require
from casebook.runs.pairing import compare_runs
from casebook.runs.promotions import active_promotion, promote
from casebook.runs.record import higher_is_better, metric_key, utc
from casebook.runs.registry import (
    NoRows,
    best_run,
    find_run,
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
    worst_verdict,
)

ON_PAIRS = "paired_randomisation"  # basis of evidence: paired scores of queries
ON_SCORES = "eps"  # basis of evidence: the two scores of the runs alone
_ERRORS = {FAIL: CheckFailed, UNDECIDED: Undecided, INCOMPARABLE: Incomparable}
_MEASURED = ("low", "high", "level", "n", "groups", "p_value", "gained", "lost", "unchanged")

# --- runs side by side


def ranking(listing, metric, rows):
    """Rows of `ranked` with rank among comparable runs, n, interval and control of each score."""
    numbers = []
    for _, row in rows.iterrows():
        number = {"reason": "the run does not hold the metric"}
        if pd.notna(row["score"]):
            number = reported_number(listing.folder(row), row["metric"])
        numbers.append(number)
    columns = ["n", "low", "high", "control", "reason"]
    table = rows[["score", "metric", "workflow", "run", "path"]]
    table = table.join(pd.DataFrame(numbers, rows.index, columns))
    table["data"] = rows["key"].map(short_key)
    ranks = rows.groupby("key").cumcount() + 1
    table.insert(0, "rank", ranks.where(rows["score"].notna()).astype("Int64"))
    return table


def compare_named(listing, names, metric, force=False):
    """Two runs by name compared query by query, with the parameters that differ."""
    if len(names) != 2:
        raise InputError("compare takes no run or two: candidate and reference")
    both = [find_run(listing, name) for name in names]
    is_other = both[0]["key"] != both[1]["key"]
    if is_other and not force:
        raise Incomparable("measured on different data; --force compares and says so")
    folders = [listing.folder(run) for run in both]
    try:
        comparison = compare_runs(*folders, metric, force=force)
    except NoRows as reason:
        raise InputError(f"{metric}: no comparison by query: {reason}") from None
    comparison["incomparable"] = is_other or bool(comparison["incomparable"])
    new, old = (run["parameters"] for run in both)
    names = sorted(name for name in new | old if new.get(name) != old.get(name))
    comparison["parameters"] = {name: [new.get(name), old.get(name)] for name in names}
    return comparison


# --- what supports a candidate: a verdict on one metric and its basis


def evidence_of(verdict, basis=None, notes=(), improvement=None, incomparable=False):
    """The documented fields of evidence; what was not measured is None."""
    return {
        "verdict": verdict,
        "basis": basis,
        "improvement": improvement,
        **dict.fromkeys(_MEASURED),
        "incomparable": incomparable,
        "notes": list(notes),
    }


def weigh(
    listing,
    candidate,
    reference,
    metric,
    margin,
    *,
    inclusive=False,
    force=False,
    original=False,
    level=0.95,
    seed=0,
):
    """Weigh one run against another on one metric.

    ``inclusive`` passes a run that is not worse by more than the margin. Without rows nothing is
    decided; ``original`` then decides on the two scores, as EmbeddingShift does.
    """
    notes = []
    keys = [candidate["key"], reference["key"]]
    if keys == ["", ""]:
        notes.append("no run holds a fingerprint: that both are of the same data is on trust")
    is_other = keys[0] != keys[1]
    if is_other:
        notes.append(f"measured on different data ({' and '.join(map(short_key, keys))})")
        if not force:
            return evidence_of(INCOMPARABLE, None, notes, incomparable=True)
    scores = [listing.score(run, metric) for run in (candidate, reference)]
    if None in scores:
        notes.append("MISSING: a run failed or does not hold the metric")
        return evidence_of(FAIL, None, notes, incomparable=is_other)
    folders = [listing.folder(run) for run in (candidate, reference)]
    if not all(require(folder).outputs for folder in folders):
        notes.append("a run lists no hashes: that its files were not altered is on trust")
    equal = PASS if inclusive else SAME  # equal runs are not worse by any margin
    try:
        pairs = compare_runs(*folders, metric, force=force, level=level, seed=seed)
    except Incomparable as reason:
        return evidence_of(INCOMPARABLE, None, [*notes, str(reason)], incomparable=True)
    except NoRows as reason:
        notes.append(f"no interval, only the two scores: {reason}")
        gain = scores[0] - scores[1] if higher_is_better(metric) else scores[1] - scores[0]
        verdict = gate_verdict(gain, gain, margin, inclusive) if gain else equal
        return evidence_of(verdict if original else UNDECIDED, ON_SCORES, notes, gain, is_other)
    if pairs["incomparable"]:
        notes.append(pairs["incomparable"])
        is_other = True
    verdict = equal
    if pairs["gained"] or pairs["lost"]:
        verdict = _verdict_on_pairs(pairs, margin, inclusive, notes)
    else:
        notes.append("no row differs")
    evidence = evidence_of(verdict, ON_PAIRS, notes, pairs["difference"], is_other)
    return evidence | {name: pairs[name] for name in _MEASURED}


# Verdict on two runs whose rows differ; few groups decide nothing.
def _verdict_on_pairs(pairs, margin, inclusive, notes):
    if pairs["groups"] < FEWEST:
        notes.append("fewer than six groups: nothing is decided about new ones")
        return UNDECIDED
    low, high = pairs["low"], pairs["high"]
    if pairs["reason"] == "no_variation":
        notes.append("no interval: every question differs by the same")
        low = high = pairs["difference"]
    return gate_verdict(low, high, margin, inclusive)


def settle(verdict, message):
    """End a command with the exit code of its verdict."""
    if verdict in _ERRORS:
        raise _ERRORS[verdict](message)


# --- gates: margins per metric, how much worse than a reference a run may be


class Rule(BaseModel):
    """How much worse a run may be on one metric."""

    model_config = ConfigDict(extra="forbid", strict=True)
    metric: Annotated[str, Field(min_length=1)]
    margin: float = Field(0.005, ge=0, allow_inf_nan=False)


class Gate(BaseModel):
    """The rules of a gate file: ``rules: [{metric: ndcg@3, margin: 0.005}, ...]``."""

    rules: list[Rule] = Field(min_length=1)


def read_gate(path):
    try:
        rules = Gate.model_validate(read_yaml(Path(path))).rules
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from None
    margins = {metric_key(rule.metric): rule.margin for rule in rules}
    if len(margins) < len(rules):
        raise InputError(f"{path}: a metric has two rules")
    return margins


def apply_gate(
    listing,
    candidate,
    reference,
    margins,
    *,
    force=False,
):
    """Verdict, notes and evidence, by metric: that a run is not worse by more than the margins."""
    evidence = {}
    notes = []
    for metric, margin in margins.items():
        weighed = weigh(listing, candidate, reference, metric, -margin, inclusive=True, force=force)
        evidence[metric] = weighed
        state = "OK" if weighed["verdict"] == PASS else weighed["verdict"].upper()
        text = f"{state}: {metric}"
        if weighed["improvement"] is not None:
            text += " {improvement:+z.4f}".format_map(weighed)
        if weighed["low"] is not None:
            text += " [{low:+z.4f}, {high:+z.4f}] n={n}".format_map(weighed)
        notes.append(f"{text} against -{margin:g}")
        notes += [f"{metric}: {note}" for note in weighed["notes"]]
    verdict = worst_verdict({weighed["verdict"] for weighed in evidence.values()})
    return {"passed": verdict == PASS, "verdict": verdict, "notes": notes, "evidence": evidence}


# --- decisions, in their documented form


def decide(
    listing,
    metric,
    *,
    rows=None,
    run=None,
    profile=None,
    eps=1e-6,
    force=False,
    **options,
):
    """Whether the best of some runs, or one that is named, should become the active one.

    ``rows`` are those that `ranked` gave, by default of all runs; ``options`` those of `weigh`.
    """
    promotion = active_promotion(listing.root, metric, profile, checked=True)
    active = promotion and find_run(listing, promotion["path"])
    candidate = run
    n_competing = 1
    if run is None:
        rows = ranked(listing, metric) if rows is None else rows
        if promotion and not force:
            rows = rows[rows["key"] == active["key"]]
        n_competing = len(rows)
        if n_competing or promotion is None:
            candidate = best_run(rows, metric, force)
    before = promotion and promotion["score"]
    after = None if candidate is None else listing.score(candidate, metric)
    if candidate is None:
        notes = ["no run was measured on the same data"]
        evidence = evidence_of(INCOMPARABLE, None, notes, incomparable=True)
    elif after is None:
        evidence = evidence_of(FAIL, None, ["MISSING: it failed or does not hold the metric"])
    elif promotion is None:
        evidence = evidence_of(PASS, "first", ["no run was promoted before"])
    elif candidate["path"] == promotion["path"]:
        notes = [f"{candidate['run']} is promoted already: nothing to promote"]
        evidence = evidence_of(SAME, "same_run", notes, 0.0)
    else:
        evidence = weigh(listing, candidate, active, metric, eps, force=force, **options)
    if n_competing > 1 and evidence["basis"] == ON_PAIRS:
        note = f"best of {n_competing} runs: the interval does not correct for that choice"
        evidence["notes"].append(note)
    return {
        "metricKey": metric_key(metric),
        "createdUtc": utc(),
        "runsRoot": str(listing.root),
        "profile": profile,
        "epsilon": eps,
        "totalRunsFound": len(listing.runs),
        "competing": n_competing,
        "candidate": None if candidate is None else _named_run(listing, candidate, after),
        "active": promotion and _named_run(listing, active, before) | {"seq": promotion["seq"]},
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
        "score": score,
        "runDirectory": str(folder),
        "runJsonPath": str(folder / RECORD),
    }


def apply_decision(listing, decision):
    """Promote exactly the candidate of a decision, if it says so."""
    if decision["action"] != PROMOTE:
        return None
    evidence = decision["evidence"]
    folder = Path(decision["candidate"]["runDirectory"])
    grounds = {name: decision[name] for name in ("action", "epsilon", "totalRunsFound")}
    return promote(
        listing,
        find_run(listing, folder.relative_to(listing.root)),
        decision["metricKey"],
        f"decided by {evidence['basis']}",
        decision["profile"],
        after=decision["active"]["seq"] if decision["active"] else 0,
        force=evidence["incomparable"],
        decision=evidence | grounds,
    )
