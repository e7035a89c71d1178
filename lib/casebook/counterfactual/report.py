"""What the sensitivity chapter says: its tables and sentences, all computed."""

import numpy as np
import pandas as pd

from casebook.counterfactual.edges import OK, PARITY, PRIMARY
from casebook.counterfactual.evaluation import (
    THRESHOLD,
    development_threshold,
    documented_evaluation,
    evaluate,
    placebo_threshold,
    sweep,
)
from casebook.counterfactual.sensitivity import documented_scores, sensitivity
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import bounded, bounds_text
from casebook.measures.rank_agreement import cases_needed
from casebook.retrieval.report import bullets

THRESHOLDS = tuple(np.arange(0, 6.6, 0.25))
_KINDS = {
    ("Section", "replace"): "section exchanged",
    ("Evidence", "remove"): "evidence removed",
    ("Evidence", "add"): "evidence added",
    ("PartyType", "replace"): "party exchanged",
    ("Numerical", "replace"): "number changed",
}


def answer(study, system):
    """Answer the chapter's question in a few lines.

    Parameters
    ----------
    study : SensitivityStudy
        The study.
    system : str
        System to speak about.

    Returns
    -------
    str
        Markdown.
    """
    edges, placebos = study.edges[system], study.placebos[system]
    frame = sensitivity(edges, PRIMARY, seed=study.seed).dropna(subset="excess")
    lines = []
    for row in frame.sort_values("excess", ascending=False).to_dict("records"):
        bounds = bounds_text(row["excess low"], row["excess high"], "+.3f")
        lines.append(
            f"{row['fact type']}: one edit moves the results of {system} by "
            f"{row['excess']:+.3f} {bounds} normalised footrule beyond a placebo of "
            f"its size ({row['edges']} edits in {row['cases']} cases)"
        )
    valid = placebos[placebos["status"] == OK][PARITY]
    lines.append(
        f"{(valid > THRESHOLD).mean():.0%} of {len(valid)} placebos, which change no "
        f"fact, exceed the documented threshold of {THRESHOLD}"
    )
    if len(study.annotations):
        found = study.evaluated(system)["auroc"]
        lines.append(
            f"The excess tells facts that decide from others with AUROC "
            f"{_value(found)} over {found['n']} pairs of case and fact type "
            "(knowing nothing: 0.5)"
        )
    return bullets([f"{line}." for line in lines])


def type_table(study, measure=PRIMARY, **options):
    """Give sensitivity, placebo and excess of every fact type under every system.

    Parameters
    ----------
    study : SensitivityStudy
        The study.
    measure : str
        One of `casebook.counterfactual.edges.MEASURES`.
    **options
        Passed to `casebook.counterfactual.sensitivity.sensitivity`.

    Returns
    -------
    pandas.DataFrame
        Column system, then those of `sensitivity`.
    """
    parts = []
    for system in study.systems:
        frame = sensitivity(study.edges[system], measure, **options)
        frame.insert(0, "system", system)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def retriever_table(study):
    """Compare systems by how well their sensitivities find the annotated facts.

    Parameters
    ----------
    study : SensitivityStudy
        The study.

    Returns
    -------
    pandas.DataFrame
        Per system: AUROC of the excess and of the uncorrected footrule, balanced
        accuracy and Matthews correlation on the second half of the cases with the
        threshold of the first, the same with the 95 % quantile of the placebos, mean
        Spearman correlation with its exact p. Empty without annotations.
    """
    if not len(study.annotations):
        return pd.DataFrame(columns=["system", "pairs", "AUROC of excess"])
    return pd.DataFrame([_retriever(study, system) for system in study.systems])


def parity_table(study):
    """Put the documented evaluation beside what it is worth.

    Parameters
    ----------
    study : SensitivityStudy
        The study.

    Returns
    -------
    pandas.DataFrame
        Per system, and for no retrieval at all: documented dispositive and
        non-dispositive accuracy at 1.5, mean rank correlation and accept rate.
    """
    rows = []
    for system in study.systems:
        scores = documented_scores(study.edges[system])
        rows.append({"system": system} | _parity(study, scores, 1))
    rows.append({"system": "no retrieval"} | _parity(study, 0 * scores, 1))
    return pd.DataFrame(rows)


