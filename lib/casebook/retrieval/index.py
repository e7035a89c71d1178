"""What a collection needs to be searched: passages, encoders, indexes; built once, shared by all systems."""

import bisect
import itertools
import re
from collections import namedtuple
from dataclasses import replace
from functools import cache, cached_property

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.models.cache import EncoderWrapper, unit_rows
from casebook.models.encoders import load_encoder
from casebook.retrieval.rerank import build_reranker
from casebook.retrieval.search import PRESETS, BM25Index, DenseIndex

MOST_WINDOWS = 8  # read of one long query, evenly spaced over its text


class CorpusIndex:
    """A frame of documents (``doc_id``, ``text``, metadata) with an encoder; parts are built on first use and kept.

    With `remember_scores` the late-interaction score of each pair of query and document is kept, for experiments that
    put the same queries through many settings.
    """

    def __init__(self, documents, encoder=None, remember_scores=False):
        self.documents = _checked_documents(documents)
        self.texts = self.documents["text"].tolist()
        self.doc_ids = self.documents["doc_id"].tolist()
        self.remember_scores = remember_scores
        self._encoder, self._passages = encoder or "minilm", {}
        self._readers = {}

    def __len__(self):
        return len(self.texts)

    def encoder(self, query_reading="truncated"):
        """The encoder, loaded when it is first asked for, that reads long queries ``truncated`` or in ``windows``."""
        if not self._readers:
            encoder = (
                load_encoder(self._encoder) if isinstance(self._encoder, str) else self._encoder
            )
            self._readers = {"truncated": encoder, "windows": WindowedQueries(encoder)}
        return self._readers[query_reading]

    def passages(self, cut=None):
        """The collection cut by (max_words, overlap, max_passages), or whole documents; see `PipelineConfig.cut`."""
        return self._passages.setdefault(cut, Passages(self, cut))

    @cached_property
    def _rows(self):
        return {doc_id: row for row, doc_id in enumerate(self.doc_ids)}

    def positions(self, doc_ids):
        """Find documents by id."""
        missing = [doc_id for doc_id in doc_ids if doc_id not in self._rows]
        if missing:
            raise InputError(
                f"{len(missing)} candidate ids are not in the collection, the first is {missing[0]!r}"
            )
        return np.array([self._rows[doc_id] for doc_id in doc_ids], dtype=np.int64)


def _checked_documents(documents):
    if not isinstance(documents, pd.DataFrame):
        kind = type(documents).__name__
        raise InputError(
            f"documents: expected a pandas.DataFrame with the columns doc_id and text, got {kind}"
        )
    missing = {"doc_id", "text"} - set(documents.columns)
    if missing or documents.empty:
        lacks = (
            f"documents lack the column {min(missing)!r}"
            if missing
            else "a collection needs at least one document"
        )
        raise InputError(lacks)
    documents = documents.reset_index(drop=True)
    textless = ~documents["text"].map(lambda text: isinstance(text, str))
    for wrong, problem in (
        (documents["doc_id"].duplicated(), "occurs twice"),
        (textless, "has no text"),
    ):
        if wrong.any():
            raise InputError(f"document {documents['doc_id'][wrong.idxmax()]!r} {problem}")
    return documents


class Passages:
    """One way of cutting a collection, and what is built on it, once: BM25, vectors, nearest neighbours, rerankers."""

    def __init__(self, index, cut):
        self.index, self.cut, self.encoder = index, cut, index.encoder
        # By instance, so that a collection that nobody holds any more is forgotten with its indexes.
        self.bm25 = cache(lambda preset: BM25Index(self.texts, **PRESETS[preset]))
        self.vectors = cache(lambda: self.encoder().encode_documents(self.texts))
        self.dense = cache(lambda: DenseIndex(self.vectors()))
        self.reranker = cache(lambda name, query_reading: build_reranker(name, self, query_reading))

    def __len__(self):
        return len(self.texts)

    @cached_property
    def chunks(self):
        """Texts with their documents and places, cut so that the encoder reads each whole."""
        texts = self.index.texts
        if self.cut is None:
            rows = np.arange(len(texts))
            return Chunks(texts, rows, np.zeros_like(rows), np.array([len(text) for text in texts]))
        max_words, overlap, most = self.cut
        return most_central(chunk_documents(texts, max_words, overlap, self.encoder()), most)

    texts = property(lambda self: self.chunks.texts)
    owner = property(lambda self: self.chunks.owner)

    def nearest(self, query_vectors, documents):
        """Passage of each document [Q, C] that is nearest to its query, and its similarity; the first of equals."""
        vectors = self.vectors()
        bounds = np.searchsorted(self.owner, np.arange(self.owner[-1] + 2))
        best = np.full(documents.shape, -1)
        for row, query in enumerate(query_vectors):
            wanted = documents[row][documents[row] >= 0]
            sizes = bounds[wanted + 1] - bounds[wanted]
            segment, first = np.repeat(np.arange(len(wanted)), sizes), np.cumsum(sizes) - sizes
            rows = np.arange(len(segment)) + np.repeat(bounds[wanted] - first, sizes)
            # Single-precision products: more digits are noise that would decide ties.
            order = np.lexsort((-np.round(vectors[rows] @ query, 6), segment))
            best[row, : len(wanted)] = rows[order[first]]
        return best

    def similarity(self, query_vectors, passages):
        """Inner product of each query with its passages [Q, C]."""
        return np.einsum("qcd,qd->qc", self.vectors()[np.maximum(passages, 0)], query_vectors)


