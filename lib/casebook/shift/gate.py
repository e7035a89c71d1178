"""The evaluators of a shift under their documented names, its acceptance gate, and both in one run.

The documented runner compares every query with one shared list of references, of which the first
counts as relevant. That mode is there, marked diagnostic; by default each query is compared with
the documents ranked for it, by its judgements.
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
from casebook.frames import contrasts
from casebook.measures.ranking import evaluate
from casebook.runs.record import now, utc
from casebook.runs.registry import evaluations_folder
from casebook.shift.artifacts import check_split, prepare, shift_queries, unapplied
from casebook.shift.embedded import SMALLEST_NORM, group_labels, ranking_order
from casebook.stats.intervals import FEWEST, too_few
from casebook.stats.samples import check_choice, number_or_none
from casebook.tables import reason_text
from casebook.verdicts import FAIL, NO_UNIT_DIFFERS, PASS, UNDECIDED, gate_verdict, worst_verdict

COSINE = "CosineSimilarityEvaluator"
MARGIN = "MarginEvaluator"
NDCG = "NdcgEvaluator"
MRR = "MrrEvaluator"
EVALUATORS = (COSINE, MARGIN, NDCG, MRR)
_RANKING = {NDCG: "original:NDCG@10", MRR: "RR"}
EVALUATION_MODES = ("per-query", "shared")

GATE_FILE = "acceptance_gate.json"
DOCUMENTED_EPS = 0.005  # a gate's tolerance, no margin of a verdict
_STRICT_EPS = 1e-6
PROFILES = {  # tolerated loss, by evaluator
    "documented": {NDCG: DOCUMENTED_EPS, MRR: DOCUMENTED_EPS},
    "documented+cosine": {NDCG: DOCUMENTED_EPS, MRR: DOCUMENTED_EPS, COSINE: 0.0},
    "rank": {NDCG: _STRICT_EPS, MRR: _STRICT_EPS},
    "rank+cosine": dict.fromkeys((NDCG, MRR, COSINE), _STRICT_EPS),
}
_ALIASES = {"rankcosine": "rank+cosine", "rank-cosine": "rank+cosine"}
GATE_DECISIONS = ("bound", "point")
SHIFTS = ("learned", "identity", "zero")

# Result of the evaluators for one shift: metrics under documented keys, frames of queries x
# evaluators without and with the shift, and the queries whose shifted vector has no length or is
# not finite.
EvaluatorRun = namedtuple("EvaluatorRun", "metrics baseline shifted degenerate")


def evaluate_shift(data, vectors, *, baseline=True, mode="per-query"):
    """Run all evaluators on shifted queries, and on the unshifted ones."""
    check_choice("mode", mode, EVALUATION_MODES)
    vectors = np.asarray(vectors, dtype=float)
    if vectors.shape != data.queries.shape:
        raise InputError(
            f"shifted queries have shape {vectors.shape}, expected {data.queries.shape}"
        )
    start = time.perf_counter()
    durations = dict.fromkeys(EVALUATORS, 0.0)
    shifted = _evaluators(data, vectors, mode, durations)
    after = shifted.mean(skipna=False)
    unshifted = None
    metrics = after.to_dict()
    if baseline:
        unshifted = _evaluators(data, data.queries, mode, durations)
        before = unshifted.mean(skipna=False)
        metrics |= before.add_suffix(".baseline").to_dict()
        metrics |= after.add_suffix(".shift").to_dict()
        metrics |= (after - before).add_suffix(".delta").to_dict()
    metrics |= {f"{name}.duration_ms": ms for name, ms in durations.items()}
    metrics["evaluation.duration_ms"] = 1000 * (time.perf_counter() - start)
    metrics = {name: number_or_none(value) for name, value in metrics.items()}
    lengths = np.linalg.norm(vectors, axis=1)
    is_degenerate = ~(np.isfinite(lengths) & (lengths > SMALLEST_NORM))
    degenerate = [data.query_ids[row] for row in np.flatnonzero(is_degenerate)]
    return EvaluatorRun(metrics, unshifted, shifted, degenerate)


def _evaluators(data, vectors, mode, durations):
    """Queries x evaluators, adding the milliseconds of each to `durations`."""
    finite = np.isfinite(vectors).all(axis=1)
    usable = np.where(finite[:, None], vectors, 0.0)
    if mode == "shared":
        data = replace(data, pools=[np.arange(len(data.documents))] * len(data))
    scores = data.scores(usable)
    columns = {}
    for name in EVALUATORS:
        start = time.perf_counter()
        if name == COSINE:
            values = [cosines.mean() for cosines in scores]
        elif name == MARGIN:  # best minus second-best cosine; 0 with one reference, as documented
            values = [np.diff(np.sort(cosines)[-2:]).sum() for cosines in scores]
        else:
            values = _ranking(data, usable, scores, mode, _RANKING[name])
        columns[name] = np.where(finite, values, np.nan)
        durations[name] += 1000 * (time.perf_counter() - start)
    return pd.DataFrame(columns, index=pd.Index(data.query_ids, name="query_id"))


def _ranking(data, vectors, scores, mode, measure):
    if mode == "per-query":
        return evaluate(data.qrels(), data.run(vectors), [measure]).frame()[measure].to_numpy()
    # The first reference is the relevant one, and ties keep the references' order.
    qrels = {query: {"0": 1} for query in data.query_ids}
    run = {}
    for query, cosines in zip(data.query_ids, scores, strict=True):
        order = ranking_order(cosines)
        run[query] = {str(doc): -float(rank) for rank, doc in enumerate(order)}
    return evaluate(qrels, run, [measure]).frame()[measure].to_numpy()


# The checks are a list of dicts: metric, delta, low, high, n, eps, verdict and reason of each rule.
GateReport = namedtuple("GateReport", "profile decision verdict checks")


def rule_outcome(check):
    """A rule's outcome in one line."""
    if check["delta"] is None:
        return f"MISSING: {check['metric']} ({check['reason']})"
    verdict = {PASS: "OK", FAIL: "FAIL", UNDECIDED: "UNDECIDED"}[check["verdict"]]
    text = f"{verdict}: {check['metric']}={check['delta']:+z.4f}"
    if check["low"] is not None:
        text += f" [{check['low']:+z.4f}, {check['high']:+z.4f}]"
    if check["reason"]:
        text += f" ({reason_text(check['reason'])})"
    return text


