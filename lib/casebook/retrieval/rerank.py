"""Reranking of fused documents, and its combination with the first stage.

A reranker is a function ``(queries, documents, nearest) -> scores, passages``: `documents` [Q, C] are positions in the
collection and `nearest` [Q, C] the passage of each that is nearest to its query, -1 for padding; it gives a score of
each document, -inf for padding, and the passage that decided it. To add one, put into `RERANKERS` what builds it from
the collection's passages (`casebook.retrieval.index.Passages`) and the reading of long queries, and name it:
``HybridRetriever(..., reranker="mine")``.
"""

import numpy as np

from casebook.errors import InputError
from casebook.plugins import array_of, callable_plugin, called, instance, is_plugin
from casebook.retrieval.fuse import z_scores
from casebook.retrieval.ranked import RankedLists, best_first

CROSS_ENCODER = "cross-encoder:"
RERANKS = "(query, texts) -> scores"
_DECIMALS = 9  # sums over more or less padding differ in their last bits


def _late_interaction(weighting):
    """MaxSim over the tokens of all of a document's passages."""

    def build(passages, query_reading):
        from casebook.models.rerankers import MaxSimReranker, RememberedScores

        reranker = MaxSimReranker(
            passages.encoder(query_reading), passages.texts, passages.owner, weighting
        )
        reranker.prepare()  # one pass over a small collection gives tokens, and pooled vectors for the dense list
        if passages.index.remember_scores:
            reranker = RememberedScores(reranker)
        return lambda queries, documents, nearest: reranker.scores(queries, documents)

    return build


def _pass_through(passages, query_reading):
    """Scores by position, which change nothing."""
    return lambda queries, documents, nearest: (
        np.where(documents >= 0, 1 / np.arange(1.0, documents.shape[1] + 1), -np.inf),
        nearest,
    )


#: What builds a reranker from passages, by name.
RERANKERS = {
    "maxsim": _late_interaction("idf"),
    "maxsim-mean": _late_interaction("mean"),
    "pass-through": _pass_through,
}


def build_reranker(name, passages, query_reading="truncated"):
    """Build a reranker of `RERANKERS`, or a cross-encoder or a plugin that reads the nearest passages."""
    if is_plugin(name):
        return _plugged(name, passages.texts)
    if not name.startswith(CROSS_ENCODER):
        return RERANKERS[name](passages, query_reading)
    from casebook.models.rerankers import CrossEncoderReranker

    model = CrossEncoderReranker(name.removeprefix(CROSS_ENCODER), passages.texts)
    return lambda queries, documents, nearest: (model.scores(queries, nearest), nearest)


def load_reranker(name):
    """Import a reranker of the user's own: ``(query, texts) -> scores``, or a class of such."""
    found = callable_plugin(name, RERANKS)
    return instance(name, found, RERANKS) if isinstance(found, type) else found


def _plugged(name, texts):
    score = load_reranker(name)

    def scores(queries, documents, nearest):
        found = np.full(nearest.shape, -np.inf)
        for row, query in enumerate(queries):
            places = np.flatnonzero(nearest[row] >= 0)
            read = [texts[passage] for passage in nearest[row, places]]
            values = array_of(called(name, score, query, read), float)
            if values.shape != (len(read),) or not np.isfinite(values).all():
                raise InputError(
                    f"{name}: expected {len(read)} finite scores for {len(read)} texts"
                )
            found[row, places] = values
        return found, nearest

    return scores


def rerank(config, reranker, given, fused, nearest, queries, trust, similarity):
    """Order documents by reranker and fused score: own list, combined list, deciding passages.

    `trust` [Q] weighs the reranker; `similarity` [Q, C] is the cosine of each document's nearest passage, by which
    late interaction must agree with the encoder to be heard.
    """
    scores, passages = reranker(queries, given.ids, nearest)
    ranks = fused.ranks_of(given.ids)
    own = best_first(given.ids, scores, ranks)
    if config.reranker == "pass-through":
        return own, own, passages
    second = z_scores(RankedLists(given.ids, scores))
    if config.reranker.startswith("maxsim") and config.agreement is not None and given.shape[1]:
        trust = trust * _agreement(config.agreement, given, second, similarity)
    first = z_scores(RankedLists(given.ids, fused.scores_of(given.ids)))
    share = config.first_stage_weight
    mixed = (1 - share) * trust[:, None] * second + share * first
    mixed = np.where(given.ids >= 0, np.round(mixed, _DECIMALS), -np.inf)
    return own, best_first(given.ids, mixed, ranks), passages


def _agreement(bounds, given, second, similarity):
    """How far late interaction is heard [Q], by its correlation with the encoder's own similarity."""
    similarity = np.where(given.ids >= 0, np.round(similarity, 6), -np.inf)
    first = z_scores(RankedLists(given.ids, similarity))
    flat = ~(first.any(axis=1) & second.any(axis=1))
    correlation = (first * second).sum(axis=1) / np.maximum(given.lengths, 1)
    low, high = bounds
    return np.where(flat, 1.0, np.clip((np.round(correlation, 6) - low) / (high - low), 0, 1))
