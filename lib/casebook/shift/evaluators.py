"""The diagnostic evaluators: documented names and keys, each query's own judgements.

The documented runner compares every query with one shared list of references, of
which the first counts as relevant. That mode is kept, marked diagnostic; by default
each query is compared with the documents ranked for it, by its own judgements.
"""

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.ranking import evaluate
from casebook.shift.vectors import SMALLEST_NORM, TIE_DECIMALS, best_first, cosines
from casebook.stats.samples import check_choice

COSINE, MARGIN = "CosineSimilarityEvaluator", "MarginEvaluator"
NDCG, MRR = "NdcgEvaluator", "MrrEvaluator"
_MEASURE = {NDCG: "original:NDCG@10", MRR: "RR"}
NAMES = (COSINE, MARGIN, NDCG, MRR)
MODES = ("per-query", "shared")


@dataclass(frozen=True)
class EvaluatorRun:
    """What the evaluators say of one shift."""

    metrics: dict
    baseline: pd.DataFrame | None
    shifted: pd.DataFrame
    degenerate: list
    mode: str

    @property
    def deltas(self):
        """Shifted minus baseline: queries x evaluators, or None without a baseline."""
        return None if self.baseline is None else self.shifted - self.baseline


def evaluate_shift(data, vectors, *, baseline=True, mode="per-query"):
    """Run all evaluators on shifted queries."""
    check_choice("mode", mode, MODES)
    vectors = np.asarray(vectors, dtype=float)
    if vectors.shape != data.queries.shape:
        raise InputError(f"shifted queries have shape {vectors.shape}, expected {data.queries.shape}")
    clock = time.perf_counter()
    frames, durations = {}, dict.fromkeys(NAMES, 0.0)
    for kind, part in (("shift", vectors), ("baseline", data.queries)):
        if kind == "shift" or baseline:
            frames[kind] = _evaluate(data, part, mode, durations)
    metrics = _metrics(frames)
    metrics |= {f"{name}.duration_ms": ms for name, ms in durations.items()}
    metrics["evaluation.duration_ms"] = 1000 * (time.perf_counter() - clock)
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > SMALLEST_NORM)))
    degenerate = [data.query_ids[row] for row in wrong]
    return EvaluatorRun(metrics, frames.get("baseline"), frames["shift"], degenerate, mode)


def _metrics(frames):
    means = {kind: _means(frame) for kind, frame in frames.items()}
    metrics = dict(means["shift"])
    if "baseline" in means:
        for name in NAMES:
            before, after = means["baseline"][name], means["shift"][name]
            missing = before is None or after is None
            metrics[f"{name}.baseline"], metrics[f"{name}.shift"] = before, after
            metrics[f"{name}.delta"] = None if missing else after - before
    return metrics


def _means(frame):
    return {name: float(frame[name].mean()) if frame[name].notna().all() else None for name in NAMES}


def _evaluate(data, vectors, mode, durations):
    """Give queries x evaluators, adding the milliseconds of each to `durations`."""
    finite = np.isfinite(vectors).all(axis=1)
    usable = np.where(finite[:, None], vectors, 0.0)
    scores = _shared_scores(data, usable) if mode == "shared" else data.scores(usable)
    columns = {}
    for name in NAMES:
        clock = time.perf_counter()
        if name == COSINE:
            values = [part.mean() for part in scores]
        elif name == MARGIN:
            values = [_margin(part) for part in scores]
        else:
            values = _ranking(data, usable, scores, mode, _MEASURE[name])
        columns[name] = np.where(finite, values, np.nan)
        durations[name] += 1000 * (time.perf_counter() - clock)
    return pd.DataFrame(columns, index=pd.Index(data.query_ids, name="query_id"))


def _shared_scores(data, vectors):
    return list(np.round(cosines(vectors, data.documents), TIE_DECIMALS))


def _margin(scores):
    """Give best minus second-best cosine; 0 with one reference, as documented."""
    top = np.sort(scores)[::-1]
    return top[0] - top[1] if len(top) > 1 else 0.0


def _ranking(data, vectors, scores, mode, measure):
    if mode == "per-query":
        run, judged = data.run(vectors), data.qrels()
    else:
        # The first reference is the relevant one, and ties keep the references' order.
        judged = {query: {"0": 1} for query in data.query_ids}
        run = {
            query: {str(doc): -float(place) for place, doc in enumerate(order)}
            for query, order in zip(data.query_ids, map(best_first, scores), strict=True)
        }
    return evaluate(judged, run, [measure]).values(measure)