def profile_rules(name, eps=None):
    """Tolerated loss of each evaluator in a profile, or one for all."""
    profile = _ALIASES.get(name, name)
    check_choice("gate profile", profile, PROFILES)
    if eps is None:
        return PROFILES[profile]
    if not 0 <= eps < math.inf:
        raise InputError(f"the gate's eps must be at least 0 and finite, not {eps}")
    return dict.fromkeys(PROFILES[profile], float(eps))


def judge_shift(
    result,
    profile="documented",
    *,
    eps=None,
    decision="bound",
    clusters=None,
    n_resamples=10_000,
    seed=0,
):
    """Decide by its evaluator run whether a shift is not worse than no shift, within a tolerance.

    The verdict is fail if any rule fails, else undecided if any is, else pass.
    """
    check_choice("decision", decision, GATE_DECISIONS)
    checks = []
    for name, threshold in profile_rules(profile, eps).items():
        check = {
            "metric": f"{name}.delta",
            "n": len(result.shifted),
            "eps": threshold,
            "delta": result.metrics.get(f"{name}.delta"),
            "low": None,
            "high": None,
        }
        if check["delta"] is None:
            check["verdict"] = FAIL
            check["reason"] = "no baseline" if result.baseline is None else "not a number"
        else:
            scores = pd.DataFrame({"now": result.shifted[name], "before": result.baseline[name]})
            found = contrasts(
                scores, [("now", "before")], clusters, n_resamples=n_resamples, seed=seed
            ).iloc[0]
            check["low"] = number_or_none(found["low"])
            check["high"] = number_or_none(found["high"])
            verdict, reason = _rule_verdict(result, check, found["reason"], decision, clusters)
            check["verdict"] = verdict
            check["reason"] = reason
        checks.append(check)
    verdict = worst_verdict([check["verdict"] for check in checks])
    return GateReport(profile, decision, verdict, checks)


def gate_table(study, systems, **resampling):
    """Every rule of the documented gate on every one of some shifts that moved a question."""
    tables = []
    for system in systems:
        if system in study.unmoved:
            continue
        evaluation = evaluate_shift(study.data, study.fits[system].shifted())
        report = judge_shift(evaluation, clusters=study.clusters, **resampling)
        tables.append(pd.DataFrame(report.checks).assign(shift=study.names[system]))
    if not tables:
        return pd.DataFrame()
    checks = pd.concat(tables, ignore_index=True)
    columns = ["shift", "metric", "delta", "low", "high", "eps", "n", "verdict", "reason"]
    return checks[columns].dropna(axis=1, how="all")


