"""The two kinds of first-stage search: words (BM25, over bm25s) and vectors (cosine, over faiss).

Robertson and Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond, FnTIR 3(4).
Lù (2024), BM25S, arXiv:2407.03618. Douze et al. (2024), The Faiss library, arXiv:2401.08281.
Expansion: Lavrenko and Croft (2001), Relevance-based language models, SIGIR; Abdul-Jaleel et al.
(2004), UMass at TREC 2004: novelty and HARD, which interpolates with the query (RM3).
"""

import math
import os
from collections import Counter

import faiss
import numpy as np
import scipy.sparse
import Stemmer

from casebook.errors import InputError
from casebook.files import write_json
from casebook.lazy import module_without
from casebook.models.cache import unit_rows
from casebook.readers import read_json
from casebook.retrieval.ranked import RankedLists, best_first, from_scores, positive_depth, stack

bm25s = module_without("bm25s", "jax")  # which it would load, and which is not used here

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
# Words and stop words of BM25 are those of bm25s and of the PDPABench authors, and not
# `casebook.text`'s: published scores are reproduced only with them.
_STOP_LISTS = {
    "en": bm25s.stopwords.STOPWORDS_EN,
    "en_plus": bm25s.stopwords.STOPWORDS_EN_PLUS,
    None: [],
}
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"
BM25_K1 = 1.5
BM25_B = 0.75
_MEAN_WORDS = "mean_words.json"  # beside a saved index
_OKAPI_EPSILON = 0.25  # of rank_bm25: what a negative idf becomes, as a share of the mean

# Scores in single precision that are closer than this may be a tie, which rounding has split.
_NEAR_TIE = 1e-5
_SCORES_AT_ONCE = 8_000_000  # of all texts for a block of queries

# Of RM3, as Anserini sets it.
_FEEDBACK_DOCUMENTS = 10
_FEEDBACK_WORDS = 10
_WEIGHT_OF_QUERY = 0.5
_DECIMALS = 9  # of weights that decide which words count


