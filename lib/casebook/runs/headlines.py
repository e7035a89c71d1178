"""The one number of each experiment that answers its question."""

import json
from pathlib import Path

import pandas as pd

from casebook.runs.outputs import read_numbers

HEADLINES = {
    "audits": ("labels", "flagged"),
    "retrieval_ablation": ("full", "nDCG@10"),
    "embedding_shift": ("posneg-uniform", "nDCG@10"),
    "counterfactual_sensitivity": ("bm25", "auroc"),
    "explanation_quality": ("corrected", "AUROC"),
    "rater_agreement": ("panel", "win rate, ties as half, this panel"),
    "factcheck_confusion": ("pipeline", "f1_macro"),
    "query_length": ("full, short", "nDCG@10"),
}
"""Experiment to system and measure. A new experiment is added here."""


def headlines(run, cell):
    """Give the numbers that answer the question of one cell."""
    yield from answers(read_numbers(run, cell))


def answers(numbers, chosen=None):
    """Pick the headline numbers out of what a cell reported."""
    chosen = HEADLINES if chosen is None else chosen
    for experiment, datasets in numbers.items():
        system, measure = chosen.get(experiment, (None, None))
        for dataset, systems in datasets.items():
            if measure in systems.get(system, {}):
                yield experiment, dataset, system, measure, systems[system][measure]


def headline_history(scores, headlines):
    """Give the headline scores of all runs, oldest first."""
    wanted = {(experiment, system) for experiment, (system, _) in headlines.items()}
    pairs = zip(scores["experiment"], scores["system"], strict=True)
    part = scores[[pair in wanted for pair in pairs]].sort_values("completed")
    part = part.assign(series=part["experiment"] + ": " + part["dataset"])
    part["number"] = part.groupby("series").cumcount() + 1
    return part[["series", "number", "value"]].reset_index(drop=True)


def headline_table(path, headlines):
    """Give the headline number of every experiment with interval, n and control."""
    rows = []
    for file in sorted(Path(path, "numbers").glob("*.json")):
        numbers = json.loads(file.read_text(encoding="utf-8"))
        for *names, number in answers(numbers, headlines):
            known = (number["value"], *number["ci"], number["n"], number["control"])
            rows.append((*names, *known))
    columns = ["experiment", "dataset", "system", "measure", "value"]
    return pd.DataFrame(rows, columns=[*columns, "low", "high", "n", "control"])