def _rule_verdict(result, check, interval_reason, decision, clusters):
    """Verdict and reason of one rule."""
    if result.degenerate:
        return FAIL, f"{len(result.degenerate)} degenerate vectors"
    groups = len(result.shifted) if clusters is None else len(set(clusters))
    if decision == "bound" and groups < FEWEST:
        # Neither equal scores of so few groups nor an interval over queries speak for new groups.
        return UNDECIDED, too_few(groups, clusters)
    all_change_alike = interval_reason in (NO_UNIT_DIFFERS, "no_variation")
    if decision == "point" or all_change_alike:
        low = high = check["delta"]
    else:
        low = check["low"]
        high = check["high"]
    return gate_verdict(low, high, -check["eps"], inclusive=True), interval_reason


def write_gate(path, report, metrics, context):
    """Write ``acceptance_gate.json`` under the documented names."""
    values = context | {
        "CreatedUtc": utc(),
        "GateProfile": report.profile,
        "Decision": report.decision,
        "Passed": report.verdict == PASS,
        "Verdict": report.verdict,
        "Epsilon": max(check["eps"] for check in report.checks),
        "Notes": [rule_outcome(check) for check in report.checks],
        "Checks": report.checks,
        "Metrics": metrics,
    }
    return write_json(path, values)


EvaluationReport = namedtuple("EvaluationReport", "folder metrics n gate note")


def run_evaluators(
    setup,
    result,
    layout,
    *,
    shift="learned",
    baseline=True,
    mode="per-query",
    scale=None,
    profile="documented",
    eps=None,
    decision="bound",
):
    """Run the evaluators on the test queries, decide on the shift, write manifest and gate."""
    check_choice("shift", shift, SHIFTS)
    profile_rules(profile, eps)  # an unknown profile is refused before any vector is computed
    _, parts, labels = prepare(setup)
    started = now()
    test = parts["test"]
    note = None
    if shift == "learned":
        check_split(labels, result)
        vectors, applied_scale = shift_queries(test, result, scale)
        note = unapplied(result, applied_scale)
    elif shift == "zero":
        vectors = np.zeros_like(test.queries)
    else:
        vectors = test.queries
    evaluation = evaluate_shift(test, vectors, baseline=baseline, mode=mode)
    manifest = _manifest(test, evaluation, started, shift=shift, mode=mode, labels=labels)
    manifest["source"] = str(setup.dataset)
    run_id = manifest["runId"]
    name = f"{started:%Y%m%d_%H%M%S}_{manifest['kind']}_{run_id}"
    folder = evaluations_folder(layout.tenant) / name
    write_json(folder / "run_manifest.json", manifest)
    report = None
    if baseline:
        report = judge_shift(
            evaluation,
            profile,
            eps=eps,
            decision=decision,
            clusters=group_labels(test),
            seed=setup.seed,
        )
        context = {
            "Dataset": test.dataset.name,
            "RunId": run_id,
            "RefsManifestPath": None,
            "ResultsPath": folder.name,
            "Mode": mode,
            "Diagnostic": manifest["diagnostic"],
        }
        write_gate(folder / GATE_FILE, report, evaluation.metrics, context)
    return EvaluationReport(folder, evaluation.metrics, len(test), report, note)


def _manifest(test, evaluation, started, *, shift, mode, labels):
    """Describe an evaluator run under the documented names."""
    with_baseline = evaluation.baseline is not None
    return {
        "kind": "evaluation+baseline" if with_baseline else "evaluation",
        "runId": uuid.uuid4().hex,
        "shift": shift,
        "useBaseline": with_baseline,
        "dataset": test.dataset.name,
        "startedAtUtc": utc(started),
        "completedAtUtc": utc(),
        "usedSim": False,
        "mode": mode,
        "diagnostic": mode == "shared",
        "queryRole": "test",
        "refRole": "documents",
        "queryCount": len(test),
        "refCount": len(test.documents),
        "embeddingsRoot": None,
        "refsManifestPath": None,
        "refsManifest": {
            "totalDocuments": len(test.documents),
            "dimensions": test.documents.shape[1],
            "provider": labels["Encoder"],
        },
        "labels": labels,
        "metrics": evaluation.metrics,
        "degenerate": evaluation.degenerate,
    }
