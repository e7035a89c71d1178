"""The documented run log ("reinforcement learning"), which learns nothing.

It keeps one row per run and reports means and fixed advice. An unlabelled run counts
its own confidence as accuracy, and a fast wrong answer can score above a right one.
"""

import statistics
from dataclasses import dataclass

LEAST_SECONDS = 0.1
WEIGHTS = {"accuracy": 1.0, "evidence_quality": 0.3, "efficiency": 0.2}
RECENT = 5


@dataclass(frozen=True)
class Run:
    """One logged run."""

    run_id: str
    claim: str
    verdict: str | None
    truth: str | None
    accuracy: float
    evidence_quality: float
    efficiency: float
    seconds: float
    labelled: bool


def log_run(result, truth=None):
    """Write one checked claim as a documented run."""
    items = result.evidence
    seconds = result.timings.get("verdict", 0.0)
    accuracy = float(result.verdict == truth) if truth else float(result.confidence or 0.0)
    high = sum(item.level == "high" for item in items)
    return Run(
        result.claim_id,
        result.claim,
        result.verdict,
        truth or None,
        accuracy,
        high / len(items) if items else 0.0,
        1 / max(seconds, LEAST_SECONDS),
        seconds,
        bool(truth),
    )


def performance_score(runs):
    """Give the documented score of a log."""
    scores = [sum(w * getattr(run, name) for name, w in WEIGHTS.items()) for run in runs]
    return sum(scores) / len(scores) if scores else 0.0


def patterns(runs):
    """Give the documented patterns."""
    if len(runs) < 2:
        return {}
    found = {}
    for name in ("accuracy", "evidence_quality", "efficiency"):
        values = [getattr(run, name) for run in runs]
        recent = values[-RECENT:]
        found[name] = {"mean": statistics.fmean(values), "recent": statistics.fmean(recent)}
        if name != "efficiency":
            found[name]["sd"] = statistics.stdev(values)
    seconds = [run.seconds for run in runs]
    found["seconds"] = {"mean": statistics.fmean(seconds), "min": min(seconds), "max": max(seconds)}
    return found


def suggestions(runs):
    """Give the documented advice."""
    found = patterns(runs)
    if not found:
        return []
    accuracy = found["accuracy"]
    rules = {
        "raise_k": accuracy["mean"] < 0.7,
        "raise_credibility": accuracy["mean"] < 0.7,
        "accuracy_good": accuracy["mean"] > 0.85,
        "evidence_weak": found["evidence_quality"]["mean"] < 0.6,
        "slow": found["seconds"]["mean"] > 10,
        "declining": accuracy["recent"] < accuracy["mean"] - 0.1,
    }
    return [name for name, fired in rules.items() if fired] or ["normal"]


def honest_accuracy(runs):
    """Give the accuracy of the labelled runs alone."""
    labelled = [run for run in runs if run.labelled]
    right = sum(run.accuracy == 1.0 for run in labelled)
    return {
        "right": right,
        "labelled": len(labelled),
        "accuracy": right / len(labelled) if labelled else None,
        "unlabelled": len(runs) - len(labelled),
    }
