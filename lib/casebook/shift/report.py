"""What the embedding-shift chapter says: its sentences and tables, computed."""

import numpy as np
import pandas as pd

from casebook.inference.intervals import bounds_text
from casebook.inference.verdicts import count_verdicts
from casebook.shift.learner import DOCUMENTED
from casebook.shift.study import BASELINE, CHANCE, IN_SAMPLE, MEASURE, RANDOM, SHOWN_APART
from casebook.tables import bullets

_SHARED = {
    "group": "share no group and no question text",
    "document": "share no relevant document and no question text",
    "query": "share groups, so that all gains are flattered",
}
_RANDOM = tuple(RANDOM.format(name) for name in SHOWN_APART)
_KINDS = {BASELINE: "no shift"} | dict.fromkeys((CHANCE, *_RANDOM), "control")


def account(study):
    """Say how many queries count, in how many folds, why others do not, and ties."""
    counts = study.data.account()
    folds = study.fits[DOCUMENTED].folds
    sizes = ", ".join(str(len(fold)) for fold in folds)
    text = (
        f"{counts['n_effective']} of {counts['n_total']} queries are effective, in "
        f"{len(folds)} folds of {sizes} that {_SHARED[study.by]}."
    )
    reasons = [f"{n} {reason}" for reason, n in counts["reasons"].items()]
    text += f" Left out: {', '.join(reasons)}." if reasons else ""
    return f"{text} Judged documents tie in {study.data.tied()} queries."


def answer(study, gains):
    """Answer the chapter's question."""
    base = study.scores[MEASURE][BASELINE].mean()
    rows = gains.set_index("system")
    lines = [
        account(study),
        f"On {int(rows['n'].iloc[0])} queries of {study.dataset.name} the unshifted "
        f"embeddings reach {MEASURE} {base:.3f}; chance is "
        f"{study.scores[MEASURE][CHANCE].mean():.3f}.",
    ]
    for name in SHOWN_APART:
        row, fit = rows.loc[name], study.fits[name]
        outcome = row["verdict"] if fit.scales.any() else "every fold chose no shift"
        spread = study.draws[name][MEASURE] - base
        lines.append(
            f"{name}, learned and scaled on other groups: {row['gain']:+z.4f} "
            f"{bounds_text(row['gain low'], row['gain high'], '+z.4f')} over "
            f"{row['groups']} groups, adjusted p {row['p_adjusted']:.2g}: {outcome}. "
            f"Random directions of equal length: {spread.mean():+z.4f} over "
            f"{len(spread)} draws, from {spread.min():+z.4f} to {spread.max():+z.4f}."
        )
    lines.append(count_verdicts(gains["verdict"], "gains of learned shifts"))
    inside = rows.loc[[IN_SAMPLE.format(name) for name in SHOWN_APART], "gain"]
    lines.append(
        "Reported on the queries they were learned from, the two would have claimed "
        f"{inside.iloc[0]:+z.4f} and {inside.iloc[1]:+z.4f}."
    )
    return bullets(lines)


def system_table(study, numbers):
    """Give every system's measures with intervals: systems, controls, bounds."""
    rows = []
    for system, measures in numbers.items():
        kind = "learned" if system in study.fits else _KINDS.get(system, "bound")
        row = {"system": system, "kind": kind, "n": measures[MEASURE]["n"]}
        for name in study.scores:
            row[name] = measures[name]["value"]
            row[f"{name} low"], row[f"{name} high"] = measures[name]["ci"]
        rows.append(row)
    table = pd.DataFrame(rows)
    order = ["no shift", "learned", "control", "bound"]
    return table.sort_values("kind", key=lambda k: k.map(order.index), kind="stable")


def forest_rows(gains, table):
    """Prepare the gains of systems and controls for `casebook.plots.forest`."""
    kinds = table.set_index("system")["kind"]
    rows = gains.assign(**{"tie class": gains["system"].map(kinds)})
    shown = rows["tie class"].isin(["learned", "control"]) & (rows["system"] != CHANCE)
    return rows[shown]


def choices(study):
    """Give what each fold chose for each learner."""
    parts = [fit.choices().assign(system=name) for name, fit in study.fits.items()]
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.rename(columns={"hard_negatives": "hard negatives"})
    columns = ["system", "fold", "held out", "scale", "length"]
    return frame[[*columns, *(c for c in ("hard negatives", "penalty") if c in frame)]]


def learning(study):
    """Give the statistics of the learned vectors, fold by fold."""
    rows = []
    for name, fit in study.fits.items():
        for number, chosen in enumerate(fit.selections, 1):
            stats = getattr(chosen.shift, "stats", None)
            if stats is None:
                continue
            row = {"system": name, "fold": number, "cases": stats.Cases}
            row |= {"pairs": stats.UniquePairs, "opposed": stats.ContradictoryPairs}
            row |= {"length": stats.PreClipDeltaNorm}
            row |= {"clipped to": stats.PostClipDeltaNorm}
            row |= {"resultant length": stats.ResultantLength}
            row |= {"cancelled": chosen.shift.cancel_reason is not None}
            rows.append(row)
    return pd.DataFrame(rows)


def shift_vectors(study, system=DOCUMENTED):
    """Give the vectors that the folds learned, and how well they agree."""
    chosen = study.fits[system].selections
    vectors = np.stack([selection.shift.vector for selection in chosen])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    if len(units) < 2:
        return vectors, None
    pairs = np.triu_indices(len(units), 1)
    return vectors, float((units @ units.T)[pairs].mean())
