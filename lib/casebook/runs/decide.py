"""Whether one run is better than another: evidence, gates, decisions, and their documented reports.

With rows per query a verdict rests on the interval of the paired mean difference over groups of queries: it passes if
the whole interval lies above the margin, fails if all of it lies below, and is undecided if the margin lies inside.
With fewer than six groups it is undecided too: the interval over their queries, which is reported, says nothing about
new groups. Two runs that give every query the same score are the same: there is nothing to decide. Without rows only
the two scores are left, which say nothing about chance: nothing is decided on them, unless EmbeddingShift's own rule is
asked for. Evidence that is gone or was altered is refused.
"""

import datetime
import math
import re
from pathlib import Path

from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.files import write_json, write_text
from casebook.readers import read_json, read_yaml
from casebook.runs.evidence import require
from casebook.runs.promotions import active, check_place, promote
from casebook.runs.record import canonical, cell, file_part, higher_is_better, label, utc
from casebook.runs.registry import (
    UNKNOWN,
    NoRows,
    best,
    figure,
    order,
    ordered,
    score_of,
    short_key,
)

PASS, FAIL, UNDECIDED, INCOMPARABLE, SAME = "pass", "fail", "undecided", "incomparable", "same"
PAIRED = "paired_randomisation"
PROMOTE, KEEP = "Promote", "KeepActive"
EPSILON, MARGIN = 1e-6, 0.005
_ERRORS = {FAIL: CheckFailed, UNDECIDED: Undecided, INCOMPARABLE: Incomparable}

# --- what speaks for a candidate: a verdict on one metric and what it rests on

_MEASURED = (
    "improvement",
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


def evidence_of(verdict, basis=None, *notes, **found):
    """Give the documented fields of evidence; what was not measured is None."""
    empty = {"verdict": verdict, "basis": basis, **dict.fromkeys(_MEASURED), "incomparable": False}
    return empty | found | {"notes": list(notes)}


def judge(low, high, margin, inclusive=False):
    """Compare an interval with a margin.

    Parameters
    ----------
    low, high : float or None
        The interval; None if there is none.
    margin : float
        What it must lie above, in the same unit.
    inclusive : bool
        Whether touching the margin from above suffices.

    Returns
    -------
    str
        ``"pass"``, ``"fail"`` or ``"undecided"``.

    Examples
    --------
    >>> judge(0.01, 0.05, 0.0), judge(-0.02, 0.05, 0.0), judge(-0.02, -0.01, 0.0)
    ('pass', 'undecided', 'fail')
    """
    if low is None or high is None:
        return UNDECIDED
    if low > margin or (inclusive and low == margin):
        return PASS
    if high < margin or (not inclusive and high == margin):
        return FAIL
    return UNDECIDED


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
    **options,
):
    """Weigh one run against another on one metric; `options` go to `compare_runs`.

    Without rows nothing is decided; ``original`` then decides on the two scores, as EmbeddingShift does.
    """
    from casebook.runs.pairing import (
        compare_runs,  # with pandas and the tests: ranking runs must stay quick
    )

    found = evidence_of(INCOMPARABLE)
    notes = found["notes"]
    if candidate.key != reference.key:
        notes.append(
            f"measured on different data ({short_key(candidate.key)} and {short_key(reference.key)})"
        )
        found["incomparable"] = True
        if not force:
            return found
    elif candidate.key is None:
        notes.append(
            "neither run holds a fingerprint: that both were measured on the same data is on trust"
        )
    scores = score_of(candidate, metric), score_of(reference, metric)
    if None in scores:
        notes.append("MISSING: a run failed or does not hold the metric")
        return found | {"verdict": FAIL}
    folders = listing.folder(candidate), listing.folder(reference)
    records = [require(folder) for folder in folders]
    if not all(record.outputs for record in records):
        notes.append(
            "a run lists no checksums of its files: that they were not altered is on trust"
        )
    try:
        pairs = compare_runs(*folders, metric, force=force, **options)
    except Incomparable as reason:
        notes.append(str(reason))
        return found | {"incomparable": True}
    except NoRows as reason:
        notes.append(f"no interval, only the two scores: {reason}")
        differ = (1 if higher_is_better(metric) else -1) * (scores[0] - scores[1])
        found |= {"basis": "eps", "improvement": differ}
        if not original:
            return found | {"verdict": UNDECIDED}
        found["verdict"] = judge(differ, differ, margin, inclusive)
    else:
        if pairs["incomparable"]:
            notes.append(pairs["incomparable"])
            found["incomparable"] = True
        found |= {"basis": PAIRED, "improvement": pairs["difference"]}
        found |= {name: pairs[name] for name in _MEASURED[1:]}
        differ = found["gained"] or found["lost"]
        found["verdict"] = _paired_verdict(pairs, margin, inclusive, notes) if differ else None
    if not differ:  # not worse by any margin, and nothing to promote
        found["verdict"] = PASS if inclusive else SAME
        notes.append("no row differs" if found["basis"] == PAIRED else "the two scores are equal")
    return found


