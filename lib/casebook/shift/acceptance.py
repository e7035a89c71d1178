"""The eval runner: evaluators on the test queries, manifest and acceptance gate."""

import uuid
from dataclasses import dataclass
from pathlib import Path

from casebook.files import write_json
from casebook.inference.samples import check_choice
from casebook.runs.record import now
from casebook.shift import evaluators, gate
from casebook.shift.preparation import prepare
from casebook.shift.simulators import NAMES
from casebook.shift.splits import group_labels
from casebook.shift.workflow import check_split, shift_queries, unapplied

SHIFTS = ("learned", "identity", "zero")


@dataclass(frozen=True)
class EvaluationReport:
    """Outcome of the eval runner."""

    folder: Path
    metrics: dict
    n: int
    gate: object
    note: str | None = None


def run_evaluators(setup, result, layout, *, shift="learned", baseline=True, mode="per-query", scale=None, **rules):
    """Run the evaluators on the test queries and judge the shift."""
    check_choice("shift", shift, SHIFTS)
    gate.profile_rules(rules.get("profile", "documented"), rules.get("eps"))
    ready, started = prepare(setup), now()
    test = ready.data.take(ready.division.parts["test"])
    vectors, note = test.queries * (shift != "zero"), None
    if shift == "learned":
        check_split(ready, result)
        vectors, used = shift_queries(test, result, scale)
        note = unapplied(result, used)
    found = evaluators.evaluate_shift(test, vectors, baseline=baseline, mode=mode)
    run_id, kind = uuid.uuid4().hex, "evaluation" + "+baseline" * baseline
    folder = layout.results / f"{started:%Y%m%d_%H%M%S}_{kind}_{run_id}"
    own = {"kind": kind, "runId": run_id, "shift": shift, "useBaseline": baseline}
    manifest = own | _manifest(ready, test, found, started)
    write_json(folder / "run_manifest.json", manifest)
    if not baseline:
        return EvaluationReport(folder, found.metrics, len(test), None, note)
    verdict = gate.judge(found, clusters=group_labels(test), seed=setup.seed, **rules)
    context = {"Dataset": test.dataset.name, "RunId": run_id}
    context |= {"RefsManifestPath": None, "ResultsPath": folder.name}
    context |= {"Mode": mode, "Diagnostic": mode == "shared"}
    gate.write_gate(folder / gate.FILE, verdict, found.metrics, **context)
    return EvaluationReport(folder, found.metrics, len(test), verdict, note)


def _manifest(ready, test, found, started):
    return {
        "dataset": test.dataset.name,
        "startedAtUtc": started.isoformat().replace("+00:00", "Z"),
        "completedAtUtc": now().isoformat().replace("+00:00", "Z"),
        "usedSim": ready.labels["Encoder"] in NAMES,
        "mode": found.mode,
        "diagnostic": found.mode == "shared",
        "queryRole": "test",
        "refRole": "documents",
        "queryCount": len(test),
        "refCount": len(test.documents),
        "embeddingsRoot": None,
        "refsManifestPath": None,
        "refsManifest": None,
        "labels": ready.labels,
        "metrics": found.metrics,
        "degenerate": found.degenerate,
    }
