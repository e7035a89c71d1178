"""The two kinds of first-stage search: words (BM25, over bm25s) and vectors (cosine, over faiss).

Robertson and Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond, FnTIR 3(4).
Lù (2024), BM25S, arXiv:2407.03618. Douze et al. (2024), The Faiss library, arXiv:2401.08281.
"""

import math
import os

import bm25s
import faiss
import numpy as np
import scipy.sparse
import Stemmer
from bm25s.stopwords import STOPWORDS_EN, STOPWORDS_EN_PLUS

from casebook.errors import InputError
from casebook.models.cache import unit_rows
from casebook.retrieval.ranked import (
    RankedLists,
    as_mask,
    best_first,
    from_scores,
    positive_depth,
    stack,
)
from casebook.stats.samples import check_choice

_PDPABENCH = {
    "method": "okapi",
    "stopwords": "en_plus",
    "stemmer": "porter_extended",
    "token_pattern": r"[a-z0-9]+",
}
#: BM25 settings by name. ``default``: those of bm25s. ``leaderboard``: of the MTEB leaderboard's
#: BM25 baseline. ``okapi_porter``: of the PDPABench authors (rank_bm25's Okapi, tuned); the untuned
#: one is inside their hybrid.
PRESETS = {
    "default": {},
    "leaderboard": {"stemmer": "english"},
    "okapi_porter": _PDPABENCH | {"k1": 1.2, "b": 0.3},
    "okapi_porter_untuned": _PDPABENCH | {"k1": 1.5, "b": 0.75},
}
_STOP_LISTS = {"en": STOPWORDS_EN, "en_plus": STOPWORDS_EN_PLUS, None: []}
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"
BM25_K1 = 1.5
BM25_B = 0.75
_VECTORS_OF_A_CLUSTER = 39  # that faiss wants at least
_OKAPI_EPSILON = 0.25  # of rank_bm25: what a negative idf becomes, as a share of the mean

# Scores in single precision that are closer than this may be a tie, which rounding has split.
_NEAR_TIE = 1e-5
_SCORES_AT_ONCE = 8_000_000  # of all texts for a block of queries
_PAIRS_AT_ONCE = 4096


class BM25Index:
    """BM25 of a collection; a search returns only texts that share a word with the query."""

    def __init__(
        self,
        texts,
        method="lucene",
        k1=BM25_K1,
        b=BM25_B,
        stopwords="en",
        stemmer=None,
        token_pattern=_TOKEN_PATTERN,
    ):
        self.size = len(texts)
        self._token_pattern = token_pattern
        self._stopwords = list(_STOP_LISTS[stopwords])
        self._stemmer = None if stemmer is None else load_stemmer(stemmer)
        # Double precision: single would make ties of scores that differ.
        self._bm25 = bm25s.BM25(
            k1=k1, b=b, method="lucene" if method == "okapi" else method, dtype="float64"
        )
        tokens = self._tokens(texts)
        if not any(tokens):
            raise InputError("no text of the BM25 index holds a word to index")
        self._bm25.index(tokens, show_progress=False)
        if method == "okapi":
            _rescale_to_okapi(self._bm25.scores)

    def search(self, queries, k, allowed=None):
        """Find the texts with the highest positive scores."""
        mask = as_mask(allowed)
        tokens = self._tokens(queries)
        block_size = max(1, _SCORES_AT_ONCE // self.size)
        blocks = []
        for start in range(0, len(tokens), block_size):
            block = slice(start, start + block_size)
            scores = np.stack([self._scores(words) for words in tokens[block]])
            retrieved = scores > 0
            if mask is not None:
                retrieved &= mask if len(mask) == 1 else mask[block]
            blocks.append(from_scores(np.where(retrieved, scores, -np.inf), k))
        return stack(blocks) if blocks else RankedLists.empty(0)

    def weights(self):
        """Weight of each word in each text, sparse [N, V]."""
        scores = self._bm25.scores
        matrix = scipy.sparse.csc_array(
            (scores["data"], scores["indices"], scores["indptr"]),
            shape=(self.size, len(scores["indptr"]) - 1),
        )
        return matrix.tocsr()

    def _tokens(self, texts):
        return _word_lists(texts, self._token_pattern, self._stopwords, self._stemmer)

    def _scores(self, words):
        token_ids = self._bm25.get_tokens_ids(words)
        if not token_ids:
            return np.zeros(self.size)
        return self._bm25.get_scores_from_ids(token_ids)


def word_lists(texts, stopwords="en", stemmer=None, token_pattern=_TOKEN_PATTERN):
    """Cut texts into the words that BM25 counts, as a preset says."""
    stem = None if stemmer is None else load_stemmer(stemmer)
    return _word_lists(texts, token_pattern, list(_STOP_LISTS[stopwords]), stem)


def _word_lists(texts, token_pattern, stopwords, stemmer):
    return bm25s.tokenize(
        list(texts),
        token_pattern=token_pattern,
        stopwords=stopwords,
        stemmer=stemmer,
        return_ids=False,
        show_progress=False,
    )


def _rescale_to_okapi(index):
    """Exchange Lucene's idf for rank_bm25's in an eagerly scored index, in place."""
    n = index["num_docs"]
    df = np.diff(index["indptr"])
    ratio = (n - df + 0.5) / (df + 0.5)
    okapi = np.log(ratio)
    # Summed without rounding, since the order of the words is not reproducible.
    mean = math.fsum(okapi[df > 0]) / max(1, (df > 0).sum())
    okapi = np.where(okapi < 0, _OKAPI_EPSILON * mean, okapi)
    index["data"] *= np.repeat(okapi / np.log1p(ratio), df)


class DenseIndex:
    """Vectors searched by cosine; a pair scores the same whatever else is searched."""

    def __init__(self, vectors):
        self._vectors = _unit_vectors(vectors)
        self.size, self.dims = self._vectors.shape
        if not self._vectors.size:
            raise InputError("a dense index needs at least one vector")
        faiss.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
        self._index = faiss.IndexFlatIP(self.dims)
        self._index.add(self._vectors)

    def search(self, query_vectors, k, allowed=None):
        """Find the most similar vectors of every query; exact."""
        queries = _unit_vectors(query_vectors)
        if queries.shape[1] != self.dims:
            raise InputError(f"queries have {queries.shape[1]} dimensions, the index {self.dims}")
        k = positive_depth(k)
        mask = as_mask(allowed)
        if mask is None:
            return self._search_in(np.arange(self.size), queries, k)
        if len(mask) == 1:
            return self._search_in(np.flatnonzero(mask[0]), queries, k)
        lists = []
        for row, allowed_of_query in enumerate(mask):
            lists.append(self._search_in(np.flatnonzero(allowed_of_query), queries[[row]], k))
        return stack(lists)

    def _search_in(self, positions, queries, k):
        k = min(k, len(positions))
        if k == 0:
            return RankedLists.empty(len(queries))
        return self._best(positions, queries, k, n_candidates=min(k + 1, len(positions)))

    def _best(self, positions, queries, k, n_candidates):
        """Rank candidates of single precision in double; take more where the cut is a near tie."""
        parameters = None
        if len(positions) < self.size:
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBatch(positions))
        rough_scores, ids = self._index.search(queries, n_candidates, params=parameters)
        lists = best_first(ids, _inner_products(self._vectors, queries, ids)).truncate(k)
        if n_candidates == len(positions):
            return lists
        near_tie = np.flatnonzero(rough_scores[:, -1] >= lists.scores[:, -1] - _NEAR_TIE)
        if near_tie.size == 0:
            return lists
        more_candidates = min(4 * n_candidates, len(positions))
        settled = self._best(positions, queries[near_tie], k, more_candidates)
        return lists.replace(near_tie, settled)