def _paired_verdict(pairs, margin, inclusive, notes):
    """Verdict on two runs whose rows differ; few groups decide nothing."""
    from casebook.stats.intervals import FEWEST

    if pairs["groups"] < FEWEST:
        notes.append("fewer than six groups: nothing is decided about new ones")
        if pairs["low"] is not None:
            notes.append("the interval is by question: it speaks of new questions of these groups")
        return UNDECIDED
    bounds = pairs["low"], pairs["high"]
    if pairs["reason"] == "no_variation":
        notes.append("no interval: every question differs by the same")
        bounds = pairs["difference"], pairs["difference"]
    elif pairs["reason"]:
        notes.append(f"no interval: {pairs['reason'].replace('_', ' ')}")
    return judge(*bounds, margin, inclusive)


def settle(verdict, message):
    """End a command with the exit code of its verdict."""
    if verdict in _ERRORS:
        raise _ERRORS[verdict](message)
    if verdict not in (PASS, SAME):
        raise InputError(f"unknown verdict {verdict!r}")


# --- gates: margins per metric, how much worse than a reference a run may be


def read_gate(path):
    """Read a gate file, ``rules: [{metric: ndcg@3, margin: 0.005}, ...]`` as YAML or JSON; gives margins by metric."""
    path = Path(path)
    content = read_yaml(path, "gate file")
    rules = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(rules, list) or not rules:
        raise InputError(f"{path}: a gate file holds rules: a list of metric and margin")
    margins = {}
    for number, rule in enumerate(rules, 1):
        where = f"{path}: rule {number}"
        if (
            not isinstance(rule, dict)
            or set(rule) - {"metric", "margin"}
            or not isinstance(rule.get("metric"), str)
        ):
            raise InputError(f"{where}: expected metric (a name) and margin, not {rule!r}")
        margin = rule.get("margin", MARGIN)
        if (
            not isinstance(margin, int | float)
            or isinstance(margin, bool)
            or not 0 <= margin < math.inf
        ):
            raise InputError(f"{where}: margin must be a number of at least 0, not {margin!r}")
        if canonical(rule["metric"]) in margins:
            raise InputError(f"{where}: {rule['metric']!r} has a rule already")
        margins[canonical(rule["metric"])] = float(margin)
    return margins


def apply_gate(listing, candidate, reference, margins, **options):
    """Test that a run is not worse than a reference by more than the margins: verdict, notes and evidence."""
    found, notes = {}, []
    for metric, margin in margins.items():
        evidence = weigh(listing, candidate, reference, metric, -margin, inclusive=True, **options)
        found[canonical(metric)] = evidence
        shown = ""
        if evidence["improvement"] is not None:
            bounds = (
                ""
                if evidence["low"] is None
                else " [{low:+z.4f}, {high:+z.4f}]".format_map(evidence)
            )
            n = "" if evidence["n"] is None else f" n={evidence['n']}"
            shown = f" {evidence['improvement']:+z.4f}{bounds}{n} against -{margin:g}"
        notes.append(
            f"{'OK' if evidence['verdict'] == PASS else evidence['verdict'].upper()}: {metric}{shown}"
        )
        notes += [f"{metric}: {note}" for note in evidence["notes"]]
    verdicts = {evidence["verdict"] for evidence in found.values()}
    worst = next(
        verdict for verdict in (FAIL, INCOMPARABLE, UNDECIDED, PASS) if verdict in verdicts
    )
    return {"passed": worst == PASS, "verdict": worst, "notes": notes, "evidence": found}


