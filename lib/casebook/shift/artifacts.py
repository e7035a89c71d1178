"""What `casebook shift train`, `run` and `eval` do and store, under the documented names."""

import contextlib
import itertools
import uuid
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import write_json, write_text
from casebook.measures.ranking_measures import ORIGINAL
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.readers import read_json
from casebook.runs.record import (
    RunRecord,
    digest,
    library_digest,
    now,
    per_query_name,
    utc,
    write_per_query,
)
from casebook.runs.registry import evaluations_folder, record_run
from casebook.shift.embedded import (
    DOCUMENTED_MEASURES,
    SHIFT_MEASURES,
    SPLIT_SHARES,
    divide,
    embed,
    group_labels,
    per_query,
)
from casebook.shift.gate import evaluate_shift, judge_shift, profile_rules
from casebook.shift.learn import CANDIDATE_SCALES, learn_posneg
from casebook.shift.segments import means_and_gains
from casebook.verdicts import PASS

RESULT = "shift-training-result"
STATS = "training_stats.json"
SELECTION_WEIGHTS = {"map@1": 0.7, "ndcg@3": 0.3}  # of the documented selection score
_STEMS = {"map@1": "Map", "ndcg@3": "Ndcg3"}
# What a stored training must have.
_NEEDED = {"DeltaVector", "IsCancelled", "Labels", "Scale", "SelectionScore"}
# What a shift is learned on, and with which settings.
Setup = namedtuple("Setup", "dataset embedder mode hard_negatives by seed")


def prepare(setup):
    """Load, embed and divide a dataset: all of it, its parts, and labels that fingerprint them."""
    encoder = load_encoder(setup.embedder)
    data = embed(setup.dataset, encoder)
    division = divide(data, by=setup.by, seed=setup.seed)
    parts = {part: data.take(rows) for part, rows in division.items()}
    machine = model_settings().fingerprint
    split = {part: queries.query_ids for part, queries in parts.items()}
    labels = {
        "Dataset": data.dataset.name,
        "DatasetHash": data.dataset.fingerprint,
        "SplitHash": digest(split),
        "SplitBy": setup.by,
        "SplitSizes": {part: len(rows) for part, rows in division.items()},
        "SplitShares": SPLIT_SHARES,
        "Encoder": encoder.name,
        "EncoderHash": encoder.model_hash,
        "Device": machine["device"],
        "Precision": machine["precision"],
        "Parameters": {"mode": setup.mode, "hard_negatives": setup.hard_negatives},
        "Seed": setup.seed,
        "CodeHash": library_digest(),
        "Queries": data.account(),
    }
    return data, parts, labels


def names_of(dataset):
    if dataset.key == "insurance":
        return "mini-insurance-posneg", "MiniInsurance-PosNeg"
    return f"{dataset.key}-posneg", f"{dataset.key}-PosNeg"


# --- training


def train_shift(setup, root):
    """Learn on the training queries, choose the scale on the development queries, store both."""
    data, parts, labels = prepare(setup)
    shift = learn_posneg(
        parts["train"], setup.mode, hard_negatives=setup.hard_negatives
    )
    dev = parts["dev"]
    means = {}
    for scale in CANDIDATE_SCALES:
        found = dev.score(
            dev.queries + scale * shift.move(dev.queries), DOCUMENTED_MEASURES
        )
        means[scale] = found.mean().set_axis(SELECTION_WEIGHTS)
    before = means[0.0]
    scale = max(means, key=lambda scale: selection_score(before, means[scale]))
    workflow, _ = names_of(data.dataset)
    folder, values = write_training(
        root, workflow, shift, before, means[scale], scale, labels
    )
    write_json(
        folder / "split.json", {part: rows.query_ids for part, rows in parts.items()}
    )
    return folder, values, shift.stats


def selection_score(before, after):
    """Weighted gain of both documented measures, by which scale and best training are chosen."""
    gain = sum(
        weight * (after[key] - before[key]) for key, weight in SELECTION_WEIGHTS.items()
    )
    return round(gain, 12)  # what is below decides no tie