def _unit_vectors(vectors):
    """Check vectors, and bring them to unit length; zero stays zero."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError("vectors must be a finite array [items, dims]: check the embeddings")
    return unit_rows(vectors)


def _inner_products(vectors, queries, ids):
    """Inner products of queries and their candidates in double precision, each summed alone."""
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    candidates = ids.ravel()
    scores = np.empty(ids.size)
    for start in range(0, ids.size, _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        products = queries[rows[block]].astype(np.float64) * vectors[candidates[block]]
        scores[block] = products.sum(axis=1)
    return scores.reshape(ids.shape)


# PyStemmer's ``porter`` is Porter's own algorithm (1980, Program 14(3)). What most Python work
# means is that of the Natural Language Toolkit (Bird, Klein and Loper 2009), which leaves short and
# irregular words alone and treats final ``y`` after a vowel, ``-ied`` and ``-fully`` differently.
# Published figures depend on that.
_STEMMERS = ("english", "porter", "porter_extended")


def load_stemmer(name):
    """Give a function that stems a list of words."""
    check_choice("stemmer", name, _STEMMERS)
    if name != "porter_extended":
        return Stemmer.Stemmer(name).stemWords
    from nltk.stem.porter import PorterStemmer  # slow to import, and needed here alone

    stemmer = PorterStemmer()

    def stem(words):
        return [stemmer.stem(word) for word in words]

    return stem


class InvertedFile:
    """Vectors in clusters, of which a search reads those nearest to the query alone: not exact.

    The clusters are mapped from a file; scores are those of `DenseIndex`.
    """

    def __init__(self, path, vectors, probe):
        self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
        self._vectors = vectors
        self._probe = probe

    @staticmethod
    def of(vectors, clusters):
        """Divide vectors into clusters; give the bytes of the file."""
        vectors = _unit_vectors(vectors)
        clusters = max(1, min(clusters, len(vectors) // _VECTORS_OF_A_CLUSTER))
        faiss.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
        centres = faiss.IndexFlatIP(vectors.shape[1])
        index = faiss.IndexIVFFlat(centres, vectors.shape[1], clusters, faiss.METRIC_INNER_PRODUCT)
        index.train(vectors)
        index.add(vectors)
        return faiss.serialize_index(index)

    def search(self, query_vectors, k, allowed=None):
        """Find similar vectors of every query, of which some may be missed."""
        queries = _unit_vectors(query_vectors)
        mask = as_mask(allowed)
        if mask is None or len(mask) == 1:
            return self._search_in(mask, queries, k)
        lists = []
        for row, allowed_of_query in enumerate(mask):
            lists.append(self._search_in(allowed_of_query[None], queries[[row]], k))
        return stack(lists)

    def _search_in(self, mask, queries, k):
        parameters = faiss.SearchParametersIVF(nprobe=self._probe)
        if mask is not None:
            selector = faiss.IDSelectorBatch(np.flatnonzero(mask[0]))
            parameters = faiss.SearchParametersIVF(nprobe=self._probe, sel=selector)
        k = min(positive_depth(k), self._index.ntotal)
        _, ids = self._index.search(queries, k, params=parameters)
        rows, positions = np.unique(np.maximum(ids, 0), return_inverse=True)
        vectors = _unit_vectors(self._vectors[rows])
        scores = _inner_products(vectors, queries, positions.reshape(ids.shape))
        return best_first(ids, np.where(ids >= 0, scores, -np.inf))