# --- decisions, in their documented form


def decide(
    listing, metric, *, runs=None, run=None, profile=None, eps=EPSILON, force=False, **options
):
    """Decide whether the best of some runs, or one that is named, should become the active one."""
    if not 0 <= eps < math.inf:
        raise InputError(f"eps must be at least 0 and finite, not {eps}")
    present = active(listing.root, metric, profile, checked=True)
    standing = None  # the active run as it is now, unless it has gone
    if present is not None:
        standing = next((r for r in listing.runs if r.path == present["path"]), None)
        standing = standing if standing and score_of(standing, metric) is not None else None
    candidate, competing = run, 1
    if run is None:
        candidate, competing = _best_of(
            listing.runs if runs is None else runs, standing, metric, force
        )
    if candidate is not None:
        check_place(listing.root, candidate)
    evidence = _evidence(listing, candidate, present, standing, metric, eps, force, options)
    if competing > 1 and evidence["basis"] == PAIRED:
        evidence["notes"].append(
            f"the candidate is the best of {competing} runs: the interval does not correct for that choice"
        )
    before = score_of(standing, metric) if standing else present and present["score"]
    after = score_of(candidate, metric) if candidate else None
    old = present and _place(
        listing.root, present["workflow"], present["runId"], before, present["path"]
    )
    return _head(listing, metric) | {
        "profile": profile,
        "epsilon": eps,
        "totalRunsFound": len(listing.runs),
        "competing": competing,
        "candidate": candidate and _target(listing, candidate, metric),
        "active": old and old | {"seq": present["seq"]},
        "action": PROMOTE if evidence["verdict"] == PASS else KEEP,
        "delta": None if None in (before, after) else after - before,
        "reason": "; ".join(evidence["notes"]),
        "evidence": evidence,
    }


def _best_of(pool, standing, metric, force):
    """Choose what may replace the active run, and count what it was chosen from."""
    if standing is not None and not force:
        pool = [run for run in pool if run.key == standing.key]
    competing = [run for run in order(pool, metric) if score_of(run, metric) is not None]
    if not competing and standing is not None:
        return None, 0
    return best(competing or pool, metric, force), len(competing)


def _evidence(listing, candidate, present, standing, metric, eps, force, options):
    if candidate is None:
        return evidence_of(
            INCOMPARABLE, None, "no run was measured on the same data", incomparable=True
        )
    if score_of(candidate, metric) is None:
        return evidence_of(FAIL, None, "MISSING: it failed or does not hold the metric")
    if present is None:
        return evidence_of(PASS, "first", "no run was promoted before")
    if candidate.path == present["path"]:
        why = f"{candidate.run_id} is promoted already: nothing to promote"
        return evidence_of(SAME, "same_run", why, improvement=0.0)
    if standing is None:
        raise Incomparable(
            f"the promoted run {present['path']} is gone or lost the metric; promote another by name, or roll back"
        )
    return weigh(listing, candidate, standing, metric, eps, force=force, **options)


def apply(listing, decision):
    """Promote exactly the candidate of a decision, if it says so."""
    if decision["action"] != PROMOTE:
        return None
    evidence, place = decision["evidence"], decision["candidate"]["runDirectory"]
    candidate = next(run for run in listing.runs if str(listing.folder(run)) == place)
    reason = (
        "no run was promoted before"
        if evidence["basis"] == "first"
        else f"decided by {evidence['basis']}"
    )
    return promote(
        *(listing, candidate, decision["metricKey"], reason, decision["profile"]),
        after=decision["active"]["seq"] if decision["active"] else 0,
        incomparable=evidence["incomparable"],
        decision=evidence
        | {name: decision[name] for name in ("action", "epsilon", "totalRunsFound")},
    )


# --- the documented files of compare, best and decide, as JSON and as Markdown


