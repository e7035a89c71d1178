"""The documented files of compare, best and decide, as JSON and as Markdown."""

import datetime
import re
from dataclasses import replace
from pathlib import Path

from casebook.files import write_json, write_text
from casebook.runs.artifact import now
from casebook.runs.figures import UNKNOWN, figure
from casebook.runs.metrics import canonical, file_part
from casebook.runs.ordering import order, score_of, short_key
from casebook.runs.report_markdown import markdown


def stamp():
    """Give the present time as it stands in file names."""
    moment = datetime.datetime.now(datetime.UTC)
    return f"{moment:%Y%m%d_%H%M%S}_{moment.microsecond // 1000:03d}"


def ranking(listing, metric, runs=None, top=20):
    """Rank runs on a metric, each group of comparable ones by itself."""
    runs = listing.runs if runs is None else runs
    names = dict.fromkeys(map(id, runs), canonical(metric))
    if "*" in metric:
        spread = list(_spread(runs, canonical(metric)))
        runs, names = [run for run, _ in spread], {id(r): key for r, key in spread}
    places, rows = {}, []
    for run in order(runs, metric):
        score = score_of(run, metric)
        rank = None
        if score is not None:
            rank = places[run.key] = places.get(run.key, 0) + 1
        if len(rows) < max(1, top):
            rows.append(_row(listing, run, rank, score, names[id(run)]))
    return rows


def _spread(runs, pattern):
    """Yield a copy of a run per metric that fits, holding it under the pattern."""
    fits = re.compile(".*".join(map(re.escape, pattern.split("*")))).fullmatch
    for run in runs:
        for key, value in run.metrics.items():
            if fits(key):
                yield replace(run, metrics=run.metrics | {pattern: value}), key


def _row(listing, run, rank, score, metric):
    folder = listing.folder(run)
    beside = UNKNOWN | {"reason": "the run does not hold the metric"}
    if score is not None:
        beside = figure(folder, metric)
    return {
        "rank": rank,
        "score": score,
        "metric": metric,
        **beside,
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
    return _head(listing, metric) | {"totalRuns": len(listing.runs), "top": rows, "unreadable": listing.unreadable}


def best_report(listing, metric, run, incomparable=False):
    """Put the winner into its documented form."""
    return (
        _head(listing, metric)
        | {"totalRunsFound": len(listing.runs), "incomparable": incomparable}
        | _target(listing, run, metric)
        | figure(listing.folder(run), metric)
    )


def decision_report(listing, decision):
    """Put a decision into its documented form."""
    present = decision.active
    old = present and {
        "workflowName": present["workflow"],
        "runId": present["runId"],
        "score": present["score"],
        "runDirectory": str(listing.root / present["path"]),
        "runJsonPath": str(listing.root / present["path"] / "run.json"),
    }
    run = decision.candidate
    return _head(listing, decision.metric) | {
        "createdUtc": decision.created,
        "profile": decision.profile,
        "epsilon": decision.epsilon,
        "totalRunsFound": decision.total,
        "competing": decision.competing,
        "candidate": run and _target(listing, run, decision.metric),
        "active": old,
        "action": decision.action,
        "delta": decision.delta,
        "reason": "; ".join(decision.evidence.notes),
        "evidence": decision.evidence.as_dict(),
    }


def _head(listing, metric):
    return {"metricKey": canonical(metric), "createdUtc": f"{now():%Y-%m-%dT%H:%M:%SZ}", "runsRoot": str(listing.root)}


def _target(listing, run, metric):
    folder = listing.folder(run)
    return {
        "workflowName": run.workflow,
        "runId": run.run_id,
        "score": score_of(run, metric),
        "runDirectory": str(folder),
        "runJsonPath": str(folder / "run.json"),
    }


def write_report(root, kind, report, out=None, stamped=True):
    """Write a report as ``_<kind>/<name>.json`` with a Markdown twin."""
    folder = Path(out) if out else root / {"decision": "_decisions"}.get(kind, f"_{kind}")
    stem = f"{kind}_{file_part(report['metricKey'])}"
    if stamped:
        stem = _free(folder, f"{stem}_{stamp()}")
    write_text(folder / f"{stem}.md", markdown(kind, report))
    return write_json(folder / f"{stem}.json", report)


def _free(folder, stem):
    """Give the name, with a number if this millisecond has used it."""
    name, number = stem, 1
    while (folder / f"{name}.json").exists():
        number += 1
        name = f"{stem}-{number}"
    return name
