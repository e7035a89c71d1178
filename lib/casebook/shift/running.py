"""Run a stored shift on the test queries: documented files and two recorded runs."""

import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casebook.files import write_json, write_text
from casebook.measures.ranking_documented import ORIGINAL
from casebook.runs.record import RunRecord, now, per_query_name, write_per_query
from casebook.runs.registry import record_run
from casebook.shift.embedded import MEASURES
from casebook.shift.per_query import per_query
from casebook.shift.preparation import prepare
from casebook.shift.splits import group_labels
from casebook.shift.workflow import KPI, check_split, names_of, shift_queries, unapplied
from casebook.stats.intervals import mean_intervals
from casebook.stats.tests import difference_intervals

SYSTEMS = ("baseline", "posneg")


@dataclass(frozen=True)
class RunReport:
    """Outcome of a run on the test queries."""

    folder: Path
    records: list
    metrics: dict
    values: dict
    note: str | None = None


def run(setup, result, layout, *, scale=None, seed=0, arguments=None):
    """Evaluate a stored shift on the test queries and record two runs."""
    ready, started = prepare(setup), now()
    check_split(ready, result)
    parts = {part: ready.data.take(r) for part, r in ready.division.parts.items()}
    vectors, used = shift_queries(parts["test"], result, scale)
    test = dict(zip(SYSTEMS, (parts["test"].queries, vectors), strict=True))
    moved, _ = shift_queries(parts["train"], result, scale)
    train = dict(zip(SYSTEMS, (parts["train"].queries, moved), strict=True))
    trained = {name: parts["train"].score(v, measures=KPI).mean() for name, v in train.items()}
    scores = {name: parts["test"].score(v) for name, v in test.items()}
    groups = group_labels(parts["test"])
    metrics = _intervals(scores, groups, seed)
    values = _documented(ready.data, metrics, trained, started)
    values |= {"Scale": used, "TrainingId": result.folder.name}
    frames = {name: per_query(parts["test"], v).assign(Group=groups) for name, v in test.items()}
    folder = _write(layout.results, values, metrics, frames, started)
    records = []
    for name in SYSTEMS:
        labels = {"Training": result.folder.name, "Scale": used * (name == "posneg")}
        means = {measure: found[name]["value"] for measure, found in metrics.items()}
        means |= {f"train.{key.removeprefix(ORIGINAL)}": float(v) for key, v in trained[name].items()}
        record = _record(ready, name, ready.labels | labels, means, started)
        records.append(record_run(layout, record, frames[name], arguments))
    return RunReport(folder, records, metrics, values, unapplied(result, used))


def _record(ready, system, labels, metrics, started):
    _, workflow = names_of(ready.data.dataset)
    return RunRecord.model_construct(
        run_id=uuid.uuid4().hex,
        workflow=workflow if system == "posneg" else f"{workflow}-Baseline",
        started=started,
        completed=now(),
        success=True,
        labels=labels,
        metrics=metrics,
    )


def _write(root, values, metrics, frames, started):
    stem = f"{values['WorkflowName']}-run_{started:%Y%m%d_%H%M%S}"
    folder = root / f"{stem}_{uuid.uuid4().hex[:8]}"
    for name, frame in frames.items():
        write_per_query(folder / per_query_name(name), frame)
    write_json(folder / "metrics-posneg.json", values)
    write_text(folder / "metrics-posneg.md", _markdown(metrics, values))
    return folder


def _intervals(scores, groups, seed):
    """Give both systems' means and the paired difference, per measure."""
    metrics = {}
    for measure in MEASURES:
        table = np.stack([frame[measure] for frame in scores.values()], axis=1)
        gain = table[:, 1] - table[:, 0]
        found = mean_intervals(table, groups, seed=seed)
        found += difference_intervals(gain, groups, seed=seed)
        numbers = [interval.number() for interval in found]
        metrics[measure.removeprefix(ORIGINAL)] = dict(zip((*SYSTEMS, "delta"), numbers, strict=True))
    return metrics


def _documented(data, metrics, trained, started):
    counts = data.account()
    values = {
        "WorkflowName": names_of(data.dataset)[0],
        "CreatedUtc": started.isoformat().replace("+00:00", "Z"),
        "PolicyCount": len(data.documents),
        "EffectiveQueryCount": metrics["map@1"]["baseline"]["n"],
        "TotalQueryCount": counts["n_total"],
        "DroppedQueries": counts["reasons"],
    }
    for key, stem in (("map@1", "Map"), ("ndcg@3", "Ndcg3")):
        found = metrics[key]
        values[f"{stem}Baseline"] = found["baseline"]["value"]
        values[f"{stem}PosNeg"] = found["posneg"]["value"]
        values[f"Delta{stem}"] = found["delta"]["value"]
        values[f"Delta{stem}Ci"] = found["delta"]["ci"]
        values[f"Train{stem}Baseline"] = float(trained["baseline"][ORIGINAL + key])
        values[f"Train{stem}PosNeg"] = float(trained["posneg"][ORIGINAL + key])
    return values


def _markdown(metrics, values):
    lines = [f"# {values['WorkflowName']}", ""]
    lines += ["| measure | baseline | shifted | delta | n |", "|---|---|---|---|---|"]
    for measure, found in metrics.items():
        cells = [text_of(found[system]) for system in found]
        lines.append(f"| {measure} | {' | '.join(cells)} | {found['delta']['n']} |")
    return "\n".join(lines) + "\n"


def text_of(number):
    """Write a number with its interval."""
    low, high = number["ci"]
    why = (number.get("reason") or "no interval").replace("_", " ")
    bounds = f" ({why})" if low is None else f" [{low:.3f}, {high:.3f}]"
    return f"{number['value']:.3f}{bounds}"