def ranking(listing, metric, runs=None, top=20):
    """Rank runs on a metric, each group of comparable ones by itself; ``*`` in the metric stands for anything."""
    pattern, runs = canonical(metric), listing.runs if runs is None else runs
    pairs = [(run, pattern) for run in runs]
    if "*" in pattern:
        fits = re.compile(".*".join(map(re.escape, pattern.split("*")))).fullmatch
        pairs = [(run, key) for run in runs for key in run.metrics if fits(key)]
    places, rows = {}, []
    for run, key in ordered(pairs, pattern)[: max(1, top)]:
        score, rank = score_of(run, key), None
        if score is not None:
            rank = places[run.key] = places.get(run.key, 0) + 1
        rows.append(_ranked(listing, run, rank, score, key))
    return rows


def _ranked(listing, run, rank, score, metric):
    folder = listing.folder(run)
    missing = UNKNOWN | {"reason": "the run does not hold the metric"}
    return {
        "rank": rank,
        "score": score,
        "metric": metric,
        **(missing if score is None else figure(folder, metric)),
        "map1": run.metrics.get("map@1"),
        "ndcg3": run.metrics.get("ndcg@3"),
        "workflowName": run.workflow,
        "runId": run.run_id,
        "completedUtc": run.completed,
        "success": run.success,
        "comparability": short_key(run.key),
        "runDirectory": str(folder),
    }


def comparison_report(listing, metric, rows):
    """Put a ranking into its documented form."""
    return _head(listing, metric) | {
        "totalRuns": len(listing.runs),
        "top": rows,
        "unreadable": listing.unreadable,
    }


def best_report(listing, metric, run, incomparable=False):
    """Put the winner into its documented form."""
    counts = {"totalRunsFound": len(listing.runs), "incomparable": incomparable}
    return (
        _head(listing, metric)
        | counts
        | _target(listing, run, metric)
        | figure(listing.folder(run), metric)
    )


def _head(listing, metric):
    return {"metricKey": canonical(metric), "createdUtc": utc(), "runsRoot": str(listing.root)}


def _target(listing, run, metric):
    return _place(listing.root, run.workflow, run.run_id, score_of(run, metric), run.path)


def _place(root, workflow, run_id, score, path):
    """Name a run with its score and its folder, as the documented files do."""
    return {
        "workflowName": workflow,
        "runId": run_id,
        "score": score,
        "runDirectory": str(root / path),
        "runJsonPath": str(root / path / "run.json"),
    }


def stamp():
    """Give the present time as it stands in file names."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%d_%H%M%S_%f}"[:-3]


def write_report(root, kind, report, out=None, stamped=True):
    """Write a report as ``_<kind>/<name>.json`` with a Markdown twin."""
    folder = Path(out) if out else root / {"decision": "_decisions"}.get(kind, f"_{kind}")
    stem = name = f"{kind}_{file_part(report['metricKey'])}"
    if stamped:
        stem = name = f"{stem}_{stamp()}"
        number = 1
        while (folder / f"{name}.json").exists():  # this millisecond has used it
            number += 1
            name = f"{stem}-{number}"
    write_text(folder / f"{name}.md", markdown(kind, report))
    return write_json(folder / f"{name}.json", report)


def markdown(kind, report):
    """Write a report as Markdown: a line per entry, and the table of a ranking."""
    lines = [f"# {kind}: {label(report['metricKey'])}", ""]
    lines += [
        f"- {n}: {'n/a' if v in (None, {}, []) else v}" for n, v in report.items() if n != "top"
    ]
    if "top" in report:
        columns = ("rank", "score", "map1", "ndcg3", "workflowName", "runId")
        lines += ["", " | ".join(columns), " | ".join("---" for _ in columns)]
        lines += [" | ".join(cell(row[c]) for c in columns) for row in report["top"]]
    return "\n".join(lines) + "\n"


def kept_decisions(root):
    """List the decisions that were kept as files below a registry, also those that promoted nothing, latest first."""
    import pandas as pd

    numbers = ["difference", "difference low", "difference high", "n"]
    columns = ["when", "metric", "profile", "candidate", "action", "verdict", *numbers, "why"]
    rows = []
    for path in (root / "_decisions").glob("decision_*.json"):
        row = {"verdict": "unreadable", "why": f"{path.name}: not a decision of this registry"}
        try:
            report = read_json(path)
            evidence = report["evidence"]
            row = {
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
            row["why"] = str(error)
        except (KeyError, TypeError, AttributeError):
            pass
        rows.append(row)
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
    return table.sort_values(
        ["when", "why"], ascending=False, na_position="first", ignore_index=True
    )
