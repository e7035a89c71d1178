"""Laplace's approximation of a cumulative-link model with crossed intercepts."""

from dataclasses import dataclass

import numpy as np
from scipy import special

NEWTON_STEPS = 100
FLAT = 1e-10


@dataclass(frozen=True)
class LinkData:
    """Observations of a cumulative-link model.

    Attributes
    ----------
    y : numpy.ndarray of int, shape [n]
        Category numbers from 0.
    X : numpy.ndarray, shape [n, effects]
        Fixed effects.
    Z : scipy.sparse.csr_array, shape [n, levels]
        One column per level of any random intercept, 1 where it applies.
    group : numpy.ndarray of int, shape [levels]
        Random intercept to which the level belongs.
    categories, groups : int
        Numbers of categories and of random intercepts.
    """

    y: np.ndarray
    X: np.ndarray
    Z: object
    group: np.ndarray
    categories: int
    groups: int

    def split(self, theta):
        """Split parameters into thresholds with infinite ends, effects and deviations.

        Parameters
        ----------
        theta : numpy.ndarray
            Thresholds, effects and the standard deviation of each random intercept.

        Returns
        -------
        tuple of numpy.ndarray
            The three parts.
        """
        cuts, effects = self.categories - 1, self.X.shape[1]
        thresholds = np.concatenate([[-np.inf], theta[:cuts], [np.inf]])
        return thresholds, theta[cuts : cuts + effects], theta[cuts + effects :]


def laplace_log_likelihood(theta, data, mode):
    """Integrate the random intercepts out by Laplace's approximation.

    Parameters
    ----------
    theta : numpy.ndarray
        As in `LinkData.split`.
    data : LinkData
        Observations.
    mode : numpy.ndarray, shape [levels]
        Where to start looking for the mode of the intercepts, in units of their
        standard deviations; overwritten with the mode.

    Returns
    -------
    float
        Log-likelihood.

    Notes
    -----
    For the logistic distribution F, ``F(a) - F(b) = F(a) F(-b) (1 - exp(b - a))``, so
    the log-likelihood is concave in the predictor with slope ``F(a) + F(b) - 1``.
    """
    thresholds, effects, sds = data.split(theta)
    fixed = data.X @ effects
    upper, lower = thresholds[data.y + 1], thresholds[data.y]
    gaps = np.log(-np.expm1(lower - upper)).sum()
    sd = sds[data.group]

    def conditional(u):
        predictor = fixed + data.Z @ (sd * u)
        a, b = upper - predictor, lower - predictor
        value = special.log_expit(a).sum() + special.log_expit(-b).sum() + gaps
        return float(value - u @ u / 2), special.expit(a), special.expit(b)

    u = mode.copy()
    value, F, G = conditional(u)
    for _ in range(NEWTON_STEPS):
        curvature = F * (1 - F) + G * (1 - G)
        weighted = data.Z.T @ (data.Z * curvature[:, None])
        information = np.eye(len(u)) + weighted.toarray() * np.outer(sd, sd)
        gradient = sd * (data.Z.T @ (F + G - 1)) - u
        if not len(u) or np.abs(gradient).max() < FLAT:
            break
        step = np.linalg.solve(information, gradient)
        u, (value, F, G) = _uphill(conditional, u, step, value)
    mode[:] = u
    return value - np.linalg.slogdet(information)[1] / 2


def _uphill(function, u, step, value):
    """Take the Newton step, halved until the function does not fall."""
    for _ in range(NEWTON_STEPS):
        found = function(u + step)
        if found[0] >= value - FLAT * abs(value):
            break
        step = step / 2
    return u + step, found


def second_differences(function, x):
    """Approximate all second derivatives of a function by central differences.

    Parameters
    ----------
    function : callable
        Takes a vector, gives a float.
    x : numpy.ndarray, shape [n]
        Where.

    Returns
    -------
    numpy.ndarray, shape [n, n]
        Hessian matrix.
    """
    steps = np.diag(1e-3 * np.maximum(np.abs(x), 0.5))
    size = len(x)
    hessian = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            corners = [
                s * t * function(x + s * steps[i] + t * steps[j])
                for s in (1, -1)
                for t in (1, -1)
            ]
            scale = 4 * steps[i, i] * steps[j, j]
            hessian[i, j] = hessian[j, i] = sum(corners) / scale
    return hessian
