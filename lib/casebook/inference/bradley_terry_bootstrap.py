"""Bradley-Terry strengths with intervals from resampled items, raters or both."""

from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.bradley_terry import fit_bradley_terry
from casebook.inference.paired_comparisons import (
    FAR_OUT,
    build_design,
    maximise,
    require_columns,
    why_not_estimable,
)
from casebook.inference.samples import check_count, stream


def bootstrap_bradley_terry(
    comparisons,
    clusters,
    *,
    ties=None,
    order=False,
    reference=None,
    level=0.95,
    n_boot=1_000,
    seed=0,
):
    """Percentile intervals of all parameters from resampled clusters.

    Parameters
    ----------
    comparisons, ties, order, reference, level
        As in `casebook.inference.bradley_terry.fit_bradley_terry`.
    clusters : str or list of str
        Columns whose values are drawn whole, such as ``"item"``; with two, such as
        ``["item", "rater"]``, both are drawn independently.
    n_boot, seed : int
        Resamples and seed.

    Returns
    -------
    pandas.DataFrame
        ``parameter``, ``estimate``, ``ci_low``, ``ci_high``, ``undefined`` (resamples
        without finite strengths) and ``reason``. With any of them there are no bounds:
        leaving those resamples out would narrow the interval. The tie parameter has no
        lower bound if too many resamples are without ties.

    Raises
    ------
    InputError
        As `fit_bradley_terry`, or if a cluster column is missing.
    """
    check_count("n_boot", n_boot)
    clusters = [clusters] if isinstance(clusters, str) else list(clusters)
    require_columns(comparisons, clusters)
    fit = fit_bradley_terry(
        comparisons, ties=ties, order=order, reference=reference, level=level
    )
    table = fit.table[["parameter", "estimate"]].copy()
    table[["ci_low", "ci_high"]] = np.nan
    table["undefined"], table["reason"] = 0, fit.reason
    if fit.reason:
        return table
    design = build_design(comparisons, ties, order, reference)
    counts = _resampled_counts(design, comparisons, clusters, n_boot, seed)
    theta = _maxima(design, counts)
    table["undefined"] = int(np.isnan(theta).any(axis=1).sum())
    if table["undefined"].any():
        table["reason"] = "undefined_in_resamples"
        return table
    tails = [(1 - level) / 2, (1 + level) / 2]
    # No interpolation: the tie parameter may be minus infinity in some resamples.
    bounds = np.quantile(theta, tails, axis=0, method="inverted_cdf")
    known = pd.DataFrame(bounds.T, index=design.names).reindex(table["parameter"])
    table[["ci_low", "ci_high"]] = known.replace(-np.inf, np.nan).to_numpy()
    return table


def _maxima(design, counts):
    """Maximise every resample: NaN without finite strengths; no ties have log nu -inf.

    A resample without ties still tells the strengths: those of the model without ties.
    """
    theta = np.full((len(counts), len(design.names)), np.nan)
    ties = np.array([name == "tie" for name in design.names])
    tieless = np.zeros(len(counts), dtype=bool)
    if ties.any():
        tieless = ~counts[:, :, 1].any(axis=1)
    _maximise_into(theta, design, counts, ~tieless, np.ones_like(ties))
    if tieless.any():
        names = [name for name in design.names if name != "tie"]
        features = design.features[:, [0, 2]][:, :, ~ties]
        smaller = replace(design, names=names, features=features)
        _maximise_into(theta, smaller, counts[:, :, [0, 2]], tieless, ~ties)
        theta[np.ix_(tieless, ties)] = -np.inf
    return theta


def _maximise_into(theta, design, counts, rows, columns):
    fine = [why_not_estimable(design, counts[k]) is None for k in np.flatnonzero(rows)]
    rows = np.flatnonzero(rows)[fine]
    if len(rows):
        found, _, _ = maximise(design.features, counts[rows])
        found[np.abs(found).max(axis=1) > FAR_OUT] = np.nan
        theta[np.ix_(rows, columns)] = found


def _resampled_counts(design, comparisons, clusters, n_boot, seed):
    """Count outcomes in every resample, shape [n_boot, pairs, outcomes]."""
    drawn = []
    for name in clusters:
        codes, labels = pd.factorize(comparisons[name], sort=True)
        if (codes < 0).any():
            raise InputError(f"{(codes < 0).sum()} comparisons have no {name}")
        rng = np.random.Generator(stream(seed, f"strengths, {name}"))
        even = np.full(len(labels), 1 / len(labels))
        drawn.append((rng.multinomial(len(labels), even, n_boot), codes))

    def weight(k):
        return design.weight * np.prod(
            [table[k, codes] for table, codes in drawn], axis=0
        )

    return np.array([design.counts(weight(k)) for k in range(n_boot)])
