"""A collection on disk, searched as one in memory.

`EncodedCorpus` stands for `casebook.retrieval.index.CorpusIndex`: vectors and word counts are
mapped into memory, texts are read where they are needed. Ids and scores are those of the index in
memory. `casebook.retrieval.encoding` writes the files.
"""

import functools
import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data.folders import read_questions
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.readers import read_json
from casebook.retrieval.index import Chunks, CorpusIndex, Passages
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.ranked import ABSENT, as_mask, best_first, metadata_mask, to_run
from casebook.retrieval.search import PRESETS, BM25Index, DenseIndex

FORMAT = 3  # of the files; those of another one are written anew
CONTENTS = "encoded.json"  # written last: what it names is whole
VECTORS = "vectors.npy"
SHARDS = "shards.json"  # SHA-256 of the vectors of each shard: {"0-50000": ...}
VECTORS_AT_ONCE = 50_000  # that a search has in memory
_QUERIES_AT_ONCE = 256
_CHANGED = "gone, or changed since it was encoded: encode the collection again"


def search_folder(folder, questions, depth, mode="full", encoder=None, filters=None):
    """Search an encoded corpus for the questions of a BEIR folder by a system; give a run."""
    queries = read_questions(questions)
    index = EncodedCorpus(folder, encoder)
    retriever = HybridRetriever(index, mode=mode)
    if filters and not metadata_mask(index.documents, filters).any():
        raise InputError(f"{folder}: holds no document that satisfies the filters")
    config = retriever.config
    stage = "final"
    if len(config.lists) == 1 and not config.mmr and config.reranker is None:
        stage = config.lists[0]  # its scores are those of the search
    run = {}
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        block = queries[start : start + _QUERIES_AT_ONCE]
        result = retriever.retrieve_many(block["text"].tolist(), filters=filters, depth=depth)
        lists = result.stages[stage].truncate(depth)
        run |= to_run(lists, block["query_id"].tolist(), index.doc_ids)
    return run


def open_corpus(folder, dataset, encoder):
    """Open the encoded documents of a data set, with an encoder that keeps vectors of questions."""
    index = EncodedCorpus(folder, load_encoder(encoder))
    index.encoder()
    index.check_documents(dataset.documents)
    return index


def check_corpus(folder):
    """Give the folder of a corpus' files, and its contents; refuse one that is not whole."""
    path = Path(folder) / CONTENTS
    if not path.is_file():
        raise InputError(f"{folder}: no {CONTENTS}: the corpus is not encoded to its end")
    contents = read_json(path)
    if not isinstance(contents, dict) or contents.pop("seal", None) != seal(contents):
        raise InputError(f"{path}: changed by hand, or of another version: encode it again")
    files = path.with_name(contents["folder"])
    for name, digest in contents["files"].items():
        if not (files / name).is_file() or sha256_file(files / name) != digest:
            raise InputError(f"{files / name}: {_CHANGED}")
    for shard in damaged_shards(files / VECTORS, read_json(files / SHARDS)):
        raise InputError(f"{files / VECTORS}: shard {shard} is {_CHANGED}")
    return files, contents


def damaged_shards(path, digests):
    """Shards, such as ``0-50000``, of which an array does not hold the vectors."""
    try:
        vectors = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError):
        return list(digests)
    damaged = []
    for shard, digest in digests.items():
        rows = vectors[slice(*map(int, shard.split("-")))]
        if hashlib.sha256(rows.tobytes()).hexdigest() != digest:
            damaged.append(shard)
    return damaged


