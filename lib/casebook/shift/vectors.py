"""Cosines, and the one order of documents that they give."""

import numpy as np

SMALLEST_NORM = 1e-12
TIE_DECIMALS = 12  # cosines that differ by less differ by rounding only


def cosines(queries, documents):
    """Cosine of every query with every document; 0 where a vector has no length."""
    return unit_rows(queries) @ unit_rows(documents).T


def unit_rows(vectors):
    """Scale rows to length 1; rows without length (at most 1e-12) become zero."""
    vectors = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    defined = lengths > SMALLEST_NORM
    return np.where(defined, vectors / np.where(defined, lengths, 1.0), 0.0)


def best_first(scores):
    """Order the scores of one pool."""
    return np.argsort(-scores, kind="stable")
