"""Nearest vectors over faiss: exact where that is affordable, measured where not.

References
----------
.. [1] Douze et al. (2024), The Faiss library, arXiv:2401.08281.
.. [2] Malkov and Yashunin (2020), Efficient and robust approximate nearest neighbor
   search using hierarchical navigable small world graphs, IEEE TPAMI 42(4).
"""

import os

import faiss
import numpy as np

from casebook.errors import InputError
from casebook.retrieval.filters import candidate_mask
from casebook.retrieval.rankings import ABSENT, RankedLists, from_scores, positive_depth, stack
from casebook.stats.samples import check_choice

#: Below this many vectors the search is exact by default.
EXACT_LIMIT = 200_000
KINDS = ("auto", "flat", "hnsw", "ivf")
METRICS = ("cosine", "inner_product")
# Single-precision scores closer than this may be a tie that rounding has split.
_NEAR_TIE = 1e-5
_BLOCK_VALUES = 8_000_000
_PAIRS = 4096


class DenseIndex:
    """Index of vectors, searched by cosine or inner product [1]_."""

    def __init__(self, vectors, kind="auto", metric="cosine"):
        check_choice("kind of index", kind, KINDS)
        check_choice("metric", metric, METRICS)
        self.metric = metric
        self._vectors = self._prepared(vectors)
        self.size, self.dims = self._vectors.shape
        if self.size == 0 or self.dims == 0:
            raise InputError("a dense index needs at least one vector")
        self._longest = float(np.linalg.norm(self._vectors, axis=1).max())
        if kind == "auto":
            kind = "flat" if self.size < EXACT_LIMIT else "hnsw"
        self.kind = kind
        faiss.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
        self._index = _built(self._vectors, kind)

    def search(self, query_vectors, k, allowed=None):
        """Find the most similar vectors of every query."""
        queries = self._prepared(query_vectors)
        if queries.shape[1] != self.dims:
            raise InputError(f"queries have {queries.shape[1]} dimensions, the index {self.dims}")
        depth = min(positive_depth(k), self.size)
        mask = candidate_mask(allowed, len(queries), self.size)
        if mask is None:
            return self._search(self._index, self._vectors, queries, depth)
        if len(mask) == 1:
            return stack([self._within(queries, depth, mask[0])], depth)
        rows = range(len(queries))
        return stack([self._within(queries[[r]], depth, mask[r]) for r in rows], depth)

    def measured_recall(self, query_vectors, k, sample=None, seed=0):
        """Measure how much of the exact result the index returns."""
        queries = np.atleast_2d(np.asarray(query_vectors))
        if sample is not None and sample < len(queries):
            draw = np.random.default_rng(seed).permutation(len(queries))[:sample]
            queries = queries[np.sort(draw)]
        if len(queries) == 0:
            raise InputError("recall of an index needs at least one query")
        exact = self.search(queries, k, np.ones(self.size, dtype=bool))
        found = exact.columns_of(self.search(queries, k).ids) >= 0
        return float(found.sum() / exact.lengths.sum())

    def _prepared(self, vectors):
        """Check vectors, and bring them to unit length for cosine."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise InputError("vectors must be a finite array [items, dims]: check the embeddings")
        if self.metric == "inner_product":
            return vectors
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1)

    def _within(self, queries, depth, mask):
        """Search exactly among the allowed positions."""
        positions = np.flatnonzero(mask)
        if positions.size == 0:
            return from_scores(np.full((len(queries), 1), -np.inf), 1)
        subset = self._vectors[positions]
        depth = min(depth, positions.size)
        lists = self._search(_built(subset, "flat"), subset, queries, depth)
        return RankedLists(positions[lists.ids], lists.scores)

    def _search(self, index, vectors, queries, depth):
        """Search an index in blocks of queries."""
        step = max(1, _BLOCK_VALUES // len(vectors))
        return stack(
            [
                self._settled(index, vectors, queries[start : start + step], depth)
                for start in range(0, len(queries), step)
            ],
            depth,
        )

    def _settled(self, index, vectors, queries, depth):
        """Rank in double precision; fetch on where the cut falls into a near tie."""
        ids = np.full((len(queries), depth), ABSENT)
        scores = np.full(ids.shape, -np.inf)
        tolerance = _NEAR_TIE * self._longest * np.linalg.norm(queries, axis=1)
        open_rows, fetch = np.arange(len(queries)), min(depth + 1, len(vectors))
        while open_rows.size:
            rough, found = index.search(queries[open_rows], fetch)
            precise = _pair_scores(vectors, queries[open_rows], found)
            order = np.lexsort((found, -precise), axis=1)[:, :depth]
            ids[open_rows] = np.take_along_axis(found, order, axis=1)
            scores[open_rows] = np.take_along_axis(precise, order, axis=1)
            if fetch == len(vectors) or not isinstance(index, faiss.IndexFlat):
                break
            close = rough[:, -1] >= scores[open_rows, -1] - tolerance[open_rows]
            open_rows, fetch = open_rows[close], min(4 * fetch, len(vectors))
        return RankedLists(ids, scores)


def _built(vectors, kind):
    """Build the faiss index of one kind."""
    size, dims = vectors.shape
    if kind == "flat":
        index = faiss.IndexFlatIP(dims)
    elif kind == "hnsw":
        index = faiss.IndexHNSWFlat(dims, 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction, index.hnsw.efSearch = 200, 256
    else:
        # Faiss asks for at least 39 training vectors a cell.
        cells = max(1, min(int(4 * np.sqrt(size)), size // 39))
        quantiser = faiss.IndexFlatIP(dims)
        index = faiss.IndexIVFFlat(quantiser, dims, cells, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = max(1, cells // 8)
        index.train(vectors)
    index.add(vectors)
    return index


def _pair_scores(vectors, queries, ids):
    """Inner products in double precision, each summed alone; -inf where absent."""
    scores = np.full(ids.size, -np.inf)
    flat = ids.ravel()
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    present = np.flatnonzero(flat >= 0)
    for start in range(0, present.size, _PAIRS):
        pair = present[start : start + _PAIRS]
        products = queries[rows[pair]].astype(np.float64) * vectors[flat[pair]]
        scores[pair] = products.sum(axis=1)
    return scores.reshape(ids.shape)
