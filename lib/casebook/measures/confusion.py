"""Verdicts as a table of counts, policies that collapse it, and formulas on it.

The table keeps every outcome apart: four gold labels by six predicted outcomes. All
measures are functions of it, so that a million predictions cost one count and every
bootstrap resample is one draw of 24 numbers.
"""

import numpy as np

from casebook.measures.verdict_labels import GOLD, OUTCOMES
from casebook.stats.samples import check_choice

CELLS = len(GOLD) * len(OUTCOMES)
OFF_LABEL_POLICIES = ("wrong", "drop", "negative")
CLASS_POLICIES = ("exclude", "negative", "three_class")

REASONS = {
    "accuracy": "no_units",
    "balanced_accuracy": "class_without_gold",
    "mcc": "no_variation",
    "precision": "no_supported_predictions",
    "recall": "no_supported_gold",
    "f1_binary": "no_supported_gold_or_predictions",
    "precision_not_supported": "no_not_supported_predictions",
    "recall_not_supported": "no_not_supported_gold",
    "f1_not_supported": "no_not_supported_gold_or_predictions",
    "f1_insufficient": "no_insufficient_gold_or_predictions",
    "f1_macro": "class_without_gold",
}


def collapse(table, *, off_label="wrong", nei="exclude", conflict="exclude"):
    """Collapse tables of outcomes to classes under explicit policies."""
    check_policies(off_label, nei, conflict)
    k = 2 + ("three_class" in (nei, conflict))
    place = {"exclude": None, "negative": 1, "three_class": 2}
    classes = [0, 1, place[nei], place[conflict]]
    rows, columns = np.zeros((k, 4), dtype=np.int64), np.zeros((6, k + 1), np.int64)
    for code, target in enumerate(classes):
        if target is not None:
            rows[target, code] = 1
    for code, target in enumerate([*classes, None, None]):
        if target is not None:
            columns[code, target] = 1
        elif off_label != "drop":
            columns[code, 1 if off_label == "negative" else k] = 1
    return rows @ np.asarray(table) @ columns


def check_policies(off_label, nei, conflict):
    """Raise InputError unless the three policies are known ones."""
    for name, value, allowed in (
        ("off_label", off_label, OFF_LABEL_POLICIES),
        ("nei", nei, CLASS_POLICIES),
        ("conflict", conflict, CLASS_POLICIES),
    ):
        check_choice(f"{name} policy", value, allowed)


def formulas(table):
    """Compute every measure on one or many collapsed tables."""
    T = np.asarray(table, dtype=float)
    k = T.shape[-2]
    n, gold, columns = T.sum((-1, -2)), T.sum(-1), T.sum(-2)
    hit, predicted = np.diagonal(T[..., :k], axis1=-2, axis2=-1), columns[..., :k]
    recall, precision = _ratio(hit, gold), _ratio(hit, predicted)
    f1 = _ratio(2 * hit, gold + predicted)
    spread = (n**2 - (columns**2).sum(-1)) * (n**2 - (gold**2).sum(-1))
    covariance = hit.sum(-1) * n - (predicted * gold).sum(-1)
    all_classes = np.where((gold > 0).all(-1), 1.0, np.nan)
    found = {
        "accuracy": _ratio(hit.sum(-1), n),
        "balanced_accuracy": recall.mean(-1),
        "mcc": _ratio(covariance, np.sqrt(np.maximum(spread, 0))),
        "precision": precision[..., 0],
        "recall": recall[..., 0],
        "f1_binary": f1[..., 0],
        "precision_not_supported": precision[..., 1],
        "recall_not_supported": recall[..., 1],
        "f1_not_supported": f1[..., 1],
    }
    if k == 3:
        found["f1_insufficient"] = f1[..., 2]
    return found | {"f1_macro": f1.mean(-1) * all_classes}


def _ratio(above, below):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


def at_prevalence(sensitivity, specificity, prevalence):
    """Precision and F1 of SUPPORTED that the same system would have elsewhere."""
    share = np.asarray(prevalence, dtype=float)
    hit, false = sensitivity * share, (1 - specificity) * (1 - share)
    return {
        "precision": _ratio(hit, hit + false),
        "f1_binary": _ratio(2 * hit, hit + false + share),
        "accuracy": hit + specificity * (1 - share),
    }
