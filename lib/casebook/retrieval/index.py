"""What a collection needs to be searched: passages, encoders, indexes.

They are built once and shared by all systems.
"""

import bisect
import functools
import re
from collections import namedtuple
from dataclasses import asdict
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.models.device import model_settings
from casebook.models.encoders import PACKAGED, load_encoder
from casebook.retrieval.rerank import build_reranker
from casebook.retrieval.search import BM25Index, DenseIndex


class CorpusIndex:
    """Documents with an encoder; parts are built on first use.

    The documents are what `documents_frame` takes. `settings`, from
    `casebook.models.device.model_settings`, is how models that are named run.
    """

    unsearchable = ()  # systems of the ablation that read what the index lacks

    def __init__(self, documents, encoder=None, settings=None):
        self.documents = documents_frame(documents)
        self.texts = self.documents["text"].tolist()
        self.doc_ids = self.documents["doc_id"].tolist()
        self.median_words = float(self.documents["text"].str.split().str.len().median())
        self.model_settings = settings or model_settings()
        self._encoder = encoder or PACKAGED
        self._made = functools.cache(self._cut_as)

    def __len__(self):
        return len(self.doc_ids)

    @cached_property
    def encoder(self):
        if isinstance(self._encoder, str):
            return load_encoder(self._encoder, **asdict(self.model_settings))
        return self._encoder

    def passages(self, cut=None):
        """The collection cut as `PipelineConfig.cut` says, or whole documents."""
        return self._made(cut)

    def _cut_as(self, cut):
        return Passages(self, cut)


def documents_frame(documents):
    """Frame of doc_id, text and metadata: of a frame, or of a list of such records."""
    if not isinstance(documents, pd.DataFrame | list):
        raise InputError("documents: expected a frame or records with doc_id and text")
    documents = pd.DataFrame(documents).reset_index(drop=True)
    for missing in [name for name in ("doc_id", "text") if name not in documents]:
        raise InputError(f"documents lack the column {missing!r}")
    if documents.empty:
        raise InputError("a collection needs at least one document")
    has_no_text = ~documents["text"].map(lambda text: isinstance(text, str)).astype(
        bool
    )
    repeated = documents["doc_id"].duplicated()
    for wrong, problem in ((repeated, "occurs twice"), (has_no_text, "has no text")):
        if wrong.any():
            raise InputError(
                f"document {documents['doc_id'][wrong.idxmax()]!r} {problem}"
            )
    return documents


class Passages:
    """One way of cutting a collection, and what is built on it, once."""

    # Number of passages that hold each token, if they have been counted already.
    token_frequencies = None

    def __init__(self, index, cut):
        self.index = index
        self.cut = cut
        self.bm25 = functools.cache(self._bm25)
        self.reranker = functools.cache(functools.partial(build_reranker, self))

    def __len__(self):
        return len(self.owner)

    @cached_property
    def chunks(self):
        texts = self.index.texts
        if self.cut is None:
            rows = np.arange(len(texts))
            return Chunks(
                texts,
                rows,
                np.zeros_like(rows),
                np.array([len(text) for text in texts]),
            )
        max_words, overlap, max_passages = self.cut
        chunks = chunk_documents(texts, max_words, overlap, self.index.encoder)
        return chunks if max_passages is None else most_central(chunks, max_passages)

    @property
    def texts(self):
        return self.chunks.texts

    @property
    def owner(self):
        return self.chunks.owner

    @cached_property
    def vectors(self):
        return self.index.encoder.encode_documents(self.texts)

    @cached_property
    def dense(self):
        return DenseIndex(self.vectors)

    def _bm25(self, preset):
        return BM25Index(self.texts, preset)

    def nearest(self, query_vectors, documents):
        """Passage of each document [Q, C] that is nearest to its query, the first of equals."""
        best = np.full(documents.shape, -1)
        starts = np.searchsorted(self.owner, np.arange(len(self.index) + 1))
        for row, query in enumerate(query_vectors):
            columns = np.flatnonzero(documents[row] >= 0)
            of_row = documents[row, columns]
            sizes = starts[of_row + 1] - starts[of_row]
            places = np.cumsum(sizes) - sizes  # of the first passage of each document
            passages = np.repeat(starts[of_row] - places, sizes) + np.arange(
                sizes.sum()
            )
            # Single-precision products: more digits are noise that would decide ties.
            similarity = np.round(self.vectors[passages] @ query, 6)
            order = np.lexsort((-similarity, np.repeat(columns, sizes)))
            best[row, columns] = passages[order[places]]
        return best

    def similarity(self, query_vectors, passages):
        """Inner product of each query with its passages [Q, C]."""
        return np.einsum(
            "qcd,qd->qc", self.vectors[np.maximum(passages, 0)], query_vectors
        )


# Parts of texts in the order of their documents: text, document, start and end of each.
Chunks = namedtuple("Chunks", "texts owner start end")


def chunk_documents(texts, max_words=130, overlap=40, encoder=None):
    """Cut documents into overlapping windows of words that fit the limit of an encoder."""
    spans = []
    for owner, text in enumerate(texts):
        windows = _windows(text, max_words, overlap, encoder)
        spans += [(owner, start, end) for start, end in windows]
    owner, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    return Chunks([texts[o][s:e] for o, s, e in spans], owner, start, end)


def _windows(text, max_words, overlap, encoder):
    """Yield the spans of one document's chunks; a text without words is one."""

    def is_too_long(start, end):
        return (
            encoder and encoder.count_tokens([text[start:end]])[0] > encoder.max_tokens
        )

    words = [match.span() for match in re.finditer(r"\S+", text)] or [(0, len(text))]
    begin = 0
    done = 0
    while done < len(words):
        start = words[begin][0]
        end = min(begin + max_words, len(words))
        if is_too_long(start, words[end - 1][1]):
            # A single word that does not fit is halved; else the window ends before the first
            # word with which it does not.
            while is_too_long(*words[begin]):
                middle = sum(words[begin]) // 2
                if middle == start:
                    raise InputError(
                        "one character exceeds the limit in tokens: raise max_tokens"
                    )
                words[begin : begin + 1] = [(start, middle), (middle, words[begin][1])]
                end = begin + 1
            ends = [word[1] for word in words[begin + 1 : end]]
            end = begin + 1
            end += bisect.bisect_left(
                ends, True, key=functools.partial(is_too_long, start)
            )
        if end <= done:  # no new word: let the windows share fewer
            begin += 1
            continue
        yield start, words[end - 1][1]
        shared = overlap * (end - begin) // max_words
        begin = max(begin + 1, end - shared)
        done = end


def most_central(chunks, limit):
    """Limit each document to the chunks with the highest BM25 for the document as the query."""
    sizes = np.bincount(chunks.owner)
    long = np.flatnonzero(sizes[chunks.owner] > limit)
    if not len(long):
        return chunks
    weights = BM25Index([chunks.texts[row] for row in long]).weights()
    keep = np.ones(len(chunks.owner), dtype=bool)
    for owner in np.unique(chunks.owner[long]):
        places = np.flatnonzero(chunks.owner[long] == owner)
        part = weights[places]
        scores = np.round(part @ np.asarray(part.sum(axis=0)).ravel(), 6)
        dropped = np.argsort(-scores, kind="stable")[limit:]
        keep[long[places[dropped]]] = False
    texts = [chunks.texts[row] for row in np.flatnonzero(keep)]
    return Chunks(texts, *(places[keep] for places in chunks[1:]))
