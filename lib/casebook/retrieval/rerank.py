"""Reranking of fused documents, and its combination with the first stage.

A reranker is a function ``(queries, documents, nearest) -> scores, passages``: `documents` [Q, C]
are positions in the collection and `nearest` [Q, C] the passage of each that is nearest to its
query, -1 for padding. It gives a score of each document, -inf for padding, and the passage that
decided it.
"""

import functools

import numpy as np

from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.retrieval.fuse import z_scores
from casebook.retrieval.ranked import best_first

LATE_INTERACTION = "maxsim"
CROSS_ENCODER = "cross-encoder:"
_DECIMALS = 9  # sums over more or less padding differ in their last bits


def build_reranker(passages, name, query_tokens=None):
    """Late interaction with all passages of a document, or what reads the nearest passage alone."""
    from casebook.models.rerankers import CrossEncoderReranker, MaxSimReranker

    if name == LATE_INTERACTION:
        counts = passages.token_frequencies
        model = MaxSimReranker(
            passages.index.encoder, passages.texts, passages.owner, counts, query_tokens
        )
        return lambda queries, documents, nearest: model.scores(queries, documents)
    if is_plugin(name):
        score = functools.partial(
            _plugin_scores, name, load_reranker(name), passages.texts
        )
    else:
        folder = name.removeprefix(CROSS_ENCODER)
        score = CrossEncoderReranker(
            folder, passages.texts, passages.index.model_settings
        ).scores
    return lambda queries, documents, nearest: (score(queries, nearest), nearest)


def load_reranker(name):
    """Import a reranker of the user, or a class of them."""
    return callable_plugin(name, "(query, texts) -> scores")


def _plugin_scores(name, score, texts, queries, nearest):
    scores = np.full(nearest.shape, -np.inf)
    for row, query in enumerate(queries):
        columns = np.flatnonzero(nearest[row] >= 0)
        passages = [texts[passage] for passage in nearest[row, columns]]
        values = called(name, np.asarray, called(name, score, query, passages), float)
        if values.shape != (len(passages),) or not np.isfinite(values).all():
            n = len(passages)
            raise InputError(f"{name}: expected {n} finite scores for {n} texts")
        scores[row, columns] = values
    return scores


def combine(candidates, scores, fused, weights, first_stage_weight):
    """Order candidates by the weighted sum of their standardised fused and reranker scores.

    `weights` [Q] is the weight of the reranker in each query; ties go to the better fused rank.
    """
    ids = candidates.ids
    total = (1 - first_stage_weight) * weights[:, None] * z_scores(scores, ids >= 0)
    total = total + first_stage_weight * z_scores(fused.scores_of(ids), ids >= 0)
    total = np.where(ids >= 0, np.round(total, _DECIMALS), -np.inf)
    return best_first(ids, total, fused.ranks_of(ids))


def agreement_weights(candidates, scores, similarity, bounds):
    """Weight of late interaction in each query, by its correlation with the encoder's similarity.

    It is 0 up to the lower bound and 1 from the upper one; 1 where either is constant.
    """
    filled = candidates.ids >= 0
    dense = z_scores(np.round(similarity, 6), filled)
    late = z_scores(scores, filled)
    correlation = (dense * late).sum(axis=1) / np.maximum(candidates.lengths, 1)
    low, high = bounds
    weights = np.clip((np.round(correlation, 6) - low) / (high - low), 0, 1)
    constant = ~(dense.any(axis=1) & late.any(axis=1))
    return np.where(constant, 1.0, weights)