def kind_table(study, system, **options):
    """Say how far each kind of edit moves the results, placebos among them.

    Parameters
    ----------
    study : SensitivityStudy
        The study.
    system : str
        The system.
    **options
        ``n_boot`` and ``seed``.

    Returns
    -------
    pandas.DataFrame
        Columns kind, n, cases, mean displacement with bounds by case, and the shares
        above the documented thresholds 1.0 and 1.5.
    """
    edges, placebos = study.edges[system], study.placebos[system]
    used = edges[edges["status"] == OK]
    kinds = pd.Series(
        [_KINDS[key] for key in zip(used["fact_type"], used["operation"], strict=True)],
        index=used.index,
        dtype=object,
    )
    parts = [(name, used[kinds == name]) for name in _KINDS.values()]
    parts.append(("placebo", placebos[placebos["status"] == OK]))
    rows = [_kind(name, part, options) for name, part in parts]
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(frame.columns[3:], float))


def displacement_bands(study, system):
    """Count edits in the documented bands, beside placebos.

    Parameters
    ----------
    study : SensitivityStudy
        The study.
    system : str
        The system.

    Returns
    -------
    pandas.DataFrame
        Columns band, edits and placebos (shares), and what the band is called.
    """
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
    """Score the documented accuracies at many thresholds; see `evaluation.sweep`.

    Without annotations the frame is empty.
    """
    if not len(study.annotations):
        return pd.DataFrame(columns=["threshold", "measure", "value", "low", "high"])
    scores = study.scores(system, PARITY, over_placebo=False)
    return sweep(scores, study.annotations, thresholds, seed=study.seed)


def needed_table(true=(0.6, 0.8), n_items=(3, 4)):
    """Say how many cases a rank correlation with experts takes.

    Parameters
    ----------
    true : sequence of float
        Expected correlation of a case.
    n_items : sequence of int
        Fact types ranked in a case.

    Returns
    -------
    pandas.DataFrame
        Cases with which the exact one-sided test at 5 % has power 0.8: to show that
        the correlation exceeds 0, and that it exceeds 0.6.
    """
    rows = [
        {
            "types ranked": items,
            "expected correlation": rho,
            "cases to show more than 0": cases_needed(rho, n_items=items),
            "cases to show more than 0.6": cases_needed(rho, 0.6, n_items=items)
            if rho > 0.6
            else None,
        }
        for items in n_items
        for rho in true
    ]
    return pd.DataFrame(rows)


def _retriever(study, system):
    scores = study.scores(system)
    found = evaluate(scores, study.annotations, seed=study.seed)
    raw = study.evaluated(system, over_placebo=False)
    halves = list(scores.index[::2]), list(scores.index[1::2])
    limit = development_threshold(
        scores.loc[halves[0]], study.annotations_of(halves[0])
    )
    held = evaluate(
        scores.loc[halves[1]],
        study.annotations_of(halves[1]),
        limit,
        seed=study.seed,
    )
    quantile = placebo_threshold(study.placebos[system], PRIMARY)
    limited = study.evaluated(system, over_placebo=False, threshold=quantile)
    rho = found["spearman"]
    return {
        "system": system,
        "pairs": found["auroc"]["n"],
        **_spread("AUROC of excess", found["auroc"]),
        **_spread("AUROC uncorrected", raw["auroc"]),
        **_spread("balanced accuracy, held out", held.get("balanced_accuracy")),
        **_spread("MCC, held out", held.get("mcc")),
        **_spread("balanced accuracy, placebo limit", limited.get("balanced_accuracy")),
        **_spread("mean Spearman", rho),
        "exact p": rho["p"],
        "cases ranked": rho["n"],
    }


def _spread(name, number):
    number = number or {"value": None, "ci": [None, None]}
    value, bounds = number["value"], number["ci"]
    names = (name, f"{name} low", f"{name} high")
    values = (value, *bounds)
    return {
        n: float("nan") if v is None else v for n, v in zip(names, values, strict=True)
    }


def _parity(study, scores, edges):
    if not len(study.annotations):
        return {}
    return documented_evaluation(scores, study.annotations, edges=edges)


def _kind(name, part, options):
    found = bootstrap_mean(
        part[PARITY].to_numpy(float), clusters=part["case_id"].tolist(), **options
    )
    return {
        "kind": name,
        "n": len(part),
        "cases": part["case_id"].nunique(),
        **bounded("mean displacement", found),
        "share above 1.0": (part[PARITY] > 1.0).mean() if len(part) else None,
        "share above 1.5": (part[PARITY] > THRESHOLD).mean() if len(part) else None,
    }


def _value(number):
    return f"{number['value']:.3f} {bounds_text(*number['ci'])}"
