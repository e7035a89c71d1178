"""The two kinds of first-stage search: words (BM25, over bm25s) and vectors (cosine, over faiss).

Robertson and Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond, FnTIR 3(4).
Lù (2024), BM25S, arXiv:2407.03618. Douze et al. (2024), The Faiss library, arXiv:2401.08281.
"""

import os

import faiss
import numpy as np
import scipy.sparse
import Stemmer

from casebook.errors import InputError
from casebook.files import write_json
from casebook.lazy import module_without
from casebook.models.cache import unit_rows
from casebook.readers import read_json
from casebook.retrieval.ranked import (
    ABSENT,
    RankedLists,
    best_first,
    from_scores,
    positive_depth,
    stack,
)

bm25s = module_without("bm25s", "jax")  # which it would load, and is not used here

#: BM25 settings by name. ``default``: those of bm25s. ``leaderboard``: of the MTEB leaderboard's
#: BM25 baseline. Words and stop words are theirs, and not `casebook.text`'s: published scores are
#: reproduced only with them.
PRESETS = {"default": None, "leaderboard": "english"}
_MEAN_WORDS = "mean_words.json"  # beside a saved index
# Scores in single precision that are closer than this may be a tie, which rounding has split.
_NEAR_TIE = 1e-5
# In memory at a time: scores of all texts for a block of queries, and rows of vectors.
_SCORES_AT_ONCE = 8_000_000
_ROWS_AT_ONCE = 100_000
_DECIMALS = 9  # of weights that decide which words count


class BM25Index:
    """BM25 of a collection; a search returns only texts that share a word with the query.

    With `folder` the index that `save` wrote there is mapped into memory.
    """

    def __init__(self, texts, preset="default", folder=None):
        self.size = len(texts)
        language = PRESETS[preset]
        self._stem = language and Stemmer.Stemmer(language).stemWords
        if folder is not None:
            self._bm25 = bm25s.BM25.load(folder, mmap=True)
            self.mean_words = read_json(folder / _MEAN_WORDS)
            return
        tokens = self._tokens(texts)
        n_words = sum(map(len, tokens))
        if not n_words:
            raise InputError("no text of the BM25 index holds a word to index")
        self.mean_words = n_words / self.size
        # Double precision: single would make ties of scores that differ.
        self._bm25 = bm25s.BM25(dtype="float64")
        self._bm25.index(tokens, show_progress=False)

    def save(self, folder):
        self._bm25.save(folder, show_progress=False)
        write_json(folder / _MEAN_WORDS, self.mean_words)

    def search(self, queries, k, allowed=None, words=None):
        """Find the texts with the highest positive scores; a word that stands twice counts twice.

        Of a query with more than `words` different words the best ones are read.
        """
        index = self._bm25.scores
        read = self._token_ids(queries)
        if words is not None:
            read = [self._best_words(token_ids, words) for token_ids in read]
        mask = np.broadcast_to(
            True if allowed is None else allowed, (len(read), self.size)
        )
        parts = []
        for block in _blocks(len(read), self.size):
            scores = np.zeros(mask[block].shape)
            for of_query, token_ids in zip(scores, read[block], strict=True):
                for token_id in token_ids:
                    part = slice(*index["indptr"][token_id : token_id + 2])
                    of_query[index["indices"][part]] += index["data"][part]
            parts.append(
                from_scores(np.where(mask[block] & (scores > 0), scores, -np.inf), k)
            )
        return stack(parts)

    def count_words(self, queries):
        return np.array(
            [len(np.unique(ids)) for ids in self._token_ids(queries)], dtype=int
        )

    def _token_ids(self, queries):
        words = self._tokens(queries)
        return [
            np.array(self._bm25.get_tokens_ids(each), dtype=np.int64) for each in words
        ]

    def _best_words(self, token_ids, limit):
        """Keep the words with the highest idf times log(1 + frequency), the first of equals."""
        distinct, first, counts = np.unique(
            token_ids, return_index=True, return_counts=True
        )
        df = np.diff(self._bm25.scores["indptr"])[distinct]
        idf = np.log1p((self.size - df + 0.5) / (df + 0.5))
        order = np.lexsort((first, -np.round(idf * np.log1p(counts), _DECIMALS)))
        return token_ids[np.isin(token_ids, distinct[order[:limit]])]

    def weights(self):
        """Sparse matrix of texts and words."""
        scores = self._bm25.scores
        arrays = scores["data"], scores["indices"], scores["indptr"]
        shape = self.size, len(scores["indptr"]) - 1
        return scipy.sparse.csc_array(arrays, shape=shape).tocsr()

    def _tokens(self, texts):
        return bm25s.tokenize(
            list(texts),
            stopwords="en",
            stemmer=self._stem,
            return_ids=False,
            show_progress=False,
        )


class DenseIndex:
    """Vectors searched by cosine; a pair scores the same whatever else is searched.

    They are an array, or anything of rows of which some are in memory at a time.
    """

    def __init__(self, vectors):
        self._vectors = vectors
        faiss.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))

    def search(self, query_vectors, k, allowed=None):
        queries = _unit_vectors(query_vectors)
        k = min(positive_depth(k), len(self._vectors))
        found = RankedLists.empty(len(queries))
        for block in _blocks(len(self._vectors), len(queries)):
            vectors = _unit_vectors(self._vectors[block])
            masks = None if allowed is None else allowed[:, block]
            lists = _nearest_allowed(vectors, queries, k, masks)
            ids = np.where(lists.ids >= 0, lists.ids + block.start, ABSENT)
            ids = np.concatenate([found.ids, ids], axis=1)
            scores = np.concatenate([found.scores, lists.scores], axis=1)
            found = best_first(ids, scores).truncate(k)
        return found


def _nearest_allowed(vectors, queries, k, masks):
    """Nearest of the vectors that each query may find: all, or those of its mask."""
    if masks is None:
        return _nearest(vectors, queries, k)
    lists = []
    masks = np.broadcast_to(masks, (len(queries), len(vectors)))
    for query, mask in zip(queries, masks, strict=True):
        positions = np.append(np.flatnonzero(mask), ABSENT)
        found = _nearest(vectors[positions[:-1]], query[None], k)
        lists.append(RankedLists(positions[found.ids], found.scores))
    return stack(lists)


def _nearest(vectors, queries, k):
    """Rank candidates of single precision in double; take more where the cut is a near tie."""
    if not len(vectors):
        return RankedLists.empty(len(queries))
    k = min(k, len(vectors))
    n_candidates = k + 1
    while True:
        n_candidates = min(n_candidates, len(vectors))
        rough, ids = faiss.knn(
            queries, vectors, n_candidates, faiss.METRIC_INNER_PRODUCT
        )
        scores = np.zeros(ids.shape)
        for row, query in enumerate(queries.astype(np.float64)):
            scores[row] = (vectors[ids[row]] * query).sum(axis=1)
        lists = best_first(ids, scores).truncate(k)
        is_near_tie = rough[:, -1] >= lists.scores[:, -1] - _NEAR_TIE
        if n_candidates == len(vectors) or not is_near_tie.any():
            return lists
        n_candidates *= 4


def _blocks(size, others):
    """Slices of so many rows, of which one has scores with all others in memory."""
    step = max(1, min(_SCORES_AT_ONCE // max(1, others), _ROWS_AT_ONCE))
    return [slice(start, start + step) for start in range(0, size, step)]


def _unit_vectors(vectors):
    """Check vectors, and bring them to unit length; zero stays zero."""
    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError(
            "vectors must be a finite array [items, dims]: check the embeddings"
        )
    return unit_rows(vectors)
