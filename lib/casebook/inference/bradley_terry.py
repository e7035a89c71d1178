"""Strengths from paired comparisons: Bradley-Terry, Davidson's ties, order effect."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.inference.paired_comparisons import (
    FAR_OUT,
    build_design,
    maximise,
    why_not_estimable,
)
from casebook.inference.samples import check_share


@dataclass(frozen=True)
class BradleyTerry:
    """A fitted model of paired comparisons.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per parameter: ``parameter`` (a system, ``tie`` or ``order``),
        ``estimate`` (log strength against the reference; log nu; log odds of the first
        place), ``se``, ``ci_low``, ``ci_high``, ``pvalue`` (Wald, of 0) and ``worth``
        (strengths scaled to sum 1; NaN for the rest). The reference has estimate 0 and
        no standard error. All NaN if the model is not estimable.
    log_likelihood : float or None
        At the maximum, without the binomial constants.
    df : int
        Parameters.
    n : int or float
        Comparisons.
    level : float
        Coverage of the intervals.
    reason : str or None
        ``"separated"``: some systems never win or tie against the others, so that no
        finite strengths exist; ``"no_ties"`` or ``"not_identified"``: nothing to
        estimate the ties or the order effect from.
    """

    table: pd.DataFrame
    log_likelihood: float | None
    df: int
    n: float
    level: float
    reason: str | None = None


@dataclass(frozen=True)
class LikelihoodRatio:
    """Likelihood-ratio test of a model against a smaller one."""

    statistic: float | None
    df: int
    pvalue: float | None
    reason: str | None = None


def fit_bradley_terry(
    comparisons, *, ties=None, order=False, reference=None, level=0.95
):
    """Fit strengths of any number of systems by maximum likelihood.

    Parameters
    ----------
    comparisons : pandas.DataFrame
        Columns ``first`` and ``second`` (systems; the first stood on the left),
        ``outcome`` (``first``, ``tie`` or ``second``) and, optionally, ``count``.
    ties : bool, optional
        True: Davidson's tie parameter. False: a tie is half a win for either. Default:
        True if there are ties.
    order : bool, default False
        Estimate the advantage of the first place.
    reference : label, optional
        System of strength 0; the first in alphabetical order by default.
    level : float, default 0.95
        Coverage of the Wald intervals.

    Returns
    -------
    BradleyTerry
        Fit. Its standard errors take comparisons for independent; for votes on shared
        items use
        `casebook.inference.bradley_terry_bootstrap.bootstrap_bradley_terry`.

    Raises
    ------
    InputError
        If a column is missing, an outcome unknown, a system meets itself, or there are
        fewer than two systems.

    Notes
    -----
    With log strengths a and b and order effect h, the three outcomes have odds
    ``exp(a + h/2) : nu exp((a + b)/2) : exp(b - h/2)`` (Davidson & Beaver, Biometrics
    33, 1977, with the order effect shared between both places).

    References
    ----------
    Bradley & Terry, Biometrika 39, 1952; Davidson, Journal of the American Statistical
    Association 65, 1970.
    """
    check_share("level", level)
    design = build_design(comparisons, ties, order, reference)
    counts, df = design.counts(), len(design.names)
    n = float(counts.sum())
    theta, errors = np.full((2, df), np.nan)
    reason = why_not_estimable(design, counts)
    if not reason:
        found, values, information = maximise(design.features, counts[None])
        reason = "separated" if np.abs(found).max() > FAR_OUT else None
    if reason:
        table = _parameter_table(design, theta, errors, level)
        return BradleyTerry(table, None, df, n, level, reason)
    errors = np.sqrt(np.diag(np.linalg.inv(information[0])))
    table = _parameter_table(design, found[0], errors, level)
    return BradleyTerry(table, float(values[0]), df, n, level)


def likelihood_ratio_test(larger, smaller):
    """Test a model against one that it contains.

    Parameters
    ----------
    larger, smaller : BradleyTerry
        Fits of the same comparisons, with the same treatment of ties.

    Returns
    -------
    LikelihoodRatio
        Undefined if a model could not be estimated.

    Raises
    ------
    InputError
        If the models do not fit together.
    """
    df = larger.df - smaller.df
    if df < 1 or larger.n != smaller.n:
        raise InputError("the larger model must hold more parameters on the same data")
    reason = larger.reason or smaller.reason
    if reason:
        return LikelihoodRatio(None, df, None, reason)
    statistic = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood))
    return LikelihoodRatio(statistic, df, float(special.chdtrc(df, statistic)))


def _parameter_table(design, theta, errors, level):
    z = special.ndtri((1 + level) / 2)
    found = dict(zip(design.names, zip(theta, errors, strict=True), strict=True))
    extra = [name for name in ("tie", "order") if name in design.names[-2:]]
    lost = math.nan if np.isnan(theta).any() else 0.0
    rows = []
    for name in [*design.systems, *extra]:
        estimate, error = found.get(name, (lost, math.nan))
        rows.append((name, estimate, error))
    table = pd.DataFrame(rows, columns=["parameter", "estimate", "se"])
    table["ci_low"] = table["estimate"] - z * table["se"]
    table["ci_high"] = table["estimate"] + z * table["se"]
    table["pvalue"] = 2 * special.ndtr(-np.abs(table["estimate"] / table["se"]))
    systems = np.arange(len(table)) < len(design.systems)
    table["worth"] = np.where(systems, np.exp(table["estimate"]), np.nan)
    table["worth"] /= table["worth"].sum(skipna=True)
    return table
