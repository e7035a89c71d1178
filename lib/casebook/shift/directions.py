"""Directions from irrelevant to relevant documents: what a shift is learned from."""

import numpy as np


def contrast(data, row):
    """Give mean relevant minus mean other document of one query's pool."""
    relevant, pool = data.relevant[row], data.documents[data.pools[row]]
    return pool[relevant].mean(axis=0) - pool[~relevant].mean(axis=0)


def mean_direction(directions, unit=False):
    """Average directions."""
    if not len(directions):
        return np.zeros(directions.shape[1])
    if unit:
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return directions.mean(axis=0)
