"""Choose settings on one split and report them on another."""

import pandas as pd

from casebook.data.splits import halve
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
    """Divide a dataset's queries into two halves that share no group."""
    groups = data.groups or {query: query for query in data.qrels}
    parts = halve(groups, seed=0)
    if not all(parts.values()):
        raise InputError(f"{data.name}: too few groups of queries for two halves")
    return tuple(
        data.subset(part, f"{data.split}_{name}_half")
        for name, part in zip(("first", "second"), parts.values(), strict=True)
    )


def sweep(dataset, index, parameter, values, measure="nDCG@10", n_boot=10_000, **settings):
    """Measure the full system at each value of one setting."""
    results = {value: retrieve(dataset, HybridRetriever(index, **{**settings, parameter: value})) for value in values}
    frame = score(dataset, results, [measure])[measure]
    groups = dataset.groups and [dataset.groups[query] for query in frame.index]
    options = {"n_boot": n_boot, "seed": settings.get("seed", 0)}
    found = estimates(frame, groups, **options)[["system", "value", "low", "high", "n"]]
    return found.set_axis(["value", "mean", "ci_low", "ci_high", "n"], axis=1)


def sweep_all(dataset, index, measure="nDCG@10", n_boot=10_000, **settings):
    """Vary each setting of `GRID` alone on the development split."""
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
    """Give the best value of each setting."""
    first = sweeps.groupby("parameter", sort=False)["best"].first()
    return first.to_dict()


def held_out(dataset, index, tuned, systems=None, **settings):
    """Score untuned systems and the tuned one on the held-out split."""
    study = run_ablation(dataset, systems, index, **settings)
    retriever = HybridRetriever(index, **{**settings, **tuned})
    results = {**study.results, TUNED: retrieve(dataset, retriever)}
    return Ablation(dataset, results, score(dataset, results, list(study.scores)))
