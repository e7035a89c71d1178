"""Whether one run is better than another: evidence, gates, decisions, and their documented reports.

With rows per query a verdict rests on the interval of the paired mean difference over groups of
queries: it passes if the whole interval lies above the margin, fails if all of it lies below, and
is undecided if the margin lies inside. With fewer than six groups it is undecided too: the interval
over their queries, which is reported, says nothing about new groups. Two runs that give every query
the same score are the same: there is nothing to decide. Without rows only the two scores are left,
which say nothing about chance: nothing is decided on them, unless EmbeddingShift's own rule is
asked for. Evidence that is gone or was altered is refused.
"""

import datetime
import itertools
import math
import re
from pathlib import Path

from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.files import write_json, write_text
from casebook.readers import read_json, read_yaml
from casebook.runs.evidence import require
from casebook.runs.promotions import active_promotion, check_registry_of, promote
from casebook.runs.record import (
    file_part,
    higher_is_better,
    metric_key,
    metric_label,
    utc,
    value_text,
)
from casebook.runs.registry import (
    UNKNOWN_NUMBER,
    NoRows,
    best_run,
    reported_number,
    score_of,
    short_key,
    sort_runs,
    sort_runs_by_metric,
)
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

DEFAULT_EPSILON = 1e-6
DEFAULT_MARGIN = 0.005
ON_PAIRS = "paired_randomisation"  # basis of evidence: paired scores of queries
ON_SCORES = "eps"  # basis of evidence: the two scores of the runs alone
_ERRORS = {FAIL: CheckFailed, UNDECIDED: Undecided, INCOMPARABLE: Incomparable}

# --- what speaks for a candidate: a verdict on one metric and what it rests on

# Of `compare_runs`, and fields of evidence.
_MEASURED = (
    "low",
    "high",
    "level",
    "n",
    "groups",
    "p_value",
    "mde",
    "gained",
    "lost",
    "unchanged",
)


def evidence_of(verdict, basis=None, notes=(), improvement=None, incomparable=False):
    """Give the documented fields of evidence; what was not measured is None."""
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
    # With pandas and the tests: ranking runs must stay quick.
    from casebook.runs.pairing import compare_runs

    notes = []
    if candidate.key is None and reference.key is None:
        notes.append(
            "neither run holds a fingerprint: that both were measured on the same data is on trust"
        )
    incomparable = candidate.key != reference.key
    if incomparable:
        keys = f"{short_key(candidate.key)} and {short_key(reference.key)}"
        notes.append(f"measured on different data ({keys})")
        if not force:
            return evidence_of(INCOMPARABLE, notes=notes, incomparable=True)
    scores = score_of(candidate, metric), score_of(reference, metric)
    if None in scores:
        notes.append("MISSING: a run failed or does not hold the metric")
        return evidence_of(FAIL, notes=notes, incomparable=incomparable)
    folders = listing.folder(candidate), listing.folder(reference)
    records = [require(folder) for folder in folders]
    if not all(record.outputs for record in records):
        notes.append(
            "a run lists no checksums of its files: that they were not altered is on trust"
        )
    try:
        pairs = compare_runs(*folders, metric, force=force, level=level, seed=seed)
    except Incomparable as reason:
        return evidence_of(INCOMPARABLE, notes=[*notes, str(reason)], incomparable=True)
    except NoRows as reason:
        notes.append(f"no interval, only the two scores: {reason}")
        evidence = _evidence_of_scores(*scores, metric, margin, inclusive, original)
    else:
        evidence = _evidence_of_pairs(pairs, margin, inclusive)
    evidence["incomparable"] |= incomparable
    evidence["notes"] = notes + evidence["notes"]
    return evidence


def _evidence_of_scores(score, reference_score, metric, margin, inclusive, original):
    """Weigh two runs by their scores alone, which decide only by EmbeddingShift's rule."""
    sign = 1 if higher_is_better(metric) else -1
    improvement = sign * (score - reference_score)
    evidence = evidence_of(UNDECIDED, ON_SCORES, improvement=improvement)
    if not original:
        return evidence
    if improvement:
        evidence["verdict"] = gate_verdict(improvement, improvement, margin, inclusive)
    else:
        evidence["verdict"] = _verdict_on_equal_runs(inclusive)
        evidence["notes"] = ["the two scores are equal"]
    return evidence


