"""Tables of the fact-checking chapter, and its numbers."""

import pandas as pd

from casebook.factcheck.verdict_rows import SHOWN
from casebook.factcheck.verdict_study import CLAIM_ONLY
from casebook.measures.classification import OUTCOMES
from casebook.stats.intervals import Interval, bootstrap_mean

PARITY = {"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "f1_binary"}
CONTROLS = ("majority", "prior")


def data_table(study):
    """Describe the claims in a few rows."""
    rows = [("claims", len(study.rows))]
    rows += study.rows["label"].value_counts().items()
    groups = study.rows["group"].nunique()
    rows.append(("groups of claims that belong together", groups))
    rows += study.facts.items()
    rows.append(("systems", ", ".join(study.verdicts)))
    rows += [(f"policy: {name}", value) for name, value in study.policy.items()]
    return pd.DataFrame(rows, columns=["item", "value"])


def systems_table(study, scores):
    """Give every system's measures with intervals, controls last."""
    rows = []
    for name, found in scores.items():
        kind = "control" if name in study.blind else "system"
        rows.append(_line(name, kind, found.measures, found.parse_rate.estimate))
    for name in CONTROLS:
        rows.append(_line(name, "control", scores[study.main].baselines[name], 1.0))
    table = pd.DataFrame(rows)
    return table.sort_values("kind", ascending=False, kind="stable", ignore_index=True)


def _line(name, kind, measures, parsed):
    row = {"system": name, "kind": kind, "n": measures["accuracy"].n}
    row["parse rate"] = parsed
    for measure in SHOWN:
        found = measures[measure]
        row[measure] = found.estimate
        row[f"{measure} low"], row[f"{measure} high"] = found.low, found.high
    bounds = {k: float("nan") if v is None else v for k, v in row.items()}
    return bounds


def evidence_table(study, *, n_boot=1000, seed=0):
    """Set accuracy beside whether the deciding evidence was found."""
    if study.found is None:
        return pd.DataFrame(columns=["evidence", "n", "share", "accuracy"])
    right = study.right(study.main).to_numpy()
    frame = pd.DataFrame({"found": study.found, "right": right})
    frame["group"] = study.rows["group"].tolist()
    frame = frame[frame["found"].notna() & frame["right"].notna()]
    rows = []
    for name, value in (("found", True), ("not found", False)):
        part = frame[frame["found"] == value]
        if len(part):
            right = part["right"].astype(float).to_numpy()
            found = bootstrap_mean(right, clusters=part["group"], n_boot=n_boot, seed=seed)
            rows.append(
                {
                    "evidence": name,
                    "n": found.n,
                    "share": len(part) / len(frame),
                    "accuracy": found.estimate,
                    "accuracy low": found.low,
                    "accuracy high": found.high,
                }
            )
    return pd.DataFrame(rows)


def calibration_table(found):
    """Give the calibration measures with intervals and controls."""
    rows = [
        {
            "measure": name,
            "value": interval.estimate,
            "value low": interval.low,
            "value high": interval.high,
            "control": found.controls.get(name),
            "n": interval.n,
            "reason": interval.reason or "",
        }
        for name, interval in found.measures.items()
    ]
    numbers = dict.fromkeys(["value", "value low", "value high", "control"], float)
    return pd.DataFrame(rows).astype(numbers)


def reported_table(study):
    """Set the documented impacts, inputs of a simulator, beside what was measured."""
    return pd.DataFrame() if study.ablation is None else study.ablation.reported()


def parity_table(scores):
    """Put each documented metric beside the standard one."""
    rows = []
    for key, name in PARITY.items():
        found = scores[name]
        rows.append(
            {
                "documented": key,
                "S": scores.parity["S"][key],
                "L": scores.parity["L"][key],
                "standard": name,
                "value": found.estimate,
                "value low": found.low,
                "value high": found.high,
                "n": found.n,
                "majority": scores.baselines["majority"][name].estimate,
            }
        )
    numbers = ["value", "value low", "value high", "majority"]
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))


def outcome_table(scores):
    """Count the outcomes of every system."""
    rows = [{"system": name, "n": found.n} | found.counts.sum().to_dict() for name, found in scores.items()]
    return pd.DataFrame(rows, columns=["system", "n", *OUTCOMES])


def verdict_numbers(study, scores, calibrated, moved=None):
    """Give every measure for ``numbers.json``."""
    found = {name: score.numbers() for name, score in scores.items()}
    if calibrated is not None:
        system = next(iter(study.confidence))
        for name, interval in calibrated.measures.items():
            found[system][name] = interval.number(calibrated.controls.get(name))
    numbers = {study.name: found}
    if moved is None or moved.table.empty:
        return numbers
    names = {"accuracy": "accuracy", "macro F1": "f1_macro", "AUROC": "auroc"}
    for key, rows in moved.table.groupby("dataset", sort=False):
        rows = rows.set_index("system")
        baselines = rows.index.intersection(["majority", CLAIM_ONLY])
        for system in rows.index.difference(baselines, sort=False):
            row = rows.loc[system]
            numbers.setdefault(key, {})[system] = {
                name: Interval(
                    row[title],
                    *(_known(row[f"{title} {end}"]) for end in ("low", "high")),
                    0.95,
                    int(row["n"]),
                    "transfer",
                ).number(rows.loc[baselines, title].max())
                for title, name in names.items()
            }
    return numbers


def _known(bound):
    return None if bound != bound else float(bound)
