"""Sensitivities against annotations: which facts decide, and which matter most."""

from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.counterfactual.annotations import score_pairs
from casebook.measures.classification import auroc, formulas
from casebook.measures.rankshift import mean_spearman_test
from casebook.stats.intervals import bootstrap_mean, percentile_interval, resample_tables, too_few, unit_counts
from casebook.stats.samples import number_or_none

THRESHOLD = 1.5  # documented, of the mean rank displacement
LEAST_COMMON = 3  # fact types that a documented rank correlation needs
MEASURES = ("balanced_accuracy", "mcc", "recall", "recall_not_supported")
_NAMES = {"recall": "dispositive", "recall_not_supported": "non_dispositive"}


def documented_evaluation(scores, annotations, threshold=THRESHOLD, edges=0):
    """Score as documented, conventions included."""
    shares = {True: [], False: []}
    for case in scores.index:
        own = annotations[annotations["case_id"] == case]
        for side, found in shares.items():
            types = own.loc[own["dispositive"] == side, "fact_type"]
            high = scores.loc[case, list(types)] > threshold
            correct = int((high == side).sum())
            found.append(correct / max(len(types), 1))
    rhos = [_documented_spearman(scores.loc[c], annotations, c) for c in scores.index]
    rhos = [rho for rho in rhos if rho is not None]
    return {
        "dispositive_accuracy": round(float(np.mean(shares[True])), 4),
        "non_dispositive_accuracy": round(float(np.mean(shares[False])), 4),
        "mean_spearman": round(float(np.mean(rhos)), 4) if rhos else None,
        "llm_accept_rate": 1.0 if edges else 0.0,
    }


def evaluate(scores, annotations, threshold=None, *, n_boot=10_000, seed=0):
    """Score sensitivities against annotations over pairs of case and fact type.

    Parameters
    ----------
    scores : pandas.DataFrame
        Cases x fact types, NaN where a type was not assessed.
    annotations : pandas.DataFrame
        From `casebook.counterfactual.annotations.annotation_frame`.
    threshold : float, optional
        A score above it counts as high; without one only what needs none is computed.
    n_boot, seed : int
        Bootstrap of cases.

    Returns
    -------
    dict of dict
        ``auroc``, ``balanced_accuracy``, ``mcc``, ``dispositive`` and
        ``non_dispositive`` (shares called correctly, pooled over pairs), each with
        value, ci (by case), n (pairs), control (of a scorer that knows nothing) and
        reason; ``spearman`` likewise, with ``p`` from the exact null and the number of
        ``undefined`` cases; n then counts cases.
    """
    pairs = score_pairs(scores, annotations)
    decided = pairs.dropna(subset=["score", "dispositive"])
    truth = decided["dispositive"].astype(bool).to_numpy()
    values = decided["score"].to_numpy(float)
    cases = decided["case_id"].tolist()
    area = auroc(truth, values, clusters=cases)
    found = {"auroc": area.number(0.5)}
    if threshold is not None:
        found |= _decisions(truth, values > threshold, cases, n_boot, seed)
    return found | {"spearman": _spearman(pairs, n_boot, seed)}


def sweep(scores, annotations, thresholds, *, n_boot=10_000, seed=0):
    """Score at each threshold: a description, nothing is chosen by it."""
    rows = []
    for threshold in thresholds:
        found = evaluate(scores, annotations, threshold, n_boot=n_boot, seed=seed)
        for name in ("dispositive", "non_dispositive", "balanced_accuracy"):
            number = found[name]
            rows.append((threshold, name, number["value"], *number["ci"]))
    columns = ["threshold", "measure", "value", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def development_threshold(scores, annotations):
    """Choose the threshold of the largest balanced accuracy on a development split."""
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    truth = pairs["dispositive"].astype(bool).to_numpy()
    levels = np.unique(pairs["score"].to_numpy(float))
    if len(levels) < 2 or truth.all() or not truth.any():
        return None
    middles = (levels[1:] + levels[:-1]) / 2
    high = pairs["score"].to_numpy(float) > middles[:, None]
    tables = np.stack([_table(truth, row) for row in high])
    return float(middles[int(np.argmax(formulas(tables)["balanced_accuracy"]))])


def placebo_threshold(placebos, measure, quantile=0.95):
    """Take a quantile of what placebos alone move as threshold."""
    valid = placebos[placebos["status"] == "ok"]
    means = valid.groupby("case_id")[measure].mean().dropna()
    return float(means.quantile(quantile)) if len(means) else None


def _documented_spearman(scores, annotations, case):
    own = annotations[annotations["case_id"] == case].dropna(subset="importance")
    expert = dict(zip(own["fact_type"], own["importance"], strict=True))
    common = sorted(set(expert) & set(scores.index))
    n = len(common)
    if n < LEAST_COMMON:
        return None
    by_score = sorted(common, key=lambda name: -scores[name])
    squares = sum((by_score.index(name) + 1 - expert[name]) ** 2 for name in common)
    return 1 - 6 * squares / (n * (n * n - 1))


def _table(truth, high):
    """Count decisions: two classes by the two decisions and none without one."""
    cells = np.bincount(3 * (~truth).astype(int) + (~high).astype(int), minlength=6)
    return cells.reshape(2, 3)


def _decisions(truth, high, cases, n_boot, seed):
    """Measures of one threshold with intervals that resample cases."""
    cells = 3 * (~truth).astype(int) + (~high).astype(int)
    units = unit_counts(cells, 6, cases)
    draws = formulas(resample_tables(units, n_boot=n_boot, seed=seed).reshape(-1, 2, 3))
    values, few = formulas(_table(truth, high)), too_few(units.n_units, cases)
    control = {"balanced_accuracy": 0.5, "mcc": 0.0}
    found = {}
    for name in MEASURES:
        reason = None if len(truth) else "no_units"
        interval = percentile_interval(
            number_or_none(float(values[name])),
            draws[name],
            len(truth),
            reason=reason or "class_without_gold_or_prediction",
        )
        if few and interval.estimate is not None:
            interval = replace(interval, reason=few)
        found[_NAMES.get(name, name)] = interval.number(control.get(name))
    return found


def _spearman(pairs, n_boot, seed):
    """Mean rank correlation with the annotated importance, exact test over cases."""
    ranked = pairs.dropna(subset=["score", "importance"])
    sides = [
        # A high score belongs to a low rank number.
        (part["score"].to_numpy(float), -part["importance"].to_numpy(float))
        for _, part in ranked.groupby("case_id")
        if len(part) >= LEAST_COMMON
    ]
    found = mean_spearman_test(sides)
    known = np.array([v for v in found["values"] if v is not None])
    interval = bootstrap_mean(known, n_boot=n_boot, seed=seed)
    number = interval.number(0.0)
    return number | {"p": found["p"], "undefined": found["undefined"]}