def _evidence_of_pairs(pairs, margin, inclusive):
    """Weigh two runs by the paired scores of their queries."""
    notes = []
    if pairs["incomparable"]:
        notes.append(pairs["incomparable"])
    if pairs["gained"] or pairs["lost"]:
        verdict = _verdict_on_pairs(pairs, margin, inclusive, notes)
    else:
        verdict = _verdict_on_equal_runs(inclusive)
        notes.append("no row differs")
    evidence = evidence_of(
        verdict, ON_PAIRS, notes, pairs["difference"], incomparable=bool(pairs["incomparable"])
    )
    return evidence | {name: pairs[name] for name in _MEASURED}


def _verdict_on_equal_runs(inclusive):
    """Equal runs are not worse by any margin, and there is nothing to promote."""
    return PASS if inclusive else SAME


def _verdict_on_pairs(pairs, margin, inclusive, notes):
    """Give the verdict on two runs whose rows differ; few groups decide nothing."""
    from casebook.stats.intervals import FEWEST

    if pairs["groups"] < FEWEST:
        notes.append("fewer than six groups: nothing is decided about new ones")
        if pairs["low"] is not None:
            notes.append("the interval is by question: it speaks of new questions of these groups")
        return UNDECIDED
    low = pairs["low"]
    high = pairs["high"]
    if pairs["reason"] == "no_variation":
        notes.append("no interval: every question differs by the same")
        low = pairs["difference"]
        high = pairs["difference"]
    elif pairs["reason"]:
        notes.append(f"no interval: {pairs['reason'].replace('_', ' ')}")
    return gate_verdict(low, high, margin, inclusive)


def settle(verdict, message):
    """End a command with the exit code of its verdict."""
    if verdict in _ERRORS:
        raise _ERRORS[verdict](message)
    if verdict not in (PASS, SAME):
        raise InputError(f"unknown verdict {verdict!r}")


# --- gates: margins per metric, how much worse than a reference a run may be


def read_gate(path):
    """Read a gate file; gives margins by metric.

    It holds ``rules: [{metric: ndcg@3, margin: 0.005}, ...]``, as YAML or JSON.
    """
    path = Path(path)
    content = read_yaml(path)
    rules = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(rules, list) or not rules:
        raise InputError(f"{path}: a gate file holds rules: a list of metric and margin")
    margins = {}
    for number, rule in enumerate(rules, 1):
        where = f"{path}: rule {number}"
        metric, margin = _rule(rule, where)
        if metric_key(metric) in margins:
            raise InputError(f"{where}: {metric!r} has a rule already")
        margins[metric_key(metric)] = margin
    return margins


def _rule(rule, where):
    """Give metric and margin of one rule."""
    is_rule = isinstance(rule, dict) and not set(rule) - {"metric", "margin"}
    if not is_rule or not isinstance(rule.get("metric"), str):
        raise InputError(f"{where}: expected metric (a name) and margin, not {rule!r}")
    margin = rule.get("margin", DEFAULT_MARGIN)
    is_number = isinstance(margin, int | float) and not isinstance(margin, bool)
    if not is_number or not 0 <= margin < math.inf:
        raise InputError(f"{where}: margin must be a number of at least 0, not {margin!r}")
    return rule["metric"], float(margin)


def apply_gate(listing, candidate, reference, margins, *, force=False):
    """Test that a run is not worse than a reference by more than the margins.

    Gives verdict, notes and evidence, by metric.
    """
    evidence = {}
    notes = []
    for metric, margin in margins.items():
        weighed = weigh(listing, candidate, reference, metric, -margin, inclusive=True, force=force)
        evidence[metric_key(metric)] = weighed
        state = "OK" if weighed["verdict"] == PASS else weighed["verdict"].upper()
        notes.append(f"{state}: {metric}{_improvement_text(weighed, margin)}")
        notes += [f"{metric}: {note}" for note in weighed["notes"]]
    verdict = worst_verdict({weighed["verdict"] for weighed in evidence.values()})
    return {"passed": verdict == PASS, "verdict": verdict, "notes": notes, "evidence": evidence}


def _improvement_text(evidence, margin):
    if evidence["improvement"] is None:
        return ""
    bounds = ""
    if evidence["low"] is not None:
        bounds = " [{low:+z.4f}, {high:+z.4f}]".format_map(evidence)
    n = "" if evidence["n"] is None else f" n={evidence['n']}"
    return f" {evidence['improvement']:+z.4f}{bounds}{n} against -{margin:g}"


# --- decisions, in their documented form


