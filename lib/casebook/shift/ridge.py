"""A shift that depends on the query: a linear map learned by ridge regression."""

from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.shift.directions import contrast


@dataclass(frozen=True, eq=False)
class RidgeShift:
    """A linear map from a query's vector to its movement."""

    basis: np.ndarray
    weights: np.ndarray
    penalty: float
    mode: str = "ridge"

    def move(self, queries):
        """Give the movement of each query at scale 1."""
        return (queries @ self.basis.T) @ self.weights


def learn_ridge(data, rows=None, *, penalty=10.0):
    """Regress the contrast of relevant and other documents on the query's vector."""
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
