"""The two kinds of first-stage search: BM25 over bm25s, and nearest vectors over faiss.

Robertson and Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond, FnTIR 3(4). Lù (2024), BM25S,
arXiv:2407.03618. Douze et al. (2024), The Faiss library, arXiv:2401.08281.
"""

import math
import os

import bm25s
import faiss
import numpy as np
import scipy.sparse
from bm25s.stopwords import STOPWORDS_EN, STOPWORDS_EN_PLUS

from casebook.errors import InputError
from casebook.retrieval.ranked import ABSENT, RankedLists, as_mask, from_scores, positive_depth, stack
from casebook.retrieval.settings import PRESETS
from casebook.retrieval.stemming import stemmer as stemmer_by_name

_STOP_LISTS = {"en": STOPWORDS_EN, "en_plus": STOPWORDS_EN_PLUS, None: []}
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"
_OKAPI_EPSILON = 0.25  # of rank_bm25: what a negative idf becomes, as a share of the mean

_NEAR_TIE = 1e-5  # single-precision scores closer than this may be a tie that rounding has split
_BLOCK_VALUES, _PAIRS = 8_000_000, 4096


class BM25Index:
    """BM25 of a collection; a search returns only texts that share a word with the query."""

    def __init__(self, texts, method="lucene", k1=1.5, b=0.75, stopwords="en", stemmer=None, token_pattern=None):
        if len(texts) == 0:
            raise InputError("a BM25 index needs at least one text")
        self._tokenising = {
            "token_pattern": token_pattern or _TOKEN_PATTERN,
            "stopwords": list(_STOP_LISTS[stopwords]),
            "stemmer": stemmer_by_name(stemmer),
        }
        self.size = len(texts)
        # Double precision: single would make ties of scores that differ.
        self._bm25 = bm25s.BM25(k1=k1, b=b, method="lucene" if method == "okapi" else method, dtype="float64")
        tokens = self._tokens(texts)
        if not any(tokens):
            raise InputError("no text of the BM25 index holds a word to index")
        self._bm25.index(tokens, show_progress=False)
        if method == "okapi":
            _rescale_to_okapi(self._bm25.scores)

    @classmethod
    def from_preset(cls, texts, name="default"):
        """Build an index with named settings."""
        return cls(texts, **PRESETS[name])

    def search(self, queries, k, allowed=None):
        """Find the texts with the highest positive scores."""
        k = positive_depth(k)
        mask, tokens = as_mask(allowed, len(queries), self.size), self._tokens(queries)
        step, parts = max(1, _BLOCK_VALUES // self.size), []
        for start in range(0, len(tokens), step):
            block = slice(start, start + step)
            scores = np.stack([self._scores(words) for words in tokens[block]])
            keep = scores > 0
            if mask is not None:
                keep &= mask if len(mask) == 1 else mask[block]
            parts.append(from_scores(np.where(keep, scores, -np.inf), k))
        return stack(parts, min(k, self.size))

    def weights(self):
        """Weight of each word in each text, sparse [N, V]."""
        parts = self._bm25.scores
        shape = self.size, len(parts["indptr"]) - 1
        return scipy.sparse.csc_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape).tocsr()

    def _tokens(self, texts):
        return bm25s.tokenize(list(texts), **self._tokenising, return_ids=False, show_progress=False)

    def _scores(self, words):
        known = self._bm25.get_tokens_ids(words)
        return self._bm25.get_scores_from_ids(known) if known else np.zeros(self.size)


def _rescale_to_okapi(index):
    """Exchange Lucene's idf for rank_bm25's in an eagerly scored index, in place."""
    n, df = index["num_docs"], np.diff(index["indptr"])
    ratio = (n - df + 0.5) / (df + 0.5)
    okapi = np.log(ratio)
    # Summed without rounding, since the order of the words is not reproducible.
    mean = math.fsum(okapi[df > 0]) / max(1, (df > 0).sum())
    okapi = np.where(okapi < 0, _OKAPI_EPSILON * mean, okapi)
    index["data"] *= np.repeat(okapi / np.log1p(ratio), df)


class DenseIndex:
    """Vectors searched by cosine; a pair scores the same whatever else is searched."""

    def __init__(self, vectors):
        self._vectors = _unit(vectors)
        self.size, self.dims = self._vectors.shape
        if self.size == 0 or self.dims == 0:
            raise InputError("a dense index needs at least one vector")
        faiss.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
        self._index = _built(self._vectors)

    def search(self, query_vectors, k, allowed=None):
        """Find the most similar vectors of every query; exact."""
        queries = _unit(query_vectors)
        if queries.shape[1] != self.dims:
            raise InputError(f"queries have {queries.shape[1]} dimensions, the index {self.dims}")
        depth = min(positive_depth(k), self.size)
        mask = as_mask(allowed, len(queries), self.size)
        if mask is None:
            return self._search(self._index, self._vectors, queries, depth)
        if len(mask) == 1:
            return stack([self._within(queries, depth, mask[0])], depth)
        return stack([self._within(queries[[row]], depth, mask[row]) for row in range(len(queries))], depth)

    def _within(self, queries, depth, mask):
        """Search exactly among the allowed positions."""
        positions = np.flatnonzero(mask)
        if positions.size == 0:
            return RankedLists.empty(len(queries))
        subset = self._vectors[positions]
        lists = self._search(_built(subset), subset, queries, min(depth, positions.size))
        return RankedLists(positions[lists.ids], lists.scores)

    def _search(self, index, vectors, queries, depth):
        step = max(1, _BLOCK_VALUES // len(vectors))
        blocks = range(0, len(queries), step)
        return stack([self._settled(index, vectors, queries[at : at + step], depth) for at in blocks], depth)

    def _settled(self, index, vectors, queries, depth):
        """Rank in double precision; fetch on where the cut falls into a near tie."""
        ids, scores = np.full((len(queries), depth), ABSENT), np.full((len(queries), depth), -np.inf)
        open_rows, fetch = np.arange(len(queries)), min(depth + 1, len(vectors))
        while open_rows.size:
            rough, found = index.search(queries[open_rows], fetch)
            precise = _pair_scores(vectors, queries[open_rows], found)
            order = np.lexsort((found, -precise), axis=1)[:, :depth]
            ids[open_rows] = np.take_along_axis(found, order, axis=1)
            scores[open_rows] = np.take_along_axis(precise, order, axis=1)
            if fetch == len(vectors):
                break
            close = rough[:, -1] >= scores[open_rows, -1] - _NEAR_TIE
            open_rows, fetch = open_rows[close], min(4 * fetch, len(vectors))
        return RankedLists(ids, scores)


def _unit(vectors):
    """Check vectors, and bring them to unit length; zero stays zero."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError("vectors must be a finite array [items, dims]: check the embeddings")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def _built(vectors):
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def _pair_scores(vectors, queries, ids):
    """Inner products in double precision, each summed alone; -inf where absent."""
    scores, flat = np.full(ids.size, -np.inf), ids.ravel()
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    present = np.flatnonzero(flat >= 0)
    for start in range(0, present.size, _PAIRS):
        pair = present[start : start + _PAIRS]
        scores[pair] = (queries[rows[pair]].astype(np.float64) * vectors[flat[pair]]).sum(axis=1)
    return scores.reshape(ids.shape)