class BM25Index:
    """BM25 of a collection; a search returns only texts that share a word with the query.

    With `folder` the index that `save` wrote there is mapped into memory.
    """

    def __init__(
        self,
        texts,
        method="lucene",
        k1=BM25_K1,
        b=BM25_B,
        stopwords="en",
        stemmer=None,
        token_pattern=_TOKEN_PATTERN,
        folder=None,
    ):
        self.size = len(texts)
        self._texts = texts
        self._token_pattern = token_pattern
        self._stopwords = list(_STOP_LISTS[stopwords])
        self._stemmer = None if stemmer is None else load_stemmer(stemmer)
        if folder is not None:
            self._bm25 = bm25s.BM25.load(folder, mmap=True)
            self.mean_words = read_json(folder / _MEAN_WORDS)
            return
        tokens = self._tokens(self._texts)
        if not any(tokens):
            raise InputError("no text of the BM25 index holds a word to index")
        self.mean_words = sum(map(len, tokens)) / self.size
        # Double precision: single would make ties of scores that differ.
        variant = "lucene" if method == "okapi" else method
        self._bm25 = bm25s.BM25(k1=k1, b=b, method=variant, dtype="float64")
        self._bm25.index(tokens, show_progress=False)
        if method == "okapi":
            _rescale_to_okapi(self._bm25.scores)

    def save(self, folder):
        self._bm25.save(folder, show_progress=False)
        write_json(folder / _MEAN_WORDS, self.mean_words)

    def search(self, queries, k, allowed=None, words=None, expansion=None):
        """Find the texts with the highest positive scores.

        Of a query with more than `words` different words the best ones are read; `expansion` is
        one of `EXPANSIONS`.
        """
        mask = np.broadcast_to(True if allowed is None else allowed, (len(queries), self.size))
        weighted = []  # numbers and weights of the words of each query
        for token_ids in self._token_ids(queries):
            read = token_ids if words is None else self._best_words(token_ids, words)
            weighted.append((read, np.ones(len(read))))
        if expansion is not None:
            feedback = self._search(weighted, _FEEDBACK_DOCUMENTS, mask)
            for row, (read, _) in enumerate(weighted):
                weighted[row] = EXPANSIONS[expansion](self, read, feedback.take([row]))
        return self._search(weighted, k, mask)

    def count_words(self, queries):
        return np.array([len(np.unique(ids)) for ids in self._token_ids(queries)], dtype=int)

    def _token_ids(self, queries):
        words = self._tokens(queries)
        return [np.array(self._bm25.get_tokens_ids(each), dtype=np.int64) for each in words]

    def _search(self, weighted, k, mask):
        """Texts that share a word with each query; a word that stands twice counts twice."""
        index = self._bm25.scores
        size = max(1, _SCORES_AT_ONCE // self.size)
        parts = []
        for block in (slice(start, start + size) for start in range(0, len(weighted), size)):
            scores = np.zeros(mask[block].shape)
            for of_query, words in zip(scores, weighted[block], strict=True):
                for token_id, weight in zip(*words, strict=True):
                    part = slice(*index["indptr"][token_id : token_id + 2])
                    of_query[index["indices"][part]] += weight * index["data"][part]
            parts.append(from_scores(np.where(mask[block] & (scores > 0), scores, -np.inf), k))
        return stack(parts)

    def _best_words(self, token_ids, limit):
        """Keep the words with the highest idf times log(1 + frequency), the first of equals."""
        distinct, first, counts = np.unique(token_ids, return_index=True, return_counts=True)
        if len(distinct) <= limit:
            return token_ids
        df = np.diff(self._bm25.scores["indptr"])[distinct]
        idf = np.log1p((self.size - df + 0.5) / (df + 0.5))
        order = np.lexsort((first, -np.round(idf * np.log1p(counts), _DECIMALS)))
        return token_ids[np.isin(token_ids, distinct[order[:limit]])]

    def by_relevance_model(self, token_ids, feedback):
        """Weigh the words of a query and those of the documents that it finds (RM3)."""
        weights = Counter()
        for document, score in zip(feedback.ids[0], feedback.scores[0], strict=True):
            words = self._tokens([self._texts[int(document)]])[0] if document >= 0 else []
            for word, count in Counter(words).items():
                weights[word] += count / len(words) * score
        # The first of equals is that whose word comes first in the alphabet.
        best = sorted(weights, key=lambda word: (-round(weights[word], _DECIMALS), word))
        best = best[:_FEEDBACK_WORDS]
        total = sum(weights[word] for word in best)
        expanded = Counter()
        for token_id in token_ids.tolist():
            expanded[token_id] += _WEIGHT_OF_QUERY / len(token_ids)
        for word in best:
            token_id = self._bm25.vocab_dict[word]
            expanded[token_id] += (1 - _WEIGHT_OF_QUERY) * weights[word] / total
        return np.array(list(expanded), dtype=np.int64), np.array(list(expanded.values()))

    def weights(self):
        scores = self._bm25.scores
        matrix = scipy.sparse.csc_array(
            (scores["data"], scores["indices"], scores["indptr"]),
            shape=(self.size, len(scores["indptr"]) - 1),
        )
        return matrix.tocsr()

    def _tokens(self, texts):
        return bm25s.tokenize(
            list(texts),
            token_pattern=self._token_pattern,
            stopwords=self._stopwords,
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )


#: Expansions of a query by its first documents: each gives numbers and weights of its words.
EXPANSIONS = {"rm3": BM25Index.by_relevance_model}


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

    def search(self, query_vectors, k, allowed=None):
        queries = _unit_vectors(query_vectors)
        if queries.shape[1] != self.dims:
            raise InputError(f"queries have {queries.shape[1]} dimensions, the index {self.dims}")
        k = positive_depth(k)
        if allowed is None:
            return _most_similar(self._vectors, queries, k)
        masks = np.atleast_2d(allowed)
        # One mask of all queries, or one of each.
        groups = queries[None] if len(masks) == 1 else queries[:, None]
        lists = []
        for mask, group in zip(masks, groups, strict=True):
            positions = np.flatnonzero(mask)
            found = RankedLists.empty(len(group))
            if len(positions):
                found = _most_similar(self._vectors[positions], group, k)
                found = RankedLists(positions[found.ids], found.scores)
            lists.append(found)
        return stack(lists)


def _most_similar(vectors, queries, k, n_candidates=0):
    """Rank candidates of single precision in double; take more where the cut is a near tie."""
    k = min(k, len(vectors))
    n_candidates = min(max(n_candidates, k + 1), len(vectors))
    rough_scores, ids = faiss.knn(queries, vectors, n_candidates, faiss.METRIC_INNER_PRODUCT)
    # In double precision, each summed alone.
    scores = np.zeros(ids.shape)
    for row, query in enumerate(queries.astype(np.float64)):
        scores[row] = (vectors[ids[row]] * query).sum(axis=1)
    lists = best_first(ids, scores).truncate(k)
    if n_candidates == len(vectors):
        return lists
    near_tie = np.flatnonzero(rough_scores[:, -1] >= lists.scores[:, -1] - _NEAR_TIE)
    if near_tie.size == 0:
        return lists
    return lists.replace(near_tie, _most_similar(vectors, queries[near_tie], k, 4 * n_candidates))


def _unit_vectors(vectors):
    """Check vectors, and bring them to unit length; zero stays zero."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError("vectors must be a finite array [items, dims]: check the embeddings")
    return unit_rows(vectors)


# PyStemmer's ``porter`` is Porter's own algorithm (1980, Program 14(3)). What most Python work
# means is that of the Natural Language Toolkit (Bird, Klein and Loper 2009), which leaves short and
# irregular words alone and treats final ``y`` after a vowel, ``-ied`` and ``-fully`` differently.
# Published figures depend on that.
def load_stemmer(name):
    if name != "porter_extended":
        return Stemmer.Stemmer(name).stemWords
    from nltk.stem.porter import PorterStemmer  # slow to import, and needed here alone

    stem = PorterStemmer().stem
    return lambda words: [stem(word) for word in words]
