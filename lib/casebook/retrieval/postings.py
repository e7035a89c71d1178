"""Words of texts as counts, from which BM25 is made when the whole collection has been counted.

A part of a collection keeps its counts as arrays, which can be mapped into memory; a search reads
those of its words alone. Idf and average length are those of all parts, so that a score is the one
that an index of the whole collection gives, to the last bit.
"""

import bisect
import math
from dataclasses import dataclass, fields
from functools import cached_property

import bm25s
import numpy as np
import scipy.sparse

from casebook.retrieval.search import BM25_B, BM25_K1


@dataclass(frozen=True)
class CollectionCounts:
    """What BM25 needs to know of a whole collection: texts, words in all, texts with each word."""

    texts: int
    length: int
    frequencies: dict

    def idf(self, word):
        """Rarity of a word, with the formula of Lucene."""
        frequency = self.frequencies[word]
        return math.log(1 + (self.texts - frequency + 0.5) / (frequency + 0.5))

    @property
    def average_length(self):
        """Words of a text."""
        return self.length / self.texts


@dataclass(frozen=True, eq=False)
class Postings:
    """Texts that hold each word, and how often, by word; and the length of each text."""

    encoded_words: np.ndarray  # sorted, in UTF-8, a line each
    starts: np.ndarray  # of the entries of each word, and the end of the last
    texts: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, tokens):
        """Count the words of texts, which are lists of words."""
        words = sorted(set().union(*tokens))
        columns = {word: column for column, word in enumerate(words)}
        lengths = np.array([len(text) for text in tokens], dtype=np.int32)
        rows = np.repeat(np.arange(len(tokens), dtype=np.int32), lengths)
        n_tokens = int(lengths.sum())
        token_ids = np.fromiter(
            (columns[word] for text in tokens for word in text), dtype=np.int32, count=n_tokens
        )
        ones = np.ones(n_tokens, dtype=np.int32)
        matrix = scipy.sparse.coo_array((ones, (rows, token_ids)), shape=(len(tokens), len(words)))
        matrix = matrix.tocsc()
        matrix.sum_duplicates()
        return cls(
            np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.min_scalar_type(matrix.data.max(initial=0))),
            lengths,
        )

    @classmethod
    def of_arrays(cls, arrays, name):
        """Take the counts of a name out of the arrays of a file."""
        return cls(*[arrays[f"{name}.{field.name}"] for field in fields(cls)])

    def arrays(self, name):
        """Give the counts as arrays under a name."""
        return {f"{name}.{field.name}": getattr(self, field.name) for field in fields(self)}

    @cached_property
    def words(self):
        """The words, sorted."""
        text = self.encoded_words.tobytes().decode()
        return text.split("\n") if text else []

    @property
    def length(self):
        """Words of all texts together."""
        return int(self.lengths.sum(dtype=np.int64))

    def frequencies(self, words):
        """Count the texts that hold each of some words."""
        numbers = [self._number(word) for word in words]
        return np.array([0 if n is None else self.starts[n + 1] - self.starts[n] for n in numbers])

    def all_frequencies(self):
        """Count the texts that hold each word: {word: texts}."""
        return dict(zip(self.words, np.diff(self.starts).tolist(), strict=True))

    @cached_property
    def _line_bounds(self):
        """Where the line of each word begins, and one past the end of the last."""
        ends = np.flatnonzero(self.encoded_words == ord("\n"))
        return np.concatenate([[0], ends + 1, [len(self.encoded_words) + 1]])

    def _encoded_word(self, number):
        start, end = self._line_bounds[number : number + 2]
        return self.encoded_words[start : end - 1].tobytes()

    def _number(self, word):
        """Number of a word, or None; the vocabulary of a shard is not decoded to find it."""
        encoded = word.encode(errors="surrogatepass")  # sorts as the characters do
        numbers = range(len(self.starts) - 1)
        number = bisect.bisect_left(numbers, encoded, key=self._encoded_word)
        if number in numbers and self._encoded_word(number) == encoded:
            return number
        return None

    def bm25(self, words, collection):
        """Build an index of some words, which knows no others."""
        numbers = {word: self._number(word) for word in words}
        numbers = {word: number for word, number in numbers.items() if number is not None}
        spans = [slice(self.starts[n], self.starts[n + 1]) for n in numbers.values()]
        nothing = slice(0, 0)
        texts = np.concatenate([self.texts[span] for span in (*spans, nothing)])
        counts = np.concatenate([self.counts[span] for span in (*spans, nothing)])
        sizes = [span.stop - span.start for span in spans]
        idf = np.repeat([collection.idf(word) for word in numbers], sizes)
        index = bm25s.BM25(k1=BM25_K1, b=BM25_B, method="lucene", dtype="float64")
        index.scores = {
            "data": idf * self._saturated(texts, counts, collection),
            "indices": texts,
            "indptr": np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
            "num_docs": len(self.lengths),
        }
        index.nonoccurrence_array = None
        index.vocab_dict = {word: column for column, word in enumerate(numbers)}
        return index

    def _saturated(self, texts, counts, collection):
        """Counts of words, of which each further one adds less, and less in a longer text."""
        counts = counts.astype(np.float64)
        share = BM25_B * self.lengths[texts] / collection.average_length
        return counts / (BM25_K1 * ((1 - BM25_B) + share) + counts)

    def weights(self, collection):
        """Weight of each word in each text, sparse [N, V]."""
        scores = self.bm25(self.words, collection).scores
        matrix = scipy.sparse.csc_array(
            (scores["data"], scores["indices"], scores["indptr"]),
            shape=(len(self.lengths), len(self.words)),
        )
        return matrix.tocsr()