def decide(
    listing,
    metric,
    *,
    runs=None,
    run=None,
    profile=None,
    eps=DEFAULT_EPSILON,
    force=False,
    original=False,
    level=0.95,
    seed=0,
):
    """Decide whether the best of some runs, or one that is named, should become the active one."""
    if not 0 <= eps < math.inf:
        raise InputError(f"eps must be at least 0 and finite, not {eps}")
    promotion = active_promotion(listing.root, metric, profile, checked=True)
    active = _active_run(listing, metric, promotion)
    candidate = run
    n_competing = 1
    if run is None:
        pool = listing.runs if runs is None else runs
        candidate, n_competing = _best_of(pool, active, metric, force)
    if candidate is not None:
        check_registry_of(listing.root, candidate)
    evidence = _evidence_without_comparison(candidate, promotion, active, metric)
    if evidence is None:
        evidence = weigh(
            listing,
            candidate,
            active,
            metric,
            eps,
            force=force,
            original=original,
            level=level,
            seed=seed,
        )
    if n_competing > 1 and evidence["basis"] == ON_PAIRS:
        evidence["notes"].append(
            f"the candidate is the best of {n_competing} runs: "
            "the interval does not correct for that choice"
        )
    before = promotion and promotion["score"]
    if active is not None:
        before = score_of(active, metric)
    after = None if candidate is None else score_of(candidate, metric)
    return _head(listing, metric) | {
        "profile": profile,
        "epsilon": eps,
        "totalRunsFound": len(listing.runs),
        "competing": n_competing,
        "candidate": candidate and _target(listing, candidate, metric),
        "active": promotion and _active_target(listing.root, promotion, before),
        "action": PROMOTE if evidence["verdict"] == PASS else KEEP_ACTIVE,
        "delta": None if None in (before, after) else after - before,
        "reason": "; ".join(evidence["notes"]),
        "evidence": evidence,
    }


def _active_run(listing, metric, promotion):
    """Give the promoted run as it is now; None if there is none, or it lost the metric."""
    if promotion is None:
        return None
    named = (run for run in listing.runs if run.path == promotion["path"])
    return next((run for run in named if score_of(run, metric) is not None), None)


def _best_of(pool, active, metric, force):
    """Choose what may replace the active run, and count what it was chosen from."""
    if active is not None and not force:
        pool = [run for run in pool if run.key == active.key]
    competing = [run for run in sort_runs(pool, metric) if score_of(run, metric) is not None]
    if not competing and active is not None:
        return None, 0
    return best_run(competing or pool, metric, force), len(competing)


def _evidence_without_comparison(candidate, promotion, active, metric):
    """Give the evidence where there are not two runs to compare, else None."""
    if candidate is None:
        notes = ["no run was measured on the same data"]
        return evidence_of(INCOMPARABLE, notes=notes, incomparable=True)
    if score_of(candidate, metric) is None:
        return evidence_of(FAIL, notes=["MISSING: it failed or does not hold the metric"])
    if promotion is None:
        return evidence_of(PASS, "first", ["no run was promoted before"])
    if candidate.path == promotion["path"]:
        notes = [f"{candidate.run_id} is promoted already: nothing to promote"]
        return evidence_of(SAME, "same_run", notes, improvement=0.0)
    if active is None:
        raise Incomparable(
            f"the promoted run {promotion['path']} is gone or lost the metric; "
            "promote another by name, or roll back"
        )
    return None


def apply_decision(listing, decision):
    """Promote exactly the candidate of a decision, if it says so."""
    if decision["action"] != PROMOTE:
        return None
    evidence = decision["evidence"]
    folder = decision["candidate"]["runDirectory"]
    candidate = next(run for run in listing.runs if str(listing.folder(run)) == folder)
    reason = f"decided by {evidence['basis']}"
    if evidence["basis"] == "first":
        reason = "no run was promoted before"
    grounds = {name: decision[name] for name in ("action", "epsilon", "totalRunsFound")}
    return promote(
        listing,
        candidate,
        decision["metricKey"],
        reason,
        decision["profile"],
        after=decision["active"]["seq"] if decision["active"] else 0,
        incomparable=evidence["incomparable"],
        decision=evidence | grounds,
    )


# --- the documented files of compare, best and decide, as JSON and as Markdown


def rank_runs(listing, metric, runs=None, top=20):
    """Rank runs on a metric, each group of comparable ones by itself.

    A ``*`` in the metric stands for anything.
    """
    if runs is None:
        runs = listing.runs
    pattern = metric_key(metric)
    pairs = [(run, pattern) for run in runs]
    if "*" in pattern:
        fits = re.compile(".*".join(map(re.escape, pattern.split("*")))).fullmatch
        pairs = [(run, key) for run in runs for key in run.metrics if fits(key)]
    ranks = {}
    rows = []
    for run, key in sort_runs_by_metric(pairs, pattern)[: max(1, top)]:
        folder = listing.folder(run)
        score = score_of(run, key)
        rank = None
        number = UNKNOWN_NUMBER | {"reason": "the run does not hold the metric"}
        if score is not None:
            rank = ranks.get(run.key, 0) + 1
            ranks[run.key] = rank
            number = reported_number(folder, key)
        row = {
            "rank": rank,
            "score": score,
            "metric": key,
            **number,
            "map1": run.metrics.get("map@1"),
            "ndcg3": run.metrics.get("ndcg@3"),
            "workflowName": run.workflow,
            "runId": run.run_id,
            "completedUtc": run.completed,
            "success": run.success,
            "comparability": short_key(run.key),
            "runDirectory": str(folder),
        }
        rows.append(row)
    return rows


