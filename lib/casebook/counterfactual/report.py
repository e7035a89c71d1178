"""What the sensitivity chapter says: its tables and sentences, all computed."""

import pandas as pd

from casebook.counterfactual.annotations import type_scores
from casebook.counterfactual.edges import OK, PARITY, PRIMARY
from casebook.counterfactual.evaluation import THRESHOLD, development_threshold, evaluate, placebo_threshold
from casebook.inference.clustered_shares import clustered_wilson
from casebook.inference.intervals import bounds_text, estimate_text
from casebook.measures.rank_agreement import cases_needed
from casebook.tables import bullets

TYPE_ALONE = "type alone"
_NOT_TOLD = "Whether the excess tells facts that decide from others is undefined"


def answer(study, system):
    """Answer the chapter's question in a few lines."""
    placebos = study.placebos[system]
    frame = study.sensitivity(system)
    lines = []
    for row in frame.sort_values("excess", ascending=False).to_dict("records"):
        if row["excess"] != row["excess"]:
            lines.append(f"{row['fact type']}: excess undefined, {row['reason']}")
            continue
        bounds = bounds_text(row["excess low"], row["excess high"], "+z.3f")
        lines.append(
            f"{row['fact type']}: one edit moves the results of {system} by "
            f"{row['excess']:+z.3f} {bounds} normalised footrule "
            f"{'beyond' if row['excess'] >= 0 else 'against'} a placebo of its size, "
            f"which moves them by {row['placebo']:.3f} ({row['edges']} edits in "
            f"{row['cases']} cases)"
        )
    valid = placebos[placebos["status"] == OK]
    if len(valid):
        above = (valid[PARITY] > THRESHOLD).groupby(valid["case_id"])
        share = clustered_wilson(above.sum().to_numpy(), above.size().to_numpy())
        lines.append(
            f"{share.estimate:.3f} {bounds_text(share.low, share.high)} of "
            f"{len(valid)} placebos, which change no fact, exceed the documented "
            f"threshold of {THRESHOLD}"
        )
    if len(study.annotations):
        found = study.evaluated(system)["auroc"]
        if found["value"] is None:
            return bullets([f"{line}." for line in [*lines, _NOT_TOLD]])
        lines.append(
            f"The excess tells facts that decide from others with AUROC "
            f"{estimate_text(found)} over {found['n']} pairs of case and fact type "
            "(knowing nothing: 0.5)"
        )
    return bullets([f"{line}." for line in lines])


def type_table(study, measure=PRIMARY):
    """Give sensitivity, placebo and excess of every fact type under every system."""
    parts = []
    for system in study.systems:
        frame = study.sensitivity(system, measure)
        frame.insert(0, "system", system)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def retriever_table(study):
    """Compare systems by how well their sensitivities find the annotated facts."""
    if not len(study.annotations):
        return pd.DataFrame(columns=["system", "pairs", "AUROC of excess"])
    rows = [_retriever(study, system) for system in study.systems]
    return pd.DataFrame([*rows, _type_alone(study)])


def needed_table(true=(0.6, 0.8), n_items=(3, 4)):
    """Say how many cases a rank correlation with experts takes."""
    rows = [
        {
            "types ranked": items,
            "expected correlation": rho,
            "cases to show more than 0": cases_needed(rho, n_items=items),
            "cases to show more than 0.6": cases_needed(rho, 0.6, n_items=items) if rho > 0.6 else None,
        }
        for items in n_items
        for rho in true
    ]
    return pd.DataFrame(rows)


def _retriever(study, system):
    scores = study.scores(system)
    found = study.evaluated(system)
    raw = study.evaluated(system, over_placebo=False)
    halves = list(scores.index[::2]), list(scores.index[1::2])
    limit = development_threshold(scores.loc[halves[0]], study.annotations_of(halves[0]))
    held = evaluate(scores.loc[halves[1]], study.annotations_of(halves[1]), limit, **study.options)
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


def _type_alone(study):
    """Score the control on the pairs that the first system assessed."""
    scores = type_scores(study.scores(study.systems[0]), study.annotations)
    found = evaluate(scores, study.annotations, **study.options)
    return {
        "system": TYPE_ALONE,
        "pairs": found["auroc"]["n"],
        **_spread("AUROC of excess", found["auroc"]),
        **_spread("mean Spearman", found["spearman"]),
        "exact p": found["spearman"]["p"],
        "cases ranked": found["spearman"]["n"],
    }


def _spread(name, number):
    number = number or {"value": None, "ci": [None, None]}
    value, bounds = number["value"], number["ci"]
    names = (name, f"{name} low", f"{name} high")
    values = (value, *bounds)
    return {n: float("nan") if v is None else v for n, v in zip(names, values, strict=True)}
