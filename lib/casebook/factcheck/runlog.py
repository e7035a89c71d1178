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
    """One logged run.

    Attributes
    ----------
    run_id, claim, verdict, truth : str or None
        What was checked, what came out, and the label if there is one.
    accuracy : float
        1 or 0 against a label; without one the confidence, as documented.
    evidence_quality : float
        Share of items of high credibility, 0 without items.
    efficiency : float
        ``1 / max(seconds, 0.1)``, up to 10.
    seconds : float
        Of the verdict stage.
    labelled : bool
        Whether accuracy is one.
    """

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
    """Write one checked claim as a documented run.

    Parameters
    ----------
    result : VerdictResult
        Checked claim.
    truth : str, optional
        Its label; an empty one counts as none.

    Returns
    -------
    Run
        The row.
    """
    items = result.evidence
    seconds = result.timings.get("verdict", 0.0)
    if truth:
        accuracy = float(result.verdict == truth)
    else:
        accuracy = float(result.confidence or 0.0)
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
    """Give the documented score of a log.

    Parameters
    ----------
    runs : sequence of Run
        The log.

    Returns
    -------
    float
        Mean of ``accuracy + 0.3 evidence_quality + 0.2 efficiency``, in [0, 3.3]; a
        wrong answer of 0.05 s scores at least 2, a right one of 1 s at most 1.5. 0
        for an empty log.
    """
    scores = [
        sum(w * getattr(run, name) for name, w in WEIGHTS.items()) for run in runs
    ]
    return sum(scores) / len(scores) if scores else 0.0


def patterns(runs):
    """Give the documented patterns.

    Parameters
    ----------
    runs : sequence of Run
        The log, oldest first.

    Returns
    -------
    dict
        Empty below two runs. ``accuracy`` and ``evidence_quality``: mean, sample
        standard deviation, mean of the last five; ``efficiency``: mean and last five;
        ``seconds``: mean, min, max. Labelled and unlabelled runs are mixed, as
        documented; see `honest_accuracy`.
    """
    if len(runs) < 2:
        return {}
    found = {}
    for name in ("accuracy", "evidence_quality", "efficiency"):
        values = [getattr(run, name) for run in runs]
        recent = values[-RECENT:]
        found[name] = {
            "mean": statistics.fmean(values),
            "recent": statistics.fmean(recent),
        }
        if name != "efficiency":
            found[name]["sd"] = statistics.stdev(values)
    seconds = [run.seconds for run in runs]
    found["seconds"] = {
        "mean": statistics.fmean(seconds),
        "min": min(seconds),
        "max": max(seconds),
    }
    return found


def suggestions(runs):
    """Give the documented advice.

    Parameters
    ----------
    runs : sequence of Run
        The log.

    Returns
    -------
    list of str
        Names of the rules that fired: ``raise_k`` and ``raise_credibility`` (accuracy
        below 0.7), ``accuracy_good`` (above 0.85), ``evidence_weak`` (quality below
        0.6), ``slow`` (above 10 s), ``declining`` (last five more than 0.1 below the
        mean), or ``normal``. Empty below two runs.
    """
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
    """Give the accuracy of the labelled runs alone.

    Parameters
    ----------
    runs : sequence of Run
        The log.

    Returns
    -------
    dict
        ``right`` of ``labelled``, ``accuracy`` (None without a labelled run), and
        ``unlabelled``, the runs that say nothing about accuracy.
    """
    labelled = [run for run in runs if run.labelled]
    right = sum(run.accuracy == 1.0 for run in labelled)
    return {
        "right": right,
        "labelled": len(labelled),
        "accuracy": right / len(labelled) if labelled else None,
        "unlabelled": len(runs) - len(labelled),
    }