def write_training(root, workflow, shift, before, after, scale, labels):
    """Store a learned shift; ``before`` and ``after`` it: map@1 and ndcg@3 on dev."""
    created = now()
    folder = stamped_folder(root, f"{workflow}-training", created)
    values = {
        "WorkflowName": workflow,
        "CreatedUtc": utc(created),
        "BaseDirectory": folder.name,
        "ComparisonRuns": shift.stats["Cases"],
        "ImprovementFirst": 0.0,
        "ImprovementFirstPlusDelta": 0.0,
        "DeltaImprovement": 0.0,
        "DeltaVector": shift.vector.tolist(),
        "TrainingMode": shift.mode,
        "CancelOutEpsilon": shift.cancel_epsilon,
        "IsCancelled": shift.cancel_reason is not None,
        "CancelReason": shift.cancel_reason,
        "DeltaNorm": shift.norm,
        "Scale": scale,
        "Labels": labels,
        "SelectionSource": "dev",
        "SelectionMapAt1Baseline": before["map@1"],
        "SelectionMapAt1Shifted": after["map@1"],
        "SelectionNdcg3Baseline": before["ndcg@3"],
        "SelectionNdcg3Shifted": after["ndcg@3"],
        "SelectionScore": selection_score(before, after),
    }
    write_json(folder / STATS, shift.stats)
    write_json(folder / f"{RESULT}.json", values)
    components = (
        pd.Series(shift.vector).sort_values(key=np.abs, kind="stable")[::-1].head(8)
    )
    largest = components.map("{:+z.6f}".format).add_prefix("dimension ").to_dict()
    shown = {"DeltaVector": "its largest components are the dimensions below"}
    _write_readable(folder / f"{RESULT}.md", values | shown | largest)
    return folder, values


def stamped_folder(root, stem, moment):
    """A new folder named after a moment, with the next free number of its second."""
    for number in itertools.count():
        folder = Path(root) / f"{stem}_{moment:%Y%m%d_%H%M%S}_{number:03d}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder


def _write_readable(path, values):
    """A table of values, under the name of the workflow."""
    fields = [pair for pair in values.items() if not isinstance(pair[1], dict)]
    table = pd.DataFrame(fields, columns=["field", "value"])
    text = table.to_markdown(index=False, disable_numparse=True)
    write_text(path, f"# {values['WorkflowName']}\n\n{text}\n")


def read_training(folder):
    path = Path(folder) / f"{RESULT}.json"
    values = read_json(path)
    if not isinstance(values, dict) or not values.keys() >= _NEEDED:
        raise InputError(f"{path}: not a training result of 'casebook shift train'")
    return values


def best_training(root, workflow, newest=False):
    """The training with the highest selection score, of equals the newest; or the newest of all.

    The best is chosen among those that were not cancelled, if there is one.
    """
    paths = sorted(
        Path(root).glob(f"{workflow}-training_*/{RESULT}.json"), reverse=True
    )
    if not paths:
        raise InputError(
            f"{root}: no training of {workflow}: use 'casebook shift train' first"
        )
    if newest:
        return read_training(paths[0].parent)
    found = [read_training(path.parent) for path in paths]
    return max(
        found, key=lambda values: (not values["IsCancelled"], values["SelectionScore"])
    )


def find_training(dataset, root, *, newest=False, folder=None):
    """A stored training, of a folder or of those below a root, and how it was learned."""
    workflow, _ = names_of(dataset)
    values = read_training(folder) if folder else best_training(root, workflow, newest)
    labels = values["Labels"]
    options = {"by": labels["SplitBy"], "seed": labels["Seed"], **labels["Parameters"]}
    return values, Setup(dataset, labels["Encoder"], **options)


# --- application


def applied_shift(training, labels, scale=None):
    """Scale and vector of a stored shift, and why it moves nothing; None if it does."""
    for key in ("DatasetHash", "SplitHash", "EncoderHash"):
        if training["Labels"].get(key) != labels[key]:
            raise InputError(
                f"{training['BaseDirectory']}: was trained with another {key}; train again, "
                "so that no test query was learned from"
            )
    scale = training["Scale"] if scale is None else scale
    note = why_unmoved(training, scale)
    scale = 0.0 if note else scale
    return scale, scale * np.array(training["DeltaVector"]), note


def why_unmoved(values, scale):
    if values["IsCancelled"]:
        return (
            f"no shift is applied: the training was cancelled: {values['CancelReason']}"
        )
    if scale == 0:
        return (
            "no shift is applied: the scale is 0, which training chooses if no scale raises the "
            "selection score of the development questions"
        )
    return None


