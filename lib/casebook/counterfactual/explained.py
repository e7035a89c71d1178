"""Explanations with the source that each was made from."""

from functools import partial

import numpy as np

from casebook.counterfactual.explained_makers import (
    Explained,
    explainer_explanations,
    gold_explanations,
    stored_answers,
    template_explanations,
)
from casebook.errors import InputError
from casebook.stats.samples import stream

__all__ = ["Explained", "explain"]

LEAST_SOURCES = 5
MAKERS = {
    "template": template_explanations,
    "gold": gold_explanations,
    "explainer": explainer_explanations,
    "documented explainer": partial(explainer_explanations, documented=True),
}


def explain(dataset, kind="template", *, limit=None, seed=0):
    """Collect the explanations of a dataset."""
    made = MAKERS[kind](dataset) if kind in MAKERS else stored_answers(dataset, kind)
    if limit is not None and len(made.explanations) > limit:
        made = _draw(made, limit, seed)
    count = len({made.own[key] for key in made.explanations})
    if count < LEAST_SOURCES:
        raise InputError(
            f"{dataset.name}: {count} source(s) with an explanation, {LEAST_SOURCES} "
            "are the fewest that can be compared"
        )
    return made


def _draw(made, limit, seed):
    rng = np.random.Generator(stream(seed, "explanations"))
    keys = list(made.explanations)
    chosen = [keys[i] for i in sorted(rng.permutation(len(keys))[:limit])]
    left_out = made.left_out | {"not drawn": len(keys) - limit}
    return Explained(
        made.name,
        made.kind,
        {key: made.explanations[key] for key in chosen},
        made.sources,
        {key: made.own[key] for key in chosen},
        made.cited,
        left_out,
    )
