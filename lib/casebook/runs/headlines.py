"""The one number of each experiment that answers its question."""

from casebook.runs.outputs import read_numbers

HEADLINES = {
    "audits": ("labels", "flagged"),
    "retrieval_ablation": ("full", "nDCG@10"),
    "embedding_shift": ("posneg-uniform", "nDCG@10"),
    "counterfactual_sensitivity": ("bm25", "auroc"),
    "explanation_quality": ("corrected", "AUROC"),
    "rater_agreement": ("panel", "win rate"),
    "factcheck_confusion": ("pipeline", "f1_macro"),
    "query_length": ("full, short", "nDCG@10"),
}
"""Experiment to system and measure. A new experiment is added here."""


def headlines(run, cell):
    """Give the numbers that answer the question of one cell.

    Parameters
    ----------
    run, cell : str
        Names of the run and of the cell.

    Yields
    ------
    tuple
        Experiment, dataset, system, measure, and the number as it is stored; one for
        each data set, none if the experiment has no entry in `HEADLINES`.
    """
    yield from answers(read_numbers(run, cell))


def answers(numbers, chosen=None):
    """Pick the headline numbers out of what a cell reported.

    Parameters
    ----------
    numbers : dict
        As `casebook.runs.outputs.read_numbers` gives it.
    chosen : dict, optional
        Experiment to (system, measure); `HEADLINES` by default.

    Yields
    ------
    tuple
        As `headlines`.
    """
    chosen = HEADLINES if chosen is None else chosen
    for experiment, datasets in numbers.items():
        system, measure = chosen.get(experiment, (None, None))
        for dataset, systems in datasets.items():
            if measure in systems.get(system, {}):
                yield experiment, dataset, system, measure, systems[system][measure]
