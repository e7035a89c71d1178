"""The stages between a query and its ranked documents, for many queries at once."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

from casebook.retrieval.config import LOOSE
from casebook.retrieval.diversity import maximal_marginal_relevance
from casebook.retrieval.fusion import reciprocal_rank_fusion, standardised_sum, weighted_sum
from casebook.retrieval.rankings import ABSENT, RankedLists, collapse

# Passages fetched for each document wanted; more are fetched when they are too few.
_OVERSAMPLING = 4
# Single-precision products: the rest is noise that would decide ties.
_DECIMALS = 6


@dataclass(frozen=True)
class Request:
    """What is asked of every stage."""

    queries: list
    depth: int
    allowed: np.ndarray | None
    trust: np.ndarray
    vectors: dict = field(default_factory=dict)

    def only(self, rows):
        """Ask for some of the queries."""
        allowed = self.allowed
        if allowed is not None and len(allowed) > 1:
            allowed = allowed[rows]
        queries = [self.queries[row] for row in rows]
        return Request(queries, self.depth, allowed, self.trust[rows])

    def mask(self, owner):
        """Give the mask over passages; ``owner`` is the document of each."""
        return None if self.allowed is None else self.allowed[:, owner]

    def available(self, n_documents):
        """Count the documents each query may return: array of int, (Q,) or (1,)."""
        if self.allowed is None:
            return np.array([n_documents])
        return self.allowed.sum(axis=1)

    def query_vectors(self, encoder, name):
        """Encode the queries once for each dense list."""
        if name not in self.vectors:
            self.vectors[name] = encoder.encode_queries(self.queries)
        return self.vectors[name]


def first_stage_list(index, config, request, name):
    """Retrieve one list of documents, each at its best passage."""
    if name in ("random", "constant"):
        documents = _control_list(len(index), config, request, name)
        return documents, np.full(documents.shape, ABSENT)
    if name in ("bm25", "bm25_stemmed"):
        engine, owner = index.bm25(config, name)
        queries = request.queries
    else:
        engine, owner = index.dense(config, name), index.passages(config).owner
        queries = request.query_vectors(index.encoder(name), name)
    mask = request.mask(owner)
    if mask is not None and len(mask) == 1:
        mask = mask[0]
    target = np.minimum(request.depth, request.available(len(index)))
    fetch = request.depth * (1 if len(owner) == len(index) else _OVERSAMPLING)
    while True:
        lists = engine.search(queries, min(fetch, len(owner)), mask)
        documents, winners = collapse(lists, owner)
        exhausted = lists.lengths < min(fetch, len(owner))
        if fetch >= len(owner) or ((documents.lengths >= target) | exhausted).all():
            break
        fetch *= 2
    if name.startswith("bm25") and config.chunking and not config.bm25_chunks:
        winners = np.full(documents.shape, ABSENT)
    return documents.truncate(request.depth), winners[:, : request.depth]


def _control_list(n_documents, config, request, name):
    """Rank without reading: in random order, or in that of the collection."""
    depth = min(request.depth, n_documents)
    ids = np.full((len(request.queries), depth), ABSENT)
    for row in range(len(ids)):
        allowed = np.arange(n_documents)
        if request.allowed is not None:
            allowed = np.flatnonzero(request.allowed[row % len(request.allowed)])
        if name == "random":
            digest = hashlib.sha256(request.queries[row].encode()).digest()
            seed = [config.seed, int.from_bytes(digest[:8])]
            allowed = np.random.default_rng(seed).permutation(allowed)
        ids[row, : len(allowed[:depth])] = allowed[:depth]
    value = 0.0 if name == "constant" else -np.arange(1.0, depth + 1)
    return RankedLists(ids, np.where(ids >= 0, value, -np.inf))


def fuse(config, lists, depth, trust):
    """Join first-stage lists cut at some depth."""
    cut = [entry.truncate(depth) for entry in lists]
    if len(cut) == 1:
        return cut[0]
    weights = np.array(
        [weight * trust ** LOOSE.get(name, 0.0) for name, weight in zip(config.lists, config.weights, strict=True)]
    )
    if config.fusion == "standardised":
        return standardised_sum(lists, weights, depth, max(depth, 2 * config.pool))
    if config.fusion == "weighted_sum":
        return weighted_sum(cut, weights)
    return reciprocal_rank_fusion(cut, config.rrf_k, weights=weights)


def best_passages(vectors, query_vectors, owner, documents):
    """Find the passage of each document that is nearest to its query."""
    bounds = np.searchsorted(owner, np.arange(owner[-1] + 2))
    best = np.full(documents.shape, ABSENT)
    for row, query in enumerate(query_vectors):
        wanted = documents[row][documents[row] >= 0]
        sizes = bounds[wanted + 1] - bounds[wanted]
        segment = np.repeat(np.arange(len(wanted)), sizes)
        first = np.cumsum(sizes) - sizes
        rows = np.arange(len(segment)) + np.repeat(bounds[wanted] - first, sizes)
        similarity = np.round(vectors[rows] @ query, _DECIMALS)
        order = np.lexsort((-similarity, segment))
        best[row, : len(wanted)] = rows[order[first]]
    return best


def diversify(config, fused, vectors, passages):
    """Keep ``mmr_pool`` documents by maximal marginal relevance."""
    order, values = maximal_marginal_relevance(
        fused.scores,
        vectors,
        config.mmr_lambda,
        min(config.mmr_pool, fused.shape[1]),
        candidates=passages,
        scale_relevance=True,
    )
    return fused.reorder(order, values)


def extend(head, *tails):
    """Continue lists below their end by what other lists hold."""
    ids = np.concatenate([head.ids, *(tail.ids for tail in tails)], axis=1)
    places = np.broadcast_to(-np.arange(float(ids.shape[1])), ids.shape)
    filled = np.argsort(ids < 0, axis=1, kind="stable")
    ids = np.take_along_axis(ids, filled, axis=1)
    joined = RankedLists(ids, np.where(ids >= 0, places, -np.inf))
    distinct, _ = collapse(joined, np.arange(int(ids.max(initial=0)) + 1))
    ranks = np.arange(1.0, distinct.shape[1] + 1)
    return RankedLists(distinct.ids, np.where(distinct.ids >= 0, 1 / ranks, -np.inf))


def spread(parts, n_queries):
    """Put lists of some queries each back into one."""
    depth = max(lists.shape[1] for _, lists in parts)
    ids = np.full((n_queries, depth), ABSENT)
    scores = np.full(ids.shape, -np.inf)
    for rows, lists in parts:
        ids[rows, : lists.shape[1]] = lists.ids
        scores[rows, : lists.shape[1]] = lists.scores
    return RankedLists(ids, scores)
