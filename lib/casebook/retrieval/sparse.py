"""BM25 over bm25s, with the settings of published baselines under names.

References
----------
.. [1] Robertson and Zaragoza (2009), The probabilistic relevance framework: BM25 and
   beyond, Foundations and Trends in Information Retrieval 3(4).
.. [2] Lù (2024), BM25S: orders of magnitude faster lexical search via eager sparse
   scoring, arXiv:2407.03618.
"""

import math

import bm25s
import numpy as np
import scipy.sparse
from bm25s.stopwords import STOPWORDS_EN, STOPWORDS_EN_PLUS

from casebook.errors import InputError
from casebook.retrieval.filters import candidate_mask
from casebook.retrieval.rankings import from_scores, positive_depth, stack
from casebook.retrieval.stemming import stemmer as stemmer_by_name
from casebook.stats.samples import check_choice

_PDPABENCH = {"method": "okapi", "stopwords": "en_plus", "stemmer": "porter_extended", "token_pattern": r"[a-z0-9]+"}
#: Settings by name. ``default``: those of bm25s. ``leaderboard``: those of the MTEB
#: leaderboard's BM25 baseline (stop list, English stemmer). ``okapi_porter``: those of
#: the PDPABench authors (rank_bm25's Okapi, tuned); ``okapi_porter_untuned`` is the
#: one inside their hybrid.
PRESETS = {
    "default": {},
    "leaderboard": {"stemmer": "english"},
    "okapi_porter": _PDPABENCH | {"k1": 1.2, "b": 0.3},
    "okapi_porter_untuned": _PDPABENCH | {"k1": 1.5, "b": 0.75},
}
METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+", "okapi")
_STOP_LISTS = {"en": STOPWORDS_EN, "en_plus": STOPWORDS_EN_PLUS}
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"
_EPSILON = 0.25
_BLOCK_SCORES = 8_000_000


class BM25Index:
    """BM25 index of a collection [1]_ [2]_."""

    def __init__(self, texts, method="lucene", k1=1.5, b=0.75, stopwords="en", stemmer=None, token_pattern=None):
        if len(texts) == 0:
            raise InputError("a BM25 index needs at least one text")
        check_choice("BM25 method", method, METHODS)
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"BM25 needs k1 >= 0 and b in [0, 1], got {k1} and {b}")
        self._stopwords = _stop_list(stopwords)
        self._stemmer = stemmer_by_name(stemmer)
        self._pattern = token_pattern or _TOKEN_PATTERN
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
        check_choice("BM25 preset", name, PRESETS)
        return cls(texts, **PRESETS[name])

    def search(self, queries, k, allowed=None):
        """Retrieve the texts with the highest positive scores."""
        k = positive_depth(k)
        mask = candidate_mask(allowed, len(queries), self.size)
        tokens = self._tokens(list(queries))
        step = max(1, _BLOCK_SCORES // self.size)
        parts = []
        for start in range(0, len(tokens), step):
            block = slice(start, start + step)
            scores = np.stack([self._scores(words) for words in tokens[block]])
            keep = scores > 0
            if mask is not None:
                keep &= mask if len(mask) == 1 else mask[block]
            parts.append(from_scores(np.where(keep, scores, -np.inf), k))
        return stack(parts, min(k, self.size))

    def weights(self):
        """Give the BM25 weight of each word in each text: sparse array (N, V)."""
        parts = self._bm25.scores
        entries = parts["data"], parts["indices"], parts["indptr"]
        shape = self.size, len(parts["indptr"]) - 1
        return scipy.sparse.csc_array(entries, shape=shape).tocsr()

    def _tokens(self, texts):
        """Split texts into lower-case words, without stop words, stemmed."""
        return bm25s.tokenize(
            list(texts),
            token_pattern=self._pattern,
            stopwords=self._stopwords,
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )

    def _scores(self, words):
        """Score the whole collection for one query."""
        known = self._bm25.get_tokens_ids(words)
        if not known:
            return np.zeros(self.size)
        return self._bm25.get_scores_from_ids(known)


def _stop_list(stopwords):
    """Resolve a stop list by name."""
    if stopwords is None:
        return []
    if isinstance(stopwords, str):
        check_choice("stop list", stopwords, _STOP_LISTS)
        stopwords = _STOP_LISTS[stopwords]
    return list(stopwords)


def _rescale_to_okapi(index):
    """Exchange Lucene's idf for rank_bm25's in an eagerly scored index, in place."""
    n, df = index["num_docs"], np.diff(index["indptr"])
    ratio = (n - df + 0.5) / (df + 0.5)
    okapi = np.log(ratio)
    # Summed without rounding, since the order of the words is not reproducible.
    mean = math.fsum(okapi[df > 0]) / max(1, (df > 0).sum())
    okapi = np.where(okapi < 0, _EPSILON * mean, okapi)
    index["data"] *= np.repeat(okapi / np.log1p(ratio), df)
