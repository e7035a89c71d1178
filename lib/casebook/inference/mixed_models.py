"""Cumulative-link models with crossed random intercepts, by Laplace's approximation.

With two categories this is the logistic mixed model; without random intercepts, the
proportional-odds model.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.inference.laplace import (
    LinkData,
    laplace_log_likelihood,
    second_differences,
)
from casebook.inference.samples import check_share

MOST_LEVELS = 3_000
"""Levels of all random intercepts together: their information matrix is dense."""

FAR_OUT = 25.0
"""Log odds, or a standard error of them, beyond which a maximum counts as infinite."""

STEEP = 1e-2
"""Slope of the log-likelihood at which a search has not arrived."""

SINGULAR = 1e-4
"""Standard deviation below which a random intercept counts as absent, as in lme4."""


@dataclass(frozen=True)
class MixedModel:
    """A fitted cumulative-link model.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per threshold (``a|b``) and fixed effect: ``parameter``, ``estimate``
        (log odds), ``se``, ``ci_low``, ``ci_high`` (Wald), ``pvalue`` (of 0).
    sds : pandas.DataFrame
        One row per random intercept: ``group``, ``sd`` (log odds; 0 below `SINGULAR`),
        ``se``, ``levels``.
    log_likelihood : float or None
        Laplace's approximation; exact without random intercepts.
    n, df : int
        Observations and parameters.
    level : float
        Coverage of the intervals.
    reason : str or None
        ``"one_category"``, ``"not_identified"`` (a fixed effect is a combination of
        others), ``"separated"`` (no finite maximum) or ``"not_converged"``: then all
        numbers are NaN.
    """

    table: pd.DataFrame
    sds: pd.DataFrame
    log_likelihood: float | None
    n: int
    df: int
    level: float
    reason: str | None = None


@dataclass(frozen=True)
class _Frame:
    """Names of thresholds and effects, names of the groups, size and level."""

    names: list
    groups: list
    n: int
    level: float


def fit_cumulative_link(outcome, fixed=None, groups=None, *, level=0.95):
    """Fit a proportional-odds model, with crossed random intercepts if wanted.

    Parameters
    ----------
    outcome : array_like, shape [n]
        Ordered categories: anything that sorts.
    fixed : pandas.DataFrame, shape [n, effects], optional
        Numeric columns of the fixed effects, without a constant.
    groups : dict of str to array_like, optional
        Random intercepts: for each name the level of every observation.
    level : float, default 0.95
        Coverage of the Wald intervals.

    Returns
    -------
    MixedModel
        Fit.

    Raises
    ------
    InputError
        If lengths differ, a value is missing or there are too many levels.

    Notes
    -----
    ``logit P(Y <= k) = threshold_k - x' effects - sum of sd_g u_g`` with standard
    normal u: a positive effect raises the outcome. The integral over u is replaced by
    Laplace's approximation at its mode, as in R's ``ordinal::clmm`` with one
    quadrature point. Standard errors come from second differences at the maximum.

    References
    ----------
    McCullagh, Journal of the Royal Statistical Society B 42, 1980; Tutz & Hennevogl,
    Computational Statistics & Data Analysis 22, 1996.
    """
    from scipy import optimize

    check_share("level", level)
    groups = {} if groups is None else groups
    labels, data = _data(outcome, fixed, groups)
    cuts = [f"{a}|{b}" for a, b in itertools.pairwise(labels)]
    names = cuts if fixed is None else [*cuts, *fixed.columns]
    frame = _Frame(names, list(groups), len(data.y), level)
    reason = _why_not(data)
    if reason:
        return _result(frame, data, reason=reason)
    mode = np.zeros(len(data.group))

    def loss(theta):
        return -laplace_log_likelihood(theta, data, mode)

    found = optimize.minimize(
        lambda free: loss(_thresholds(free, data)),
        _start(data),
        jac="3-point",
        method="BFGS",
    )
    theta = _thresholds(found.x, data)
    variances = np.diag(np.linalg.pinv(second_differences(loss, theta)))
    errors = np.sqrt(np.maximum(variances, 0))
    if not max(np.abs(theta).max(), errors.max()) < FAR_OUT:
        return _result(frame, data, reason="separated")
    if np.abs(found.jac).max() > STEEP:
        return _result(frame, data, reason="not_converged")
    return _result(frame, data, theta, errors, -float(found.fun))


def _data(outcome, fixed, groups):
    from scipy import sparse

    outcome = pd.Series(np.asarray(outcome))
    labels, y = np.unique(outcome.dropna(), return_inverse=True)
    fixed = pd.DataFrame(index=range(len(outcome))) if fixed is None else fixed
    X = fixed.to_numpy(float)
    if len({len(X), len(y), len(outcome)}) > 1 or not np.isfinite(X).all():
        raise InputError(
            f"fixed effects and outcome must have {len(outcome)} finite values"
        )
    blocks, owner = [], []
    for k, (name, values) in enumerate(groups.items()):
        codes, levels = pd.factorize(np.asarray(values), sort=True)
        if len(codes) != len(y) or (codes < 0).any():
            raise InputError(f"{name} must name a level for each of {len(y)} rows")
        ones = (np.ones(len(y)), (np.arange(len(y)), codes))
        blocks.append(sparse.csr_array(ones, shape=(len(y), len(levels))))
        owner += [k] * len(levels)
    if len(owner) > MOST_LEVELS:
        raise InputError(f"{len(owner)} levels are more than {MOST_LEVELS}")
    Z = sparse.hstack(blocks, format="csr") if blocks else sparse.csr_array((len(y), 0))
    owner = np.array(owner, dtype=int)
    return labels, LinkData(y, X, Z, owner, len(labels), len(groups))


def _why_not(data):
    if data.categories < 2:
        return "one_category"
    with_constant = np.column_stack([np.ones(len(data.y)), data.X])
    if np.linalg.matrix_rank(with_constant) < with_constant.shape[1]:
        return "not_identified"
    return None


def _start(data):
    """Thresholds of the plain shares, no effects, all deviations 1, as free values."""
    shares = np.bincount(data.y, minlength=data.categories).cumsum() / len(data.y)
    cuts = special.logit(shares[:-1])
    gaps = np.log(np.diff(cuts))
    return np.concatenate(
        [cuts[:1], gaps, np.zeros(data.X.shape[1]), np.ones(data.groups)]
    )


def _thresholds(free, data):
    """Parameters from free values: log gaps keep the thresholds in order."""
    cuts = data.categories - 1
    ordered = free[0] + np.concatenate([[0.0], np.cumsum(np.exp(free[1:cuts]))])
    return np.concatenate([ordered, free[cuts:]])


def _result(frame, data, theta=None, errors=None, log_likelihood=None, reason=None):
    split = len(frame.names)
    df = split + data.groups
    if theta is None:
        theta = errors = np.full(df, np.nan)
    table = pd.DataFrame(
        {"parameter": frame.names, "estimate": theta[:split], "se": errors[:split]}
    )
    z = special.ndtri((1 + frame.level) / 2)
    table["ci_low"] = table["estimate"] - z * table["se"]
    table["ci_high"] = table["estimate"] + z * table["se"]
    table["pvalue"] = 2 * special.ndtr(-np.abs(table["estimate"] / table["se"]))
    sd = np.abs(theta[split:])
    sds = {
        "group": frame.groups,
        "sd": np.where(sd < SINGULAR, 0.0, sd),
        "se": errors[split:],
        "levels": np.bincount(data.group, minlength=data.groups),
    }
    sds = pd.DataFrame(sds)
    return MixedModel(table, sds, log_likelihood, frame.n, df, frame.level, reason)
