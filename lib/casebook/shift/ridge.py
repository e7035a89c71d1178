"""A shift that depends on the query: a linear map learned by ridge regression."""

from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.shift.directions import contrast


@dataclass(frozen=True, eq=False)
class RidgeShift:
    """A linear map from a query's vector to its movement.

    Attributes
    ----------
    basis : numpy.ndarray, shape [n, D]
        Vectors of the training queries.
    weights : numpy.ndarray, shape [n, D]
        What each of them contributes.
    penalty : float
        Ridge penalty.
    """

    basis: np.ndarray
    weights: np.ndarray
    penalty: float
    mode: str = "ridge"

    def move(self, queries):
        """Give the movement of each query at scale 1.

        Parameters
        ----------
        queries : numpy.ndarray, shape [n, D]
            Their vectors.

        Returns
        -------
        numpy.ndarray, shape [n, D]
            One row per query.
        """
        return (queries @ self.basis.T) @ self.weights


def learn_ridge(data, rows=None, *, penalty=10.0):
    """Regress the contrast of relevant and other documents on the query's vector.

    Parameters
    ----------
    data : EmbeddedDataset
        Vectors and judgements.
    rows : sequence of int, optional
        Queries to learn from; all by default. A query whose whole pool is relevant has
        no contrast and is left out.
    penalty : float
        Ridge penalty, above 0.

    Returns
    -------
    RidgeShift
        The map; it moves nothing if there is nothing to learn from.

    Raises
    ------
    InputError
        If the penalty is not above 0.

    Notes
    -----
    In the dual form, ``W = Q' (Q Q' + penalty I)^-1 Y``, with the queries as rows of Q
    and mean relevant minus mean other document as rows of Y; there is no intercept.

    References
    ----------
    Saunders, Gammerman & Vovk, Ridge regression learning algorithm in dual variables,
    ICML 1998.
    """
    if not penalty > 0:
        raise InputError(f"the ridge penalty must be above 0, not {penalty}")
    rows = range(len(data)) if rows is None else rows
    rows = [row for row in rows if not data.relevant[row].all()]
    width = data.queries.shape[1]
    if not rows:
        return RidgeShift(np.zeros((0, width)), np.zeros((0, width)), penalty)
    basis = data.queries[rows]
    targets = np.stack([contrast(data, row) for row in rows])
    kernel = basis @ basis.T + penalty * np.eye(len(rows))
    return RidgeShift(basis, np.linalg.solve(kernel, targets), penalty)
