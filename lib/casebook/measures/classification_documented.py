"""Classification metrics exactly as documented, quirks included."""

import numpy as np

from casebook.measures.verdict_labels import NOT_SUPPORTED, SUPPORTED, factorise, paired_labels
from casebook.stats.samples import check_choice

BEHAVIOURS = ("S", "L")


def documented_metrics(gold, predicted, behaviour="S"):
    """Classification metrics exactly as documented, positive class SUPPORTED."""
    check_choice("behaviour", behaviour, BEHAVIOURS)
    gold, predicted = paired_labels(gold, predicted)
    codes, spellings = factorise(np.concatenate([gold, predicted]))
    roles = [_role(spelling) for spelling in spellings] + [1]
    role = np.array(roles, dtype=np.int64)[codes]
    missing = (codes < 0) | (role == 1)
    same = np.where(missing, -1, codes).reshape(2, -1)
    return _documented(role.reshape(2, -1), (same[0] == same[1]).sum(), behaviour)


def _role(spelling):
    return {SUPPORTED: 0, NOT_SUPPORTED: 1, "": 1}.get(spelling, 2)


def _documented(role, equal, behaviour):
    """Count by role: 0 SUPPORTED, 1 NOT_SUPPORTED, 2 any other string."""
    n = role.shape[1]
    table = np.bincount(role[0] * 3 + role[1], minlength=9).reshape(3, 3)
    if behaviour == "L":
        table = np.array([[table[0, 0], table[0, 1:].sum()], [table[1:, 0].sum(), table[1:, 1:].sum()]])
    tp, fn, fp, tn = (int(x) for x in table[:2, :2].ravel())
    accuracy = int(equal) if behaviour == "L" else tp + tn
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "tp": tp,
        "tn": tn,
        "fp": fp,
        "fn": fn,
        "n": n,
        "accuracy": accuracy / n if n else 0.0,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }
