"""What the figures of the fact-checking chapter draw, row by row."""

import pandas as pd

from casebook.measures import classification as confusion
from casebook.measures.classification import GOLD

SHOWN = ("accuracy", "balanced_accuracy", "mcc", "f1_binary", "f1_macro")
TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
    "f1_binary": "F1 of SUPPORTED",
    "f1_macro": "macro F1",
}


def measure_rows(systems):
    """Turn the table of systems into rows of a figure."""
    systems = systems[systems["system"] != "prior"]
    frames = [
        pd.DataFrame(
            {
                "row": TITLES[measure],
                "series": systems["system"],
                "value": systems[measure],
                "low": systems[f"{measure} low"],
                "high": systems[f"{measure} high"],
            }
        )
        for measure in SHOWN
    ]
    return pd.concat(frames, ignore_index=True)


def confusions(scores, two_class):
    """Give the table of outcomes, and what each off-label policy makes of it."""
    counts = scores.counts
    found = {"all outcomes": counts[counts.sum(axis=1) > 0]}
    for policy in confusion.OFF_LABEL_POLICIES:
        options = two_class.policy | {"off_label": policy}
        table = confusion.collapse(counts.to_numpy(), **options)
        classes = list(GOLD[: len(table)])
        found[policy] = pd.DataFrame(table, classes, [*classes, "no_class"])
    return found


def policy_rows(scores):
    """Give every system's accuracy under each off-label policy, for figure and table."""
    rows = []
    for system, found in scores.items():
        for policy, measures in found.policies.items():
            accuracy = measures["accuracy"]
            rows.append(
                {
                    "row": system,
                    "series": policy,
                    "n": accuracy.n,
                    "value": accuracy.estimate,
                    "low": accuracy.low,
                    "high": accuracy.high,
                    "f1_macro": measures["f1_macro"].estimate,
                }
            )
    return pd.DataFrame(rows).astype({"value": float, "low": float, "high": float})


def slice_rows(study, scores):
    """Give the accuracy of each slice beside its own majority class."""
    merged = {"CONFLICTING": "INSUFFICIENT"}
    gold = study.rows["label"].replace(merged)[study.right(study.main).notna()]
    rows = []
    for name, groups in scores[study.main].groups.items():
        for group, measures in sorted(groups.items()):
            found = measures["accuracy"]
            inside = gold[study.rows[name].astype(str) == group]
            rows.append(
                {
                    "row": f"{name}: {group}",
                    "series": "accuracy",
                    "n": found.n,
                    "value": found.estimate,
                    "low": found.low,
                    "high": found.high,
                    "control": inside.value_counts(normalize=True).max(),
                }
            )
    numbers = ["value", "low", "high", "control"]
    columns = ["row", "series", "n", *numbers]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
    return table[table["n"] > 0].reset_index(drop=True)


def effect_rows(study):
    """Give the ablation's main effects and Shapley shares by rate of planted notes."""
    columns = ["row", "series", "value", "low", "high"]
    if study.ablation is None:
        return pd.DataFrame(), pd.DataFrame(columns=columns)
    effects = study.ablation.effects()
    shown = effects[effects["kind"].isin(["main", "shapley"])]
    rows = pd.DataFrame(
        {
            "row": shown["kind"] + ": " + shown["effect"],
            "series": [f"{rate:.0%} contradicted" for rate in shown["rate"]],
            "value": shown["value"],
            "low": shown["low"].astype(float),
            "high": shown["high"].astype(float),
        }
    )
    return effects, rows
