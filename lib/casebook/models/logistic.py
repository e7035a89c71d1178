"""Logistic regression solved so far that its answer does not depend on the machine."""

import numpy as np

_DECIMALS = 9  # coarser than the noise of a solved fit, finer than any difference meant


def logistic_regression(penalty=1.0):
    """Build scikit-learn's logistic regression, unfitted, with a tight tolerance.

    Parameters
    ----------
    penalty : float, default 1.0
        Inverse strength of the L2 penalty, scikit-learn's ``C``.

    Returns
    -------
    sklearn.linear_model.LogisticRegression
        Binary or multinomial, of dense or sparse features.

    Notes
    -----
    The default solver stops some 1e-4 from the optimum, at a place that depends on the
    order of additions in the machine's linear algebra; two nearly equal probabilities
    then change places between machines. Newton's method ends within about 1e-9.
    """
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=penalty, solver="newton-cg", tol=1e-10, max_iter=2_000)


def settled(shares):
    """Round probabilities so that equals stay equal on every machine.

    Parameters
    ----------
    shares : array_like of float
        Fitted probabilities, in [0, 1].

    Returns
    -------
    numpy.ndarray
        The same, to nine decimals: units with the same features tie, whichever
        kernel of the linear algebra computed them.
    """
    return np.round(np.asarray(shares, dtype=float), _DECIMALS)
