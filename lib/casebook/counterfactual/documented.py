"""What the documents would report of a study, and what their limits are worth."""

import numpy as np
import pandas as pd

from casebook.counterfactual.edges import OK, PARITY
from casebook.counterfactual.evaluation import THRESHOLD, documented_evaluation, sweep
from casebook.counterfactual.sensitivity import documented_scores
from casebook.stats.intervals import bootstrap_mean, bounded

THRESHOLDS = tuple(np.arange(0, 6.6, 0.25))
_KINDS = {
    ("Section", "replace"): "section exchanged",
    ("Evidence", "remove"): "evidence removed",
    ("Evidence", "add"): "evidence added",
    ("PartyType", "replace"): "party exchanged",
    ("Numerical", "replace"): "number changed",
}


def parity_table(study):
    """Put the documented evaluation beside what it is worth."""
    rows = []
    for system in study.systems:
        scores = documented_scores(study.edges[system])
        rows.append({"system": system} | _parity(study, scores, 1))
    rows.append({"system": "no retrieval"} | _parity(study, 0 * scores, 1))
    return pd.DataFrame(rows)


def kind_table(study, system):
    """Say how far each kind of edit moves the results, placebos among them."""
    edges, placebos = study.edges[system], study.placebos[system]
    used = edges[edges["status"] == OK]
    kinds = pd.Series(
        [_KINDS[key] for key in zip(used["fact_type"], used["operation"], strict=True)], index=used.index, dtype=object
    )
    parts = [(name, used[kinds == name]) for name in _KINDS.values()]
    parts.append(("placebo", placebos[placebos["status"] == OK]))
    rows = [_kind(name, part, study.options) for name, part in parts]
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(frame.columns[3:], float))


def displacement_bands(study, system):
    """Count edits in the documented bands, beside placebos."""
    bands = [
        ("above 3.0", "substantial", lambda d: d > 3),
        ("1.5 to 3.0", "moderate", lambda d: (d >= 1.5) & (d <= 3)),
        ("1.0 to 1.5", "not named", lambda d: (d >= 1) & (d < 1.5)),
        ("below 1.0", "minimal", lambda d: d < 1),
    ]
    edges, placebos = study.edges[system], study.placebos[system]
    real = edges[edges["status"] == OK][PARITY]
    inert = placebos[placebos["status"] == OK][PARITY]
    rows = [
        {
            "mean displacement": band,
            "documented as": name,
            "share of edits": within(real).mean(),
            "n edits": len(real),
            "share of placebos": within(inert).mean(),
            "n placebos": len(inert),
        }
        for band, name, within in bands
    ]
    return pd.DataFrame(rows)


def threshold_sweep(study, system, thresholds=THRESHOLDS):
    """Score the documented accuracies at many thresholds."""
    if not len(study.annotations):
        return pd.DataFrame(columns=["threshold", "measure", "value", "low", "high"])
    scores = study.scores(system, PARITY, over_placebo=False)
    return sweep(scores, study.annotations, thresholds, **study.options)


def _parity(study, scores, edges):
    if not len(study.annotations):
        return {}
    return documented_evaluation(scores, study.annotations, edges=edges)


def _kind(name, part, options):
    found = bootstrap_mean(part[PARITY].to_numpy(float), clusters=part["case_id"].tolist(), **options)
    return {
        "kind": name,
        "n": len(part),
        "cases": part["case_id"].nunique(),
        **bounded("mean displacement", found),
        "share above 1.0": (part[PARITY] > 1.0).mean() if len(part) else None,
        "share above 1.5": (part[PARITY] > THRESHOLD).mean() if len(part) else None,
    }
