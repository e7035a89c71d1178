"""The diagnostic evaluators under their documented names, the acceptance gate, and the command that runs both.

The documented runner compares every query with one shared list of references, of which the first counts as relevant.
That mode is kept, marked diagnostic; by default each query is compared with the documents ranked for it, by its own
judgements.
"""

import math
import time
import uuid
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import write_json
from casebook.measures.ranking import evaluate
from casebook.runs.record import now, utc
from casebook.shift.artifacts import check_split, prepare, shift_queries, unapplied
from casebook.shift.embedded import SMALLEST_NORM, best_first, group_labels
from casebook.stats.intervals import FEWEST, too_few
from casebook.stats.samples import check_choice, number_or_none
from casebook.stats.tests import difference_intervals
from casebook.tables import reason_text
from casebook.verdicts import FAIL, NO_UNIT_DIFFERS, PASS, UNDECIDED, gate_verdict

COSINE, MARGIN = "CosineSimilarityEvaluator", "MarginEvaluator"
NDCG, MRR = "NdcgEvaluator", "MrrEvaluator"
NAMES = (COSINE, MARGIN, NDCG, MRR)
_RANKING = {NDCG: "original:NDCG@10", MRR: "RR"}
EVALUATION_MODES = ("per-query", "shared")

FILE = "acceptance_gate.json"
DOCUMENTED_EPS, _STRICT_EPS = 0.005, 1e-6
PROFILES = {  # tolerated loss, by evaluator
    "documented": {NDCG: DOCUMENTED_EPS, MRR: DOCUMENTED_EPS},
    "documented+cosine": {NDCG: DOCUMENTED_EPS, MRR: DOCUMENTED_EPS, COSINE: 0.0},
    "rank": {NDCG: _STRICT_EPS, MRR: _STRICT_EPS},
    "rank+cosine": dict.fromkeys((NDCG, MRR, COSINE), _STRICT_EPS),
}
_ALIASES = {"rankcosine": "rank+cosine", "rank-cosine": "rank+cosine"}
DECISIONS = ("bound", "point")
SHIFTS = ("learned", "identity", "zero")


# What the evaluators say of one shift: metrics under documented keys, frames of queries x evaluators without and with
# the shift, and the queries whose shifted vector has no length or is not finite.
EvaluatorRun = namedtuple("EvaluatorRun", "metrics baseline shifted degenerate")


def evaluate_shift(data, vectors, *, baseline=True, mode="per-query"):
    """Run all evaluators on shifted queries, and on the unshifted ones."""
    check_choice("mode", mode, EVALUATION_MODES)
    vectors = np.asarray(vectors, dtype=float)
    if vectors.shape != data.queries.shape:
        raise InputError(
            f"shifted queries have shape {vectors.shape}, expected {data.queries.shape}"
        )
    clock, durations = time.perf_counter(), dict.fromkeys(NAMES, 0.0)
    shifted = _evaluators(data, vectors, mode, durations)
    unshifted = _evaluators(data, data.queries, mode, durations) if baseline else None
    after = shifted.mean(skipna=False)
    metrics = after.to_dict()
    if baseline:
        before = unshifted.mean(skipna=False)
        for part, values in (("baseline", before), ("shift", after), ("delta", after - before)):
            metrics |= values.add_suffix(f".{part}").to_dict()
    metrics |= {f"{name}.duration_ms": ms for name, ms in durations.items()}
    metrics["evaluation.duration_ms"] = 1000 * (time.perf_counter() - clock)
    metrics = {name: number_or_none(value) for name, value in metrics.items()}
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > SMALLEST_NORM)))
    return EvaluatorRun(metrics, unshifted, shifted, [data.query_ids[row] for row in wrong])


def _evaluators(data, vectors, mode, durations):
    """Queries x evaluators, adding the milliseconds of each to `durations`."""
    finite = np.isfinite(vectors).all(axis=1)
    usable = np.where(finite[:, None], vectors, 0.0)
    if mode == "shared":
        data = replace(data, pools=[np.arange(len(data.documents))] * len(data))
    scores, columns = data.scores(usable), {}
    for name in NAMES:
        clock = time.perf_counter()
        if name == COSINE:
            values = [part.mean() for part in scores]
        elif name == MARGIN:  # best minus second-best cosine; 0 with one reference, as documented
            values = [np.diff(np.sort(part)[-2:]).sum() for part in scores]
        else:
            values = _ranking(data, usable, scores, mode, _RANKING[name])
        columns[name] = np.where(finite, values, np.nan)
        durations[name] += 1000 * (time.perf_counter() - clock)
    return pd.DataFrame(columns, index=pd.Index(data.query_ids, name="query_id"))


def _ranking(data, vectors, scores, mode, measure):
    if mode == "per-query":
        run, judged = data.run(vectors), data.qrels()
    else:
        # The first reference is the relevant one, and ties keep the references' order.
        judged = {query: {"0": 1} for query in data.query_ids}
        orders = zip(data.query_ids, map(best_first, scores), strict=True)
        run = {
            query: {str(doc): -float(place) for place, doc in enumerate(order)}
            for query, order in orders
        }
    return evaluate(judged, run, [measure]).values(measure)


# The checks are a list of dicts: metric, delta, low, high, n, eps, verdict and reason of each rule.
GateReport = namedtuple("GateReport", "profile decision verdict checks")