def seal(contents):
    """SHA-256 of what is to be known of a corpus."""
    text = json.dumps([FORMAT, contents], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def uncached_encoder(encoder, settings):
    """Load an encoder that is named, without vectors on disk: the corpus has them."""
    if not isinstance(encoder, str):
        return encoder
    return load_encoder(encoder, cache=False, **asdict(settings))


class EncodedCorpus(CorpusIndex):
    """A collection on disk, with the methods of an index in memory."""

    has_words_of_passages = False

    def __init__(self, folder, encoder=None):
        self.place = folder
        self.folder, self.contents = check_corpus(folder)
        self.model_settings = model_settings()
        self._encoder = encoder or self.contents["encoder"]
        self._passages = {}

    @cached_property
    def _truncating_encoder(self):
        """The encoder of the corpus, or another one of the same weights, such as on no GPU."""
        encoder = uncached_encoder(self._encoder, self.model_settings)
        weights = getattr(encoder, "weights_hash", encoder.model_hash)
        if weights != self.contents["model"]:
            raise InputError(
                f"{self.place}: was encoded by another model than {encoder.name!r} is here "
                f"({weights[:12]})"
            )
        return encoder

    @cached_property
    def documents(self):
        """Ids and metadata of the documents."""
        return pd.DataFrame(read_json(self.folder / "documents.json"))

    @cached_property
    def doc_ids(self):
        """Ids of the documents."""
        return self.documents["doc_id"].tolist()

    @property
    def median_words(self):
        """Words of the document in the middle by length."""
        return self.contents["median_words"]

    @property
    def texts(self):
        """Texts of the documents, read where they are needed."""
        return self.passages().texts

    def with_encoder(self, encoder):
        """Give the same corpus with another way to encode questions."""
        return EncodedCorpus(self.place, encoder)

    def check_documents(self, documents):
        """Refuse a collection that is not the one that was encoded."""
        pairs = zip(documents["doc_id"], documents["text"], strict=True)
        stored = zip(self.doc_ids, self.texts, strict=True)
        different = next((a for a, b in itertools.zip_longest(pairs, stored) if a != b), None)
        if len(documents) != len(self) or different:
            where = f"document {different[0]!r}" if different else "the number of documents"
            raise InputError(
                f"{self.place}: does not hold the documents of the data set, of which {where} "
                "differs: encode them by 'casebook corpus encode', with titles or without as here"
            )

    def passages(self, cut=None):
        """The corpus cut as it was when it was encoded, or whole documents."""
        stored_cut = self.contents["cut"]
        if cut is not None and list(cut) != stored_cut:
            raise InputError(
                f"{self.place}: holds whole documents and {_cut_text(stored_cut)}, not "
                f"{_cut_text(cut)}: choose another system, or load the collection"
            )
        if cut not in self._passages:
            self._passages[cut] = StoredPassages(self, cut)
        return self._passages[cut]


def _cut_text(cut):
    max_words, overlap, max_passages = cut
    most = "all of them" if max_passages is None else f"the {max_passages} most central of each"
    return f"passages of {max_words} words with {overlap} shared, {most}"


class StoredPassages(Passages):
    """Passages of a corpus on disk, or its whole documents."""

    @cached_property
    def _part(self):
        return self.index.folder / ("documents" if self.cut is None else "passages")

    @cached_property
    def _table(self):
        """Document, start and end of each, the row of its vector, its first and last byte."""
        return np.load(self._part / "table.npy", mmap_mode="r")

    @cached_property
    def chunks(self):
        """Passages, whose texts are read where they are needed."""
        owner, start, end = map(np.asarray, self._table[:3])
        return Chunks(StoredTexts(self.index.folder, *self._table[4:]), owner, start, end)

    @cached_property
    def token_frequencies(self):
        """Passages that hold each token of the encoder."""
        return np.load(self._part / "tokens.npy")

    @cached_property
    def vectors(self):
        """Vectors of the passages, read where they are needed."""
        vectors = np.load(self.index.folder / VECTORS, mmap_mode="r")
        return VectorRows(vectors, np.asarray(self._table[3]))

    @cached_property
    def dense(self):
        """Search of the vectors."""
        return SearchInBlocks(self.vectors, len(self))

    def bm25(self, preset):
        """BM25 of whole documents, with settings of `casebook.retrieval.search.PRESETS`."""
        presets = self.index.contents["presets"]
        if self.cut is not None or preset not in presets:
            raise InputError(
                f"{self.index.place}: holds BM25 of whole documents, not of passages, by the "
                f"presets {', '.join(presets)}: choose another system, or load the collection"
            )
        if preset not in self._bm25:
            folder = self.index.folder / preset
            self._bm25[preset] = BM25Index(self.texts, folder=folder, **PRESETS[preset])
        return self._bm25[preset]


class StoredTexts(Sequence):
    """Texts by their first and last bytes, decoded when they are asked for."""

    def __init__(self, folder, starts, ends):
        self._bytes = np.load(folder / "texts.npy", mmap_mode="r")
        self._starts = starts
        self._ends = ends

    def __len__(self):
        return len(self._ends)

    def __getitem__(self, item):
        return self._bytes[self._starts[item] : self._ends[item]].tobytes().decode()


class VectorRows:
    """Rows of an array, read when they are asked for by an array of numbers."""

    def __init__(self, vectors, rows):
        self._vectors = vectors
        self._rows = rows

    def __getitem__(self, items):
        return self._vectors[self._rows[items]]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype)

    def __len__(self):
        return len(self._rows)


class SearchInBlocks:
    """Vectors of which some are in memory at a time, with the lists of one search of all."""

    def __init__(self, vectors, size):
        self._vectors = vectors
        self._size = size

    def search(self, query_vectors, k, allowed=None):
        """Find the most similar vectors of every query; exact."""
        mask = as_mask(allowed)
        ids = []
        scores = []
        for start in range(0, self._size, VECTORS_AT_ONCE):
            block = slice(start, start + VECTORS_AT_ONCE)
            part = None if mask is None else mask[:, block]
            lists = DenseIndex(self._vectors[block]).search(query_vectors, k, part)
            ids.append(np.where(lists.ids >= 0, lists.ids + start, ABSENT))
            scores.append(lists.scores)
        return best_first(np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)).truncate(k)