# Parts of texts in the order of their documents: text, document, start and end of each.
Chunks = namedtuple("Chunks", "texts owner start end")


def chunk_documents(texts, max_words=130, overlap=40, encoder=None):
    """Cut documents into windows of so many words at most that share `overlap` words, each read whole by an encoder."""
    assert 0 <= overlap < max_words
    spans = []
    for owner, text in enumerate(texts):

        def fits(start, end, text=text):
            return (
                encoder is None or encoder.count_tokens([text[start:end]])[0] <= encoder.max_tokens
            )

        spans += [(owner, start, end) for start, end in _windows(text, max_words, overlap, fits)]
    owner, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    return Chunks([texts[o][s:e] for o, s, e in spans], owner, start, end)


def _windows(text, max_words, overlap, fits):
    """Yield the spans of one document's chunks; a text without words is one."""
    units = [match.span() for match in re.finditer(r"\S+", text)]
    if not units:
        yield 0, len(text)
        return
    first = done = 0
    while done < len(units):
        last = _last_unit(units, first, min(first + max_words, len(units)), fits)
        if last <= done:  # nothing new beside the shared words: share fewer
            first += 1
            continue
        yield units[first][0], units[last - 1][1]
        shared = overlap * (last - first) // max_words
        first, done = max(first + 1, last - shared), last


def _last_unit(units, first, last, fits):
    """Shorten a window until it fits; a single word that does not is halved, in place."""
    if fits(units[first][0], units[last - 1][1]):
        return last
    while not fits(*units[first]):
        start, end = units[first]
        if end - start < 2:
            raise InputError("one character exceeds the limit in tokens: raise max_tokens")
        units[first : first + 1] = [(start, (start + end) // 2), ((start + end) // 2, end)]
        last = first + 1
    ends = range(first + 1, last)
    return (
        first
        + 1
        + bisect.bisect_left(ends, True, key=lambda end: not fits(units[first][0], units[end][1]))
    )


def most_central(chunks, limit):
    """Keep the chunks of each long document that score highest by BM25 for the whole of it as the query."""
    sizes = np.bincount(chunks.owner)
    if limit is None or sizes.max(initial=0) <= limit:
        return chunks
    long = np.flatnonzero(np.isin(chunks.owner, np.flatnonzero(sizes > limit)))
    weights = BM25Index([chunks.texts[row] for row in long]).weights()
    bounds = np.flatnonzero(np.diff(chunks.owner[long], prepend=-1, append=-1))
    keep = np.ones(len(chunks.texts), dtype=bool)
    for first, last in itertools.pairwise(bounds):
        part = weights[first:last]
        score = np.round(part @ np.asarray(part.sum(axis=0)).ravel(), 6)
        keep[long[first + np.argsort(-score, kind="stable")[limit:]]] = False
    rows = np.flatnonzero(keep)
    return Chunks(
        [chunks.texts[row] for row in rows],
        chunks.owner[rows],
        chunks.start[rows],
        chunks.end[rows],
    )


class WindowedQueries(EncoderWrapper):
    """Encoder that reads a query beyond its limit in windows; all else is as the encoder has it."""

    def encode_queries(self, texts):
        """Vectors of length 1 [n, D]; of a long query the mean over its windows."""
        windows, sizes = self._windows(texts)
        vectors, starts = self.encoder.encode_queries(windows), np.cumsum(sizes) - sizes
        means = unit_rows(np.add.reduceat(vectors, starts, axis=0))
        # Others keep their vectors to the last bit.
        return np.where((sizes == 1)[:, None], vectors[starts], means)

    def token_vectors(self, texts, role="document"):
        """Vectors of tokens; of a long query those of all its windows."""
        if role != "query":
            return self.encoder.token_vectors(texts, role)
        windows, sizes = self._windows(texts)
        tokens = self.encoder.token_vectors(windows, role)
        return replace(tokens, lengths=np.add.reduceat(tokens.lengths, np.cumsum(sizes) - sizes))

    def _windows(self, texts):
        """Windows of all texts, and how many each has."""
        limit, texts = self.encoder.max_tokens, list(texts)
        parts = [[text] for text in texts]
        long = np.flatnonzero(self.encoder.count_tokens(texts) > limit) if texts else []
        for row in long:
            windows = chunk_documents([texts[row]], limit, 0, self.encoder).texts
            kept = np.linspace(0, len(windows) - 1, min(MOST_WINDOWS, len(windows)))
            parts[row] = [windows[place] for place in np.round(kept).astype(int)]
        return list(itertools.chain(*parts)), np.array(
            [len(part) for part in parts], dtype=np.int64
        )
