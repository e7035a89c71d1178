"""Reranking of fused documents, and its combination with the first stage."""

from dataclasses import dataclass

import numpy as np

from casebook.retrieval.config import CROSS_ENCODER
from casebook.retrieval.fusion import normalised_scores
from casebook.retrieval.rankings import RankedLists

# Sums over more or less padding differ in their last bits.
_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Reranked:
    """What a reranker says about the documents it was given."""

    own: RankedLists
    combined: RankedLists
    passages: np.ndarray


def rerank(index, config, request, given, passages, fused):
    """Order documents by a reranker."""
    if config.reranker == "pass-through":
        ranks = np.arange(1.0, given.shape[1] + 1)
        scores = np.where(given.ids >= 0, 1 / ranks, -np.inf)
        same = RankedLists(given.ids, scores)
        return Reranked(same, same, passages)
    reranker, heard = index.reranker(config), request.trust
    if config.reranker.startswith(CROSS_ENCODER):
        scores = reranker.scores(request.queries, passages)
    else:
        nearest = passages
        scores, passages = reranker.scores(request.queries, given.ids)
        heard = heard * _agreement(index, config, request, given, nearest, scores)
    share = config.first_stage_weight
    first = _z(RankedLists(given.ids, fused.scores_of(given.ids)))
    second = _z(RankedLists(given.ids, scores))
    mixed = (1 - share) * heard[:, None] * second + share * first
    mixed = np.where(given.ids >= 0, np.round(mixed, _DECIMALS), -np.inf)
    ranks = fused.ranks_of(given.ids)
    own = _ordered(given, scores, ranks)
    return Reranked(own, _ordered(given, mixed, ranks), passages)


def _agreement(index, config, request, given, nearest, scores):
    """Say how far late interaction is heard: array of float in [0, 1], shape (Q,)."""
    if config.agreement is None or not given.shape[1]:
        return np.ones(len(scores))
    query = request.query_vectors(index.encoder(), "dense")
    vectors = index.vectors(config)[np.maximum(nearest, 0)]
    similarity = np.einsum("qcd,qd->qc", vectors, query)
    similarity = np.where(given.ids >= 0, np.round(similarity, 6), -np.inf)
    both = [_z(RankedLists(given.ids, part)) for part in (scores, similarity)]
    flat = ~np.all([part.any(axis=1) for part in both], axis=0)
    correlation = (both[0] * both[1]).sum(axis=1) / np.maximum(given.lengths, 1)
    low, high = config.agreement
    heard = np.clip((np.round(correlation, 6) - low) / (high - low), 0, 1)
    return np.where(flat, 1.0, heard)


def _z(lists):
    """Bring scores to mean 0 and deviation 1 in each list."""
    return normalised_scores(lists, "z")


def _ordered(given, scores, ranks):
    """Sort documents by score, then by fused rank; padding stays last."""
    order = np.lexsort((ranks, -scores), axis=1)
    return given.reorder(order, np.take_along_axis(scores, order, axis=1))
