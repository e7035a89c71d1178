"""The two kinds of first-stage search: BM25 over bm25s, with stemmers, and nearest vectors over faiss.

Robertson and Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond, FnTIR 3(4). Lù (2024), BM25S,
arXiv:2407.03618. Douze et al. (2024), The Faiss library, arXiv:2401.08281.
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
    ABSENT,
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
#: BM25 settings by name. ``default``: those of bm25s. ``leaderboard``: of the MTEB leaderboard's BM25 baseline.
#: ``okapi_porter``: of the PDPABench authors (rank_bm25's Okapi, tuned); the untuned one is inside their hybrid.
PRESETS = {
    "default": {},
    "leaderboard": {"stemmer": "english"},
    "okapi_porter": _PDPABENCH | {"k1": 1.2, "b": 0.3},
    "okapi_porter_untuned": _PDPABENCH | {"k1": 1.5, "b": 0.75},
}
_STOP_LISTS = {"en": STOPWORDS_EN, "en_plus": STOPWORDS_EN_PLUS, None: []}
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"
_OKAPI_EPSILON = 0.25  # of rank_bm25: what a negative idf becomes, as a share of the mean

_NEAR_TIE = 1e-5  # single-precision scores closer than this may be a tie that rounding has split
_BLOCK_VALUES, _PAIRS = 8_000_000, 4096


class BM25Index:
    """BM25 of a collection; a search returns only texts that share a word with the query."""

    def __init__(
        self,
        texts,
        method="lucene",
        k1=1.5,
        b=0.75,
        stopwords="en",
        stemmer=None,
        token_pattern=None,
    ):
        self._tokenising = {
            "token_pattern": token_pattern or _TOKEN_PATTERN,
            "stopwords": list(_STOP_LISTS[stopwords]),
            "stemmer": stemmer and stemmer_named(stemmer),
        }
        self.size = len(texts)
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
        mask, tokens = as_mask(allowed), self._tokens(queries)
        step, parts = max(1, _BLOCK_VALUES // self.size), []
        for start in range(0, len(tokens), step):
            block = slice(start, start + step)
            scores = np.stack([self._scores(words) for words in tokens[block]])
            keep = scores > 0
            if mask is not None:
                keep &= mask if len(mask) == 1 else mask[block]
            parts.append(from_scores(np.where(keep, scores, -np.inf), k))
        return stack(parts or [RankedLists.empty(0)])

    def weights(self):
        """Weight of each word in each text, sparse [N, V]."""
        parts = self._bm25.scores
        shape = self.size, len(parts["indptr"]) - 1
        return scipy.sparse.csc_array(
            (parts["data"], parts["indices"], parts["indptr"]), shape=shape
        ).tocsr()

    def _tokens(self, texts):
        return bm25s.tokenize(
            list(texts), **self._tokenising, return_ids=False, show_progress=False
        )

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
        if not self._vectors.size:
            raise InputError("a dense index needs at least one vector")
        faiss.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
        self._index = faiss.IndexFlatIP(self.dims)
        self._index.add(self._vectors)

    def search(self, query_vectors, k, allowed=None):
        """Find the most similar vectors of every query; exact."""
        queries = _unit(query_vectors)
        if queries.shape[1] != self.dims:
            raise InputError(f"queries have {queries.shape[1]} dimensions, the index {self.dims}")
        depth, mask = min(positive_depth(k), self.size), as_mask(allowed)
        if mask is None or len(mask) == 1:
            return self._settled(
                queries, depth, np.arange(self.size) if mask is None else np.flatnonzero(mask[0])
            )
        return stack(
            [
                self._settled(queries[[row]], depth, np.flatnonzero(one))
                for row, one in enumerate(mask)
            ]
        )

    def _settled(self, queries, depth, positions):
        """Rank some positions in double precision; fetch on where the cut falls into a near tie."""
        depth = min(depth, positions.size)
        if depth == 0:
            return RankedLists.empty(len(queries))
        chosen = None
        if positions.size < self.size:
            chosen = faiss.SearchParameters(sel=faiss.IDSelectorBatch(positions))
        ids, scores = (
            np.full((len(queries), depth), ABSENT),
            np.full((len(queries), depth), -np.inf),
        )
        open_rows, fetch = np.arange(len(queries)), min(depth + 1, positions.size)
        while open_rows.size:
            rough, found = self._index.search(queries[open_rows], fetch, params=chosen)
            precise = _pair_scores(self._vectors, queries[open_rows], found)
            settled = best_first(found, precise).truncate(depth)
            ids[open_rows], scores[open_rows] = settled.ids, settled.scores
            if fetch == positions.size:
                break
            close = rough[:, -1] >= scores[open_rows, -1] - _NEAR_TIE
            open_rows, fetch = open_rows[close], min(4 * fetch, positions.size)
        return RankedLists(ids, scores)


def _unit(vectors):
    """Check vectors, and bring them to unit length; zero stays zero."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError("vectors must be a finite array [items, dims]: check the embeddings")
    return unit_rows(vectors)


def _pair_scores(vectors, queries, ids):
    """Inner products in double precision, each summed alone."""
    scores, flat = np.empty(ids.size), ids.ravel()
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    for start in range(0, flat.size, _PAIRS):
        pair = slice(start, start + _PAIRS)
        scores[pair] = (queries[rows[pair]].astype(np.float64) * vectors[flat[pair]]).sum(axis=1)
    return scores.reshape(ids.shape)


# Stemmers. PyStemmer's ``porter`` is Porter's own algorithm (1980, Program 14(3)). What most Python work means is that
# of the Natural Language Toolkit (Bird, Klein and Loper 2009), which leaves short and irregular words alone and treats
# final ``y`` after a vowel, ``-ied`` and ``-fully`` differently. Published figures depend on that.


def stemmer_named(name):
    """Look up a stemmer of lists of words."""
    check_choice("stemmer", name, ("english", "porter", "porter_extended"))
    if name == "porter_extended":
        from nltk.stem.porter import PorterStemmer  # slow to import, and needed here alone

        stem = PorterStemmer().stem
        return lambda words: [stem(word) for word in words]
    return Stemmer.Stemmer(name).stemWords
