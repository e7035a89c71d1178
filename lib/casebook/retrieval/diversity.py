"""Maximal marginal relevance: results that are relevant and unlike each other.

References
----------
.. [1] Carbonell and Goldstein (1998), The use of MMR, diversity-based reranking for
   reordering documents and producing summaries, SIGIR.
"""

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.fusion import min_max
from casebook.retrieval.rankings import ABSENT, positive_depth

# Queries handled together: enough to amortise the calls, few enough that their
# candidate vectors stay in the processor's cache between steps.
_BLOCK = 16


def maximal_marginal_relevance(relevance, vectors, lambda_=0.7, k=10, candidates=None, scale_relevance=False):
    """Pick k candidates per query, one by one, by maximal marginal relevance."""
    relevance = np.asarray(relevance, dtype=np.float64)
    vectors = np.asarray(vectors)
    k = positive_depth(k)
    if not 0 <= lambda_ <= 1:
        raise InputError(f"lambda of marginal relevance must be in [0, 1], got {lambda_}")
    valid = _valid(relevance, vectors, candidates)
    relevance = min_max(relevance, valid) if scale_relevance else relevance
    relevance = np.where(valid, relevance, -np.inf)
    rows = np.arange(len(relevance))
    order = np.full((rows.size, k), ABSENT)
    values = np.full((rows.size, k), -np.inf)
    for start in range(0, rows.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        stack = vectors[block] if candidates is None else vectors[np.maximum(candidates[block], 0)]
        order[block], values[block] = _select(relevance[block], stack, lambda_, k)
    return order, values


def _valid(relevance, vectors, candidates):
    """Check the shapes and find the candidates that are not padding."""
    if relevance.ndim != 2 or np.isnan(relevance).any():
        raise InputError("relevance must be an array [queries, candidates] without NaN")
    valid = relevance > -np.inf
    if candidates is None:
        fits = vectors.ndim == 3 and vectors.shape[:2] == relevance.shape
    else:
        fits = vectors.ndim == 2 and candidates.shape == relevance.shape
        valid &= candidates >= 0
    if not fits:
        raise InputError(
            f"relevance {relevance.shape} and vectors {vectors.shape} do not fit: give "
            "vectors [queries, candidates, dims], or [items, dims] and candidates"
        )
    return valid


def _select(relevance, stack, lambda_, k):
    """Run the greedy selection for one block of queries."""
    queries, pool = relevance.shape
    order = np.full((queries, k), ABSENT)
    values = np.full((queries, k), -np.inf)
    rows = np.arange(queries)
    norms = np.sqrt(np.einsum("qcd,qcd->qc", stack, stack))
    norms = np.where(norms > 0, norms, np.inf)
    gain = lambda_ * relevance if lambda_ else np.where(relevance > -np.inf, 0.0, -np.inf)
    redundancy = np.full((queries, pool), -np.inf)
    choice, value = relevance, gain
    for step in range(min(k, pool)):
        pick = choice.argmax(axis=1)
        left = gain[rows, pick] > -np.inf
        order[:, step] = np.where(left, pick, ABSENT)
        values[:, step] = value[rows, pick]
        gain[rows, pick] = -np.inf
        picked = stack[rows, pick] / norms[rows, pick, None]
        similarity = np.matmul(stack, picked[:, :, None])[:, :, 0] / norms
        np.maximum(redundancy, similarity, out=redundancy)
        choice = value = gain - (1 - lambda_) * redundancy
    if np.isnan(redundancy).any():
        raise InputError("a candidate vector holds NaN: check the embeddings")
    return order, values
