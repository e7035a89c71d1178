"""Effects of a 2^4 factorial: main effects, interactions, Shapley shares."""

import itertools
from math import factorial

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.multiplicity import holm
from casebook.inference.permutation import paired_randomization
from casebook.stats.tests import difference_intervals

FACTORS = ("decomposition", "diversity", "weighting", "three-stage")
CELLS = tuple(itertools.product((False, True), repeat=len(FACTORS)))
FULL = CELLS[-1]


def cell_name(cell):
    """Name a cell by the factors that are on.

    Parameters
    ----------
    cell : tuple of bool
        One entry per factor, in the order of ``FACTORS``.

    Returns
    -------
    str
        Such as ``diversity+weighting``; ``none`` where all are off.
    """
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
    """Weights of one factor's Shapley value.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games 2.
    """
    weights, count = np.zeros(len(CELLS)), len(FACTORS)
    for row, cell in enumerate(CELLS):
        others = sum(cell) - cell[place]
        share = factorial(others) * factorial(count - others - 1) / factorial(count)
        weights[row] = share if cell[place] else -share
    return weights


def effects(values, clusters=None, *, n_boot=2_000, n_resamples=20_000, seed=0):
    """Estimate every effect with interval and test.

    Parameters
    ----------
    values : pandas.DataFrame, shape [claims, 16]
        Right (1) or wrong (0), or a mean over seeds, columns ``CELL_NAMES``.
    clusters : sequence, optional
        Claims of one cluster are not independent.
    n_boot, n_resamples, seed : int
        Of intervals and randomisation tests.

    Returns
    -------
    pandas.DataFrame
        One row per effect: ``kind``, ``effect``, ``value``, ``low``, ``high``, ``n``,
        ``p`` (paired randomisation of the clusters' summed contrasts), ``p_holm``
        within its kind, and ``reason`` where there is no interval.

    Raises
    ------
    InputError
        If a cell is missing or there are no claims.
    """
    if list(values.columns) != list(CELL_NAMES):
        raise InputError(f"the 16 cells are needed in order: {', '.join(CELL_NAMES)}")
    if values.empty:
        raise InputError("there are no claims to compare configurations on")
    weights = contrasts()
    per_claim = values.to_numpy(float) @ weights.to_numpy()
    options = {"n_resamples": n_resamples, "seed": seed}
    intervals = difference_intervals(per_claim, clusters, **options)
    # As an array: pandas takes a list of small integers for names of columns.
    labels = np.arange(len(per_claim)) if clusters is None else np.asarray(clusters)
    sums = pd.DataFrame(per_claim).groupby(labels, sort=False).sum().to_numpy()
    rows = []
    for name, interval, column in zip(weights, intervals, sums.T, strict=True):
        kind, _, effect = name.partition(": ")
        test = paired_randomization(column, n_resamples=n_resamples, seed=seed)
        rows.append(
            {
                "kind": kind,
                "effect": effect,
                "value": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "n": interval.n,
                "p": test.pvalue,
                "reason": interval.reason,
            }
        )
    table = pd.DataFrame(rows)
    adjusted = table.groupby("kind", sort=False)["p"].transform(lambda p: holm(list(p)))
    table.insert(7, "p_holm", adjusted)
    return table
