"""Reranking of fused documents, and its combination with the first stage.

A reranker is a function ``(queries, documents, nearest) -> scores, passages``: `documents` [Q, C]
are positions in the collection and `nearest` [Q, C] the passage of each that is nearest to its
query, -1 for padding. It gives a score of each document, -inf for padding, and the passage that
decided it. To add one, put into `RERANKERS` what builds it from the collection's passages
(`casebook.retrieval.index.Passages`), the reading of long queries and the number of their tokens
that late interaction reads, and name it: ``HybridRetriever(..., reranker="mine")``.
"""

import functools

import numpy as np

from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.retrieval.fuse import z_scores
from casebook.retrieval.ranked import RankedLists, best_first

CROSS_ENCODER = "cross-encoder:"
RERANKER_SIGNATURE = "(query, texts) -> scores"
_DECIMALS = 9  # sums over more or less padding differ in their last bits


def _late_interaction(passages, query_reading, query_tokens, weighting):
    """MaxSim over the tokens of all of a document's passages."""
    from casebook.models.rerankers import MaxSimReranker

    reranker = MaxSimReranker(
        passages.index.encoder(query_reading),
        passages.texts,
        passages.owner,
        weighting,
        query_tokens=query_tokens,
        frequencies=passages.token_frequencies,
    )

    def rerank(queries, documents, nearest):
        return reranker.scores(queries, documents)

    return rerank


def _pass_through(passages, query_reading, query_tokens):

    def rerank(queries, documents, nearest):
        scores = 1 / np.arange(1.0, documents.shape[1] + 1)
        return np.where(documents >= 0, scores, -np.inf), nearest

    return rerank


#: What builds a reranker from passages, by name.
RERANKERS = {
    "maxsim": functools.partial(_late_interaction, weighting="idf"),
    "maxsim-mean": functools.partial(_late_interaction, weighting="mean"),
    "pass-through": _pass_through,
}


def build_reranker(passages, name, query_reading="truncated", query_tokens=None):
    """Build a reranker of `RERANKERS`, or a cross-encoder or plugin that reads nearest passages."""
    if is_plugin(name):
        return _plugin_reranker(name, passages.texts)
    if not name.startswith(CROSS_ENCODER):
        return RERANKERS[name](passages, query_reading, query_tokens)
    from casebook.models.rerankers import CrossEncoderReranker

    settings = passages.index.model_settings
    model = CrossEncoderReranker(name.removeprefix(CROSS_ENCODER), passages.texts, settings)

    def rerank(queries, documents, nearest):
        return model.scores(queries, nearest), nearest

    return rerank


def load_reranker(name):
    """Import a reranker of the user, ``(query, texts) -> scores``, or a class of them."""
    return callable_plugin(name, RERANKER_SIGNATURE)


def _plugin_reranker(name, texts):
    score = load_reranker(name)

    def rerank(queries, documents, nearest):
        scores = np.full(nearest.shape, -np.inf)
        for row, query in enumerate(queries):
            columns = np.flatnonzero(nearest[row] >= 0)
            passages = [texts[passage] for passage in nearest[row, columns]]
            values = called(name, np.asarray, called(name, score, query, passages), float)
            if values.shape != (len(passages),) or not np.isfinite(values).all():
                n = len(passages)
                raise InputError(f"{name}: expected {n} finite scores for {n} texts")
            scores[row, columns] = values
        return scores, nearest

    return rerank


def combine(candidates, scores, fused, weights, first_stage_weight):
    """Order candidates by the weighted sum of their standardised fused and reranker scores.

    `weights` [Q] is the weight of the reranker in each query; ties go to the better fused rank.
    """
    fused_scores = fused.scores_of(candidates.ids)
    first_stage = z_scores(RankedLists(candidates.ids, fused_scores))
    second_stage = z_scores(RankedLists(candidates.ids, scores))
    total = (1 - first_stage_weight) * weights[:, None] * second_stage
    total = total + first_stage_weight * first_stage
    total = np.where(candidates.ids >= 0, np.round(total, _DECIMALS), -np.inf)
    return best_first(candidates.ids, total, fused.ranks_of(candidates.ids))


def agreement_weights(candidates, scores, similarity, bounds):
    """Weight of late interaction in each query, by its correlation with the encoder's similarity.

    It is 0 up to the lower bound and 1 from the upper one; 1 where either is constant.
    """
    similarity = np.where(candidates.ids >= 0, np.round(similarity, 6), -np.inf)
    dense = z_scores(RankedLists(candidates.ids, similarity))
    late = z_scores(RankedLists(candidates.ids, scores))
    correlation = (dense * late).sum(axis=1) / np.maximum(candidates.lengths, 1)
    low, high = bounds
    weights = np.clip((np.round(correlation, 6) - low) / (high - low), 0, 1)
    constant = ~(dense.any(axis=1) & late.any(axis=1))
    return np.where(constant, 1.0, weights)
