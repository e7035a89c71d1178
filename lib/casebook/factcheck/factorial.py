"""Effects of a 2^4 factorial: main effects, interactions, Shapley shares."""

import itertools
from math import factorial

import numpy as np
import pandas as pd

from casebook import estimates
from casebook.errors import InputError

FACTORS = ("decomposition", "diversity", "weighting", "three-stage")
CELLS = tuple(itertools.product((False, True), repeat=len(FACTORS)))
FULL = CELLS[-1]


def cell_name(cell):
    """Name a cell by the factors that are on."""
    on = [name for name, value in zip(FACTORS, cell, strict=True) if value]
    return "+".join(on) or "none"


CELL_NAMES = tuple(cell_name(cell) for cell in CELLS)


def contrasts():
    """Weights that turn the 16 cells into effects.

    Returns
    -------
    pandas.DataFrame, shape [16, effects]
        Rows are cells in the order of ``CELLS``. ``main: A``: mean with A on minus
        mean with A off. ``interaction: A x B``: half the effect of A with B on minus
        half that with B off. ``shapley: A``: A's mean contribution over all orders of
        adding factors; the four sum to full minus none. ``without: A``: full minus
        full without A.
    """
    signs = np.where(np.array(CELLS), 1.0, -1.0)
    columns = {}
    for place, name in enumerate(FACTORS):
        columns[f"main: {name}"] = signs[:, place] / 8
    for first, second in itertools.combinations(range(len(FACTORS)), 2):
        name = f"interaction: {FACTORS[first]} x {FACTORS[second]}"
        columns[name] = signs[:, first] * signs[:, second] / 8
    for place, name in enumerate(FACTORS):
        columns[f"shapley: {name}"] = _shapley(place)
    for place, name in enumerate(FACTORS):
        weights = np.zeros(len(CELLS))
        reduced = tuple(value and n != place for n, value in enumerate(FULL))
        weights[CELLS.index(FULL)], weights[CELLS.index(reduced)] = 1.0, -1.0
        columns[f"without: {name}"] = weights
    return pd.DataFrame(columns, index=list(CELL_NAMES))


def _shapley(place):
    """Weights of one factor's Shapley value."""
    weights, count = np.zeros(len(CELLS)), len(FACTORS)
    for row, cell in enumerate(CELLS):
        others = sum(cell) - cell[place]
        share = factorial(others) * factorial(count - others - 1) / factorial(count)
        weights[row] = share if cell[place] else -share
    return weights


def effects(values, clusters=None, *, n_resamples=10_000, seed=0):
    """Estimate every effect with interval and test."""
    if list(values.columns) != list(CELL_NAMES):
        raise InputError(f"the 16 cells are needed in order: {', '.join(CELL_NAMES)}")
    if values.empty:
        raise InputError("there are no claims to compare configurations on")
    weights = contrasts()
    per_claim = pd.DataFrame(values.to_numpy(float) @ weights, columns=list(weights))
    per_claim["nothing"] = 0.0
    kinds = pd.Series(list(weights)).str.partition(": ")
    tables = []
    for kind, family in kinds.groupby(0, sort=False):
        pairs = [(f"{kind}: {name}", "nothing") for name in family[2]]
        found = estimates.contrasts(per_claim, pairs, clusters, n_resamples=n_resamples, seed=seed)
        found = found.drop(columns=["system", "against"])
        found.insert(0, "effect", family[2].tolist())
        found.insert(0, "kind", kind)
        tables.append(found.rename(columns={"difference": "value"}))
    return pd.concat(tables, ignore_index=True)
