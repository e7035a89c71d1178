"""The evaluators of a shift under their documented names, and its acceptance gate.

The documented runner compares every query with one shared list of references, of which the first
counts as relevant. That mode is there, marked diagnostic; by default each query is compared with
the documents ranked for it, by its judgements.
"""

import time
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.frames import contrasts
from casebook.readers import read_yaml
from casebook.stats.intervals import FEWEST, bounds_text, too_few
from casebook.stats.samples import check_choice, number_or_none
from casebook.tables import reason_text
from casebook.verdicts import (
    FAIL,
    NO_UNIT_DIFFERS,
    UNDECIDED,
    gate_verdict,
    worst_verdict,
)

COSINE = "CosineSimilarityEvaluator"
MARGIN = "MarginEvaluator"
NDCG = "NdcgEvaluator"
MRR = "MrrEvaluator"
EVALUATORS = (COSINE, MARGIN, NDCG, MRR)
_RANKING = {NDCG: "original:NDCG@10", MRR: "RR"}
PROFILES = read_yaml(Path(__file__).with_name("profiles.yml"))

# Result of the evaluators for one shift: metrics under documented keys, frames of queries x
# evaluators without and with the shift, and the queries whose shifted vector has no length.
EvaluatorRun = namedtuple("EvaluatorRun", "metrics baseline shifted degenerate")
# The checks are a list of dicts: metric, delta, low, high, n, eps, verdict, reason, and all of that
# as a note.
GateReport = namedtuple("GateReport", "verdict checks")


def evaluate_shift(data, vectors, *, baseline=True, mode="per-query"):
    """Run all evaluators on shifted queries, and on the unshifted ones."""
    sides = (
        {"shift": vectors, "baseline": data.queries} if baseline else {"shift": vectors}
    )
    frames = {side: pd.DataFrame(index=data.query_ids) for side in sides}
    durations = {}
    for name in EVALUATORS:
        start = time.perf_counter()
        for side, queries in sides.items():
            frames[side][name] = _evaluator(name, data, queries, mode)
        durations[f"{name}.duration_ms"] = 1000 * (time.perf_counter() - start)
    durations["evaluation.duration_ms"] = sum(durations.values())
    means = {side: frame.mean() for side, frame in frames.items()}
    metrics = means["shift"].to_dict() | durations
    if baseline:
        means["delta"] = means["shift"] - means["baseline"]
        for kind, values in means.items():
            metrics |= values.add_suffix(f".{kind}").to_dict()
    is_whole = np.linalg.norm(vectors, axis=1) > 1e-12  # NaN is degenerate too
    degenerate = frames["shift"].index[~is_whole].tolist()
    return EvaluatorRun(metrics, frames.get("baseline"), frames["shift"], degenerate)


def _evaluator(name, data, vectors, mode):
    """Values of one documented evaluator, a number for each question."""
    if mode == "shared":
        references = np.arange(len(data.documents))
        data = replace(data, pools=[references] * len(data))
    elif name in _RANKING:
        measure = _RANKING[name]
        return data.score(vectors, [measure])[measure]
    scores = data.scores(vectors)
    if name == COSINE:
        return [cosines.mean() for cosines in scores]
    # Best minus second-best cosine; 0 with one reference, as documented.
    if name == MARGIN:
        best = [np.sort(cosines)[-2:] for cosines in scores]
        return [np.diff(two).sum() for two in best]
    # The first reference is the relevant one, and ties keep the references' order.
    ranks = np.array([1 + (cosines > cosines[0]).sum() for cosines in scores])
    if name == MRR:
        return 1 / ranks
    return np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0.0)


def profile_rules(name, eps=None):
    """Tolerated loss of each evaluator in a profile, or one for all."""
    check_choice("gate profile", name, PROFILES)
    rules = PROFILES[name]
    return rules if eps is None else dict.fromkeys(rules, eps)


def judge_shift(
    result,
    profile="documented",
    *,
    eps=None,
    decision="bound",
    clusters=None,
    **resampling,
):
    """Decide by its evaluator run whether a shift is not worse than no shift, within a tolerance.

    The verdict is fail if any rule fails, else undecided if any is, else pass.
    """
    check_choice("decision", decision, ("bound", "point"))
    checks = []
    for name, threshold in profile_rules(profile, eps).items():
        check = {"metric": f"{name}.delta", "n": len(result.shifted), "eps": threshold}
        check["delta"] = result.metrics[f"{name}.delta"]
        scores = pd.DataFrame(
            {"now": result.shifted[name], "before": result.baseline[name]}
        )
        if result.degenerate:
            reason = f"{len(result.degenerate)} degenerate vectors"
            check |= {"low": None, "high": None, "verdict": FAIL, "reason": reason}
        else:
            row = contrasts(scores, [("now", "before")], clusters, **resampling).iloc[0]
            check |= _decided(row, threshold, decision, clusters)
        checks.append(check | {"note": _note(check)})
    verdicts = [check["verdict"] for check in checks]
    return GateReport(worst_verdict(verdicts), checks)


def _decided(row, threshold, decision, clusters):
    low = number_or_none(row["low"])
    high = number_or_none(row["high"])
    found = {"low": low, "high": high, "reason": row["reason"]}
    if decision == "bound" and row["groups"] < FEWEST:
        # Neither equal scores of so few groups nor an interval over queries speak for new groups.
        return found | {
            "verdict": UNDECIDED,
            "reason": too_few(row["groups"], clusters),
        }
    if decision == "point" or row["reason"] in (NO_UNIT_DIFFERS, "no_variation"):
        low = high = row["difference"]
    return found | {"verdict": gate_verdict(low, high, -threshold, inclusive=True)}


def _note(check):
    verdict = check["verdict"].upper().replace("PASS", "OK")
    bounds = bounds_text(check["low"], check["high"], "+z.4f")
    reason = f"({reason_text(check['reason'])})" if check["reason"] else ""
    return f"{verdict}: {check['metric']}={check['delta']:+z.4f} {bounds} {reason}".rstrip()
