"""Choose settings on one split and report them on another."""

import pandas as pd

from casebook.datasets.corpus import halve
from casebook.errors import InputError
from casebook.estimates import estimates
from casebook.retrieval.ablation import Ablation, run_ablation
from casebook.retrieval.config import PipelineConfig
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.scoring import retrieve, score

TUNED = "full_tuned"

# What is varied, each alone: the range in which the setting means something.
GRID = {
    "question_tokens": (16, 32, 64, 128, 256),
    "mmr_lambda": (0.0, 0.3, 0.5, 0.7, 0.9, 1.0),
    "first_stage_weight": (0.0, 0.1, 0.2, 1 / 3, 0.5, 0.7, 0.9),
}


def halves(data):
    """Divide a dataset's queries into two halves that share no group.

    Parameters
    ----------
    data : casebook.datasets.corpus.RetrievalDataset
        At least two queries, in at least two groups where there are groups.

    Returns
    -------
    tuple of RetrievalDataset
        One half to choose settings on, one to report on.

    Raises
    ------
    InputError
        If a half would have no query.
    """
    groups = data.groups or {query: query for query in data.qrels}
    parts = halve(groups, seed=0)
    if not all(parts.values()):
        raise InputError(f"{data.name}: too few groups of queries for two halves")
    return tuple(
        data.subset(part, f"{data.split}_{name}_half")
        for name, part in zip(("first", "second"), parts.values(), strict=True)
    )


def sweep(
    dataset, index, parameter, values, measure="nDCG@10", n_boot=10_000, **settings
):
    """Measure the full system at each value of one setting.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        The development split.
    index : casebook.retrieval.index.CorpusIndex
        Index of its documents.
    parameter : str
        Name of a pipeline setting.
    values : sequence of float
        Values to try.
    measure : str
        What to maximise.
    n_boot : int
        Draws of the intervals.
    **settings
        The other settings; ``seed`` is also that of the intervals.

    Returns
    -------
    pandas.DataFrame
        Columns value, mean, ci_low, ci_high, n; one row per value.
    """
    results = {
        value: retrieve(
            dataset, HybridRetriever(index, **{**settings, parameter: value})
        )
        for value in values
    }
    frame = score(dataset, results, [measure])[measure]
    groups = dataset.groups and [dataset.groups[query] for query in frame.index]
    options = {"n_boot": n_boot, "seed": settings.get("seed", 0)}
    found = estimates(frame, groups, **options)[["system", "value", "low", "high", "n"]]
    return found.set_axis(["value", "mean", "ci_low", "ci_high", "n"], axis=1)


def sweep_all(dataset, index, measure="nDCG@10", n_boot=10_000, **settings):
    """Vary each setting of `GRID` alone on the development split.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        The development split.
    index : casebook.retrieval.index.CorpusIndex
        Index of its documents.
    measure : str
        What to maximise.
    n_boot : int
        Draws of the intervals.
    **settings
        The settings that are not varied.

    Returns
    -------
    pandas.DataFrame
        Columns parameter, value, mean, ci_low, ci_high, n, default and best. Of
        several equally good values the one nearest to the default is best.
    """
    parts = []
    for parameter, values in GRID.items():
        default = settings.get(parameter, getattr(PipelineConfig(), parameter))
        others = {k: v for k, v in settings.items() if k != parameter}
        tried = sorted({*values, default})
        part = sweep(dataset, index, parameter, tried, measure, n_boot, **others)
        part = part.assign(default=default, best=_best(part, default))
        part.insert(0, "parameter", parameter)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _best(frame, default):
    top = frame[frame["mean"] >= frame["mean"].max() - 1e-12]
    return min(top["value"], key=lambda value: abs(value - default))


def chosen(sweeps):
    """Give the best value of each setting.

    Parameters
    ----------
    sweeps : pandas.DataFrame
        From `sweep_all`.

    Returns
    -------
    dict
        Setting to value.
    """
    first = sweeps.groupby("parameter", sort=False)["best"].first()
    return first.to_dict()


def held_out(dataset, index, tuned, systems=None, **settings):
    """Score untuned systems and the tuned one on the held-out split.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        The split that was not used to choose settings.
    index : casebook.retrieval.index.CorpusIndex
        Index of its documents.
    tuned : dict
        Settings of the system `TUNED`, from `chosen`.
    systems : sequence of str, optional
        As for `run_ablation`.
    **settings
        Settings of the untuned systems.

    Returns
    -------
    casebook.retrieval.ablation.Ablation
        Results and per-query scores, those of `TUNED` among them.
    """
    study = run_ablation(dataset, systems, index, **settings)
    retriever = HybridRetriever(index, **{**settings, **tuned})
    results = {**study.results, TUNED: retrieve(dataset, retriever)}
    return Ablation(dataset, results, score(dataset, results, list(study.scores)))