def comparison_report(listing, metric, rows):
    """Put a ranking into its documented form."""
    return _head(listing, metric) | {
        "totalRuns": len(listing.runs),
        "top": rows,
        "unreadable": listing.unreadable,
    }


def best_report(listing, metric, run, incomparable=False):
    """Put the winner into its documented form."""
    return {
        **_head(listing, metric),
        "totalRunsFound": len(listing.runs),
        "incomparable": incomparable,
        **_target(listing, run, metric),
        **reported_number(listing.folder(run), metric),
    }


def _head(listing, metric):
    return {"metricKey": metric_key(metric), "createdUtc": utc(), "runsRoot": str(listing.root)}


def _target(listing, run, metric):
    return _named_run(listing.root, run.workflow, run.run_id, score_of(run, metric), run.path)


def _active_target(root, promotion, score):
    run = _named_run(root, promotion["workflow"], promotion["runId"], score, promotion["path"])
    return run | {"seq": promotion["seq"]}


def _named_run(root, workflow, run_id, score, path):
    """Name a run with its score and its folder, as the documented files do."""
    return {
        "workflowName": workflow,
        "runId": run_id,
        "score": score,
        "runDirectory": str(root / path),
        "runJsonPath": str(root / path / "run.json"),
    }


def time_stamp():
    """Give the present time for the name of a file."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%d_%H%M%S_%f}"[:-3]


def write_report(root, kind, report, out=None, stamped=True):
    """Write a report as ``_<kind>/<name>.json`` with a Markdown twin."""
    folder = root / ("_decisions" if kind == "decision" else f"_{kind}")
    if out:
        folder = Path(out)
    name = f"{kind}_{file_part(report['metricKey'])}"
    if stamped:
        stem = f"{name}_{time_stamp()}"
        # Further reports of this millisecond are numbered.
        further = (f"{stem}-{number}" for number in itertools.count(2))
        names = itertools.chain([stem], further)
        name = next(name for name in names if not (folder / f"{name}.json").exists())
    write_text(folder / f"{name}.md", report_markdown(kind, report))
    return write_json(folder / f"{name}.json", report)


def report_markdown(kind, report):
    """Write a report as Markdown: a line per entry, and the table of a ranking."""
    lines = [f"# {kind}: {metric_label(report['metricKey'])}", ""]
    for name, value in report.items():
        if name != "top":
            lines.append(f"- {name}: {'n/a' if value in (None, {}, []) else value}")
    if "top" in report:
        columns = ["rank", "score", "map1", "ndcg3", "workflowName", "runId"]
        lines += ["", " | ".join(columns), " | ".join("---" for _ in columns)]
        for row in report["top"]:
            lines.append(" | ".join(value_text(row[column]) for column in columns))
    return "\n".join(lines) + "\n"


def stored_decisions(root):
    """List the decisions stored below a registry, also without promotion, latest first."""
    import pandas as pd

    numbers = ["difference", "difference low", "difference high", "n"]
    columns = ["when", "metric", "profile", "candidate", "action", "verdict", *numbers, "why"]
    rows = [_decision_row(path) for path in (root / "_decisions").glob("decision_*.json")]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
    return table.sort_values(
        ["when", "why"], ascending=False, na_position="first", ignore_index=True
    )


def _decision_row(path):
    try:
        report = read_json(path)
        evidence = report["evidence"]
        return {
            "when": report["createdUtc"][:16].replace("T", " "),
            "metric": report["metricKey"],
            "profile": report["profile"],
            "candidate": (report["candidate"] or {}).get("runId"),
            "action": report["action"],
            "verdict": evidence["verdict"],
            "difference": evidence["improvement"],
            "difference low": evidence["low"],
            "difference high": evidence["high"],
            "n": evidence["n"],
            "why": report["reason"],
        }
    except InputError as error:
        why = str(error)
    except (KeyError, TypeError, AttributeError):
        why = f"{path.name}: not a decision of this registry"
    return {"verdict": "unreadable", "why": why}