def note(check):
    """A rule's outcome in one line."""
    if check["delta"] is None:
        return f"MISSING: {check['metric']} ({check['reason']})"
    head = {PASS: "OK", FAIL: "FAIL", UNDECIDED: "UNDECIDED"}[check["verdict"]]
    tail = f" ({reason_text(check['reason'])})" if check["reason"] else ""
    bounds = "" if check["low"] is None else f" [{check['low']:+z.4f}, {check['high']:+z.4f}]"
    return f"{head}: {check['metric']}={check['delta']:+z.4f}{bounds}{tail}"


def profile_rules(name, eps=None):
    """Tolerated loss of each evaluator in a profile, or one for all."""
    profile = _ALIASES.get(name, name)
    check_choice("gate profile", profile, PROFILES)
    if eps is None:
        return PROFILES[profile]
    if not 0 <= eps < math.inf:
        raise InputError(f"the gate's eps must be at least 0 and finite, not {eps}")
    return dict.fromkeys(PROFILES[profile], float(eps))


def judge(result, profile="documented", *, eps=None, decision="bound", **draws):
    """Judge by its evaluator run whether a shift is not worse than no shift, beyond doubt: fail, undecided or pass."""
    rules = profile_rules(profile, eps)
    check_choice("decision", decision, DECISIONS)
    fields = ("delta", "low", "high", "verdict", "reason")
    checks = []
    for name, threshold in rules.items():
        known = {"metric": f"{name}.delta", "n": len(result.shifted), "eps": threshold}
        checks.append(
            known | dict(zip(fields, _check(result, name, threshold, decision, draws), strict=True))
        )
    found = {check["verdict"] for check in checks}
    verdict = next((verdict for verdict in (FAIL, UNDECIDED) if verdict in found), PASS)
    return GateReport(profile, decision, verdict, checks)


def _check(result, name, eps, decision, draws):
    """Difference, bounds, verdict and reason of one rule."""
    delta, clusters = result.metrics.get(f"{name}.delta"), draws.get("clusters")
    if delta is None:
        return None, None, None, FAIL, "no baseline" if result.baseline is None else "not a number"
    [interval] = difference_intervals(result.shifted[name] - result.baseline[name], **draws)
    bounds = interval.low, interval.high
    if result.degenerate:
        return delta, *bounds, FAIL, f"{len(result.degenerate)} degenerate vectors"
    groups = len(result.shifted) if clusters is None else len(set(clusters))
    if decision == "bound" and groups < FEWEST:
        # Neither equal scores of so few groups nor an interval over their queries speak for new ones.
        return delta, *bounds, UNDECIDED, too_few(groups, clusters)
    compared = bounds
    if decision == "point" or interval.reason in (
        NO_UNIT_DIFFERS,
        "no_variation",
    ):  # all queries change alike
        compared = delta, delta
    return delta, *bounds, gate_verdict(*compared, -eps, inclusive=True), interval.reason


def write_gate(path, report, metrics, **context):
    """Write ``acceptance_gate.json`` under the documented names."""
    values = {
        **context,
        "CreatedUtc": utc(),
        "GateProfile": report.profile,
        "Decision": report.decision,
        "Passed": report.verdict == PASS,
        "Verdict": report.verdict,
        "Epsilon": max(check["eps"] for check in report.checks),
        "Notes": [note(check) for check in report.checks],
        "Checks": report.checks,
        "Metrics": metrics,
    }
    return write_json(path, values)


EvaluationReport = namedtuple("EvaluationReport", "folder metrics n gate note")


def run_evaluators(
    setup, result, layout, *, shift="learned", baseline=True, mode="per-query", scale=None, **rules
):
    """Run the evaluators on the test queries, judge the shift, write manifest and gate."""
    check_choice("shift", shift, SHIFTS)
    profile_rules(rules.get("profile", "documented"), rules.get("eps"))
    (_, parts, labels), started = prepare(setup), now()
    test = parts["test"]
    vectors, note = test.queries * (shift != "zero"), None
    if shift == "learned":
        check_split(labels, result)
        vectors, used = shift_queries(test, result, scale)
        note = unapplied(result, used)
    found = evaluate_shift(test, vectors, baseline=baseline, mode=mode)
    run_id = uuid.uuid4().hex
    kind = "evaluation+baseline" if baseline else "evaluation"
    folder = layout.results / f"{started:%Y%m%d_%H%M%S}_{kind}_{run_id}"
    diagnostic = mode == "shared"
    manifest = {
        "kind": kind,
        "runId": run_id,
        "shift": shift,
        "useBaseline": baseline,
        "dataset": test.dataset.name,
        "startedAtUtc": utc(started),
        "completedAtUtc": utc(),
        "usedSim": False,
        "mode": mode,
        "diagnostic": diagnostic,
        "queryRole": "test",
        "refRole": "documents",
        "queryCount": len(test),
        "refCount": len(test.documents),
        **dict.fromkeys(("embeddingsRoot", "refsManifestPath", "refsManifest")),
        "labels": labels,
        "metrics": found.metrics,
        "degenerate": found.degenerate,
    }
    write_json(folder / "run_manifest.json", manifest)
    verdict = None
    if baseline:
        verdict = judge(found, clusters=group_labels(test), seed=setup.seed, **rules)
        context = {"Dataset": test.dataset.name, "RunId": run_id, "RefsManifestPath": None}
        context |= {"ResultsPath": folder.name, "Mode": mode, "Diagnostic": diagnostic}
        write_gate(folder / FILE, verdict, found.metrics, **context)
    return EvaluationReport(folder, found.metrics, len(test), verdict, note)
