"""Logistic regression solved so far that its answer does not depend on the machine."""

import numpy as np

_DECIMALS = 9  # coarser than the noise of a solved fit, finer than any difference meant


def logistic_regression(penalty=1.0):
    """Build scikit-learn's logistic regression, unfitted, with a tight tolerance."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=penalty, solver="newton-cg", tol=1e-10, max_iter=2_000)


def settled(shares):
    """Round probabilities so that equals stay equal on every machine."""
    return np.round(np.asarray(shares, dtype=float), _DECIMALS)