def run_shift(setup, training, layout, *, scale=None):
    """Evaluate a stored shift on the test queries, write its files and record two runs."""
    data, parts, labels = prepare(setup)
    started = now()
    scale, move, note = applied_shift(training, labels, scale)
    test = parts["test"]
    vectors = {"baseline": test.queries, "posneg": test.queries + move}
    scores = {system: test.score(moved) for system, moved in vectors.items()}
    clusters = group_labels(test)
    metrics = {}
    for measure in SHIFT_MEASURES:
        systems = pd.DataFrame(
            {system: frame[measure] for system, frame in scores.items()}
        )
        means, gains = means_and_gains(systems, clusters)
        delta = gains["posneg"]
        if note:
            delta |= {"value": None, "reason": "no shift was applied"}
        metrics[measure.removeprefix(ORIGINAL)] = means | {"delta": delta}
    workflow, title = names_of(data.dataset)
    values = {
        "WorkflowName": workflow,
        "CreatedUtc": utc(started),
        "TrainingId": training["BaseDirectory"],
        "Scale": scale,
        "PolicyCount": len(data.documents),
        "EffectiveQueryCount": len(test),
        "TotalQueryCount": labels["Queries"]["n_total"],
        "DroppedQueries": labels["Queries"]["reasons"],
        "Note": note,
    }
    for key, stem in _STEMS.items():
        values[f"{stem}Baseline"] = metrics[key]["baseline"]["value"]
        values[f"{stem}PosNeg"] = metrics[key]["posneg"]["value"]
        values[f"Delta{stem}"] = metrics[key]["delta"]["value"]
        values[f"Delta{stem}Ci"] = metrics[key]["delta"]["ci"]
    folder = stamped_folder(layout.results, f"{workflow}-run", started)
    write_json(folder / "metrics-posneg.json", values)
    _write_readable(folder / "metrics-posneg.md", values)
    groups = pd.Series(clusters)
    # Names of the data; groups that share a question are one.
    if test.dataset.groups is not None:
        own = pd.Series(test.query_ids).map(test.dataset.groups).groupby(clusters)
        groups = own.transform(lambda names: "+".join(sorted(set(names))))
    records = []
    systems = {"baseline": (f"{title}-Baseline", 0.0), "posneg": (title, scale)}
    for system, (record_name, applied) in systems.items():
        rows = per_query(test, vectors[system]).assign(Group=groups)
        write_per_query(folder / per_query_name(system), rows)
        means = {
            measure: numbers[system]["value"] for measure, numbers in metrics.items()
        }
        record = RunRecord.model_construct(
            run_id=uuid.uuid4().hex,
            workflow=record_name,
            started=started,
            completed=now(),
            success=True,
            labels=labels | {"Training": training["BaseDirectory"], "Scale": applied},
            metrics=means,
        )
        records.append(str(record_run(layout, record, rows)))
    return {
        "folder": str(folder),
        "runs": records,
        "note": note,
        "n": len(test),
        "groups": len(set(clusters)),
        "values": values,
        "measures": metrics,
    }


# --- evaluators and gate


def run_evaluators(
    setup,
    training,
    layout,
    *,
    baseline=True,
    mode="per-query",
    scale=None,
    profile="documented",
    eps=None,
    decision="bound",
):
    """Run the evaluators on the test queries, decide on the shift, write manifest and gate."""
    # An unknown profile is refused before any vector is computed.
    profile_rules(profile, eps)
    _, parts, labels = prepare(setup)
    started = now()
    test = parts["test"]
    _, move, note = applied_shift(training, labels, scale)
    clusters = group_labels(test)
    evaluation = evaluate_shift(test, test.queries + move, baseline=baseline, mode=mode)
    kind = "evaluation+baseline" if baseline else "evaluation"
    run_id = uuid.uuid4().hex
    folder = (
        evaluations_folder(layout.tenant) / f"{started:%Y%m%d_%H%M%S}_{kind}_{run_id}"
    )
    n, dimensions = test.documents.shape
    manifest = {
        "kind": kind,
        "runId": run_id,
        "source": setup.dataset.key,
        "shift": "learned",
        "useBaseline": baseline,
        "dataset": test.dataset.name,
        "startedAtUtc": utc(started),
        "completedAtUtc": utc(),
        "usedSim": False,
        "mode": mode,
        "diagnostic": mode == "shared",
        "queryRole": "test",
        "refRole": "documents",
        "queryCount": len(test),
        "refCount": n,
        "dimensions": dimensions,
        "labels": labels,
        "metrics": evaluation.metrics,
        "degenerate": evaluation.degenerate,
    }
    write_json(folder / "run_manifest.json", manifest)
    verdict = None
    notes = []
    if baseline:
        report = judge_shift(
            evaluation,
            profile,
            eps=eps,
            decision="point" if note else decision,  # no shift cannot lower anything
            clusters=clusters,
            seed=setup.seed,
        )
        verdict = report.verdict
        notes = [check.pop("note") for check in report.checks]
        gate = {
            "Dataset": manifest["dataset"],
            "RunId": run_id,
            "RefsManifestPath": None,
            "ResultsPath": folder.name,
            "Mode": mode,
            "Diagnostic": manifest["diagnostic"],
            "CreatedUtc": utc(),
            "GateProfile": profile,
            "Decision": decision,
            "Passed": verdict == PASS,
            "Verdict": verdict,
            "Epsilon": max(check["eps"] for check in report.checks),
            "Notes": notes,
            "Checks": report.checks,
            "Metrics": evaluation.metrics,
        }
        write_json(folder / "acceptance_gate.json", gate)
    return {
        "folder": str(folder),
        "verdict": verdict,
        "notes": notes,
        "n": len(test),
        "groups": len(set(clusters)),
        "note": note,
        "metrics": evaluation.metrics,
    }
