"""A collection on disk, searched as one in memory.

`EncodedCorpus` stands for `casebook.retrieval.index.CorpusIndex`: vectors and word counts are
mapped into memory, texts are read where they are needed. Ids and scores are those of the index in
memory. `casebook.retrieval.encoding` writes the files.
"""

import functools
import hashlib
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
from casebook.retrieval.index import Chunks, CorpusIndex, Passages, WindowedQueries
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.ranked import ABSENT, best_first, metadata_mask
from casebook.retrieval.search import PRESETS, BM25Index, DenseIndex

FORMAT = 5  # of the files; those of another one are written anew
CONTENTS = "encoded.json"  # written last: what it names is whole
VECTORS = "vectors.npy"
SHARDS = "shards"  # folder of the SHA-256 of the vectors of each shard: 0-50000.sha256
VECTORS_AT_ONCE = 50_000  # that a search has in memory
_CUT = "passages of {} words with {} shared, at most {} of each"
_CHANGED = "gone, or changed since it was encoded: encode the collection again"


def search_folder(folder, questions, depth, mode="full", encoder=None, filters=None):
    """Run of a system on an encoded corpus, for the questions of a BEIR folder."""
    queries = read_questions(questions)
    index = EncodedCorpus(folder, encoder)
    if filters and not metadata_mask(index.documents, filters).any():
        raise InputError(f"{folder}: holds no document that satisfies the filters")
    retriever = HybridRetriever(index, mode=mode)
    result = retriever.retrieve_many(queries["text"].tolist(), filters=filters, depth=depth)
    return result.run(queries["query_id"])


def open_corpus(folder, dataset, encoder):
    index = EncodedCorpus(folder, load_encoder(encoder))
    index.encoder()  # refused if it is another one
    same_ids = dataset.documents["doc_id"].tolist() == index.doc_ids
    if not same_ids or dataset.documents["text"].tolist() != list(index.texts):
        raise InputError(
            f"{folder}: does not hold the documents of the data set: encode them by "
            "'casebook corpus encode', with titles or without as here"
        )
    return index


# --- whether the files are whole


def check_corpus(folder):
    """Folder of a corpus' files, and its contents; refuses one that is not whole."""
    path = Path(folder) / CONTENTS
    if not path.is_file():
        raise InputError(f"{folder}: no {CONTENTS}: the corpus is not encoded to its end")
    contents = read_json(path)
    if contents.get("format") != FORMAT:
        raise InputError(f"{path}: of another version: encode it again")
    files = path.parent / Path(contents["folder"]).name
    for name, digest in contents["files"].items():
        if not (files / name).is_file() or sha256_file(files / name) != digest:
            raise InputError(f"{files / name}: {_CHANGED}")
    for path, is_whole in stored_shards(files).items():
        if not is_whole:
            raise InputError(f"{files / VECTORS}: shard {path.stem} is {_CHANGED}")
    return files, contents


def stored_shards(files):
    """Files of digests, and whether the array holds the vectors of each."""
    paths = sorted((files / SHARDS).glob("*.sha256"))
    try:
        vectors = np.load(files / VECTORS, mmap_mode="r")
    except (OSError, ValueError, EOFError):
        return dict.fromkeys(paths, False)
    whole = {}
    for path in paths:
        start, end = map(int, path.stem.split("-"))
        digest = hashlib.sha256(vectors[start:end].tobytes()).hexdigest()
        whole[path] = digest == path.read_text()
    return whole


# --- the collection


@functools.cache
def uncached_encoder(encoder, settings):
    """Encoder, by name without vectors on disk: the corpus has them."""
    if not isinstance(encoder, str):
        return encoder
    return load_encoder(encoder, cache=False, **asdict(settings))


class EncodedCorpus(CorpusIndex):
    """A collection on disk, with the methods of an index in memory."""

    has_words_of_passages = False

    def __init__(self, folder, encoder=None):
        self.place = folder
        self.folder, self.contents = check_corpus(folder)
        self.documents = pd.DataFrame(read_json(self.folder / "documents.json"))
        self.doc_ids = self.documents["doc_id"].tolist()
        self.texts = StoredTexts(self.folder)
        self.median_words = self.contents["median_words"]
        self.model_settings = model_settings()
        self._encoder = encoder or self.contents["encoder"]
        self._passages = {}

    @cached_property
    def _encoders(self):
        # The encoder of the corpus, or another one of the same weights, such as on no GPU.
        encoder = uncached_encoder(self._encoder, self.model_settings)
        weights = getattr(encoder, "weights_hash", encoder.model_hash)
        if weights != self.contents["model"]:
            raise InputError(
                f"{self.place}: was encoded by another model than {encoder.name!r} is here "
                f"({weights[:12]})"
            )
        return {"truncated": encoder, "windows": WindowedQueries(encoder)}

    def passages(self, cut=None):
        stored_cut = self.contents["cut"]
        if cut is not None and list(cut) != stored_cut:
            raise InputError(
                f"{self.place}: holds whole documents and {_CUT.format(*stored_cut)}, not "
                f"{_CUT.format(*cut)}: choose another system, or load the collection"
            )
        if cut not in self._passages:
            self._passages[cut] = StoredPassages(self, cut)
        return self._passages[cut]


class StoredPassages(Passages):
    """Passages of a corpus on disk, or its whole documents."""

    def __init__(self, index, cut):
        super().__init__(index, cut)
        part = index.folder / ("documents" if cut is None else "passages")
        # Document, start and end of each, and the row of its vector.
        owner, start, end, rows = np.load(part.with_suffix(".npy"))
        self.chunks = Chunks(StoredParts(index.texts, owner, start, end), owner, start, end)
        self.vectors = StoredVectors(index.folder, rows)
        self.dense = SearchInBlocks(self.vectors)
        self.token_frequencies = np.load(part.with_suffix(".tokens.npy"))

    def _bm25_of(self, preset):
        presets = self.index.contents["presets"]
        if self.cut is not None or preset not in presets:
            raise InputError(
                f"{self.index.place}: holds BM25 of whole documents, not of passages, by the "
                f"presets {', '.join(presets)}: choose another system, or load the collection"
            )
        return BM25Index(self.texts, folder=self.index.folder / preset, **PRESETS[preset])


class StoredTexts(Sequence):
    def __init__(self, files):
        self._bytes = np.load(files / "texts.npy", mmap_mode="r")
        self._bounds = np.load(files / "bounds.npy")

    def __len__(self):
        return len(self._bounds) - 1

    def __getitem__(self, document):
        start, end = self._bounds[document], self._bounds[document + 1]
        return self._bytes[start:end].tobytes().decode()


class StoredParts(Sequence):
    def __init__(self, texts, *places):
        self._texts = texts
        self._places = places

    def __len__(self):
        return len(self._places[0])

    def __getitem__(self, row):
        owner, start, end = (places[row] for places in self._places)
        return self._texts[owner][start:end]


class StoredVectors:
    """Rows of an array, read when they are asked for by an array of numbers."""

    def __init__(self, files, rows):
        self._vectors = np.load(files / VECTORS, mmap_mode="r")
        self._rows = rows

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, items):
        return self._vectors[self._rows[items]]


class SearchInBlocks:
    """Vectors of which some are in memory at a time, with the lists of one search of all."""

    def __init__(self, vectors):
        self._vectors = vectors

    def search(self, query_vectors, k, allowed=None):
        ids = []
        scores = []
        for start in range(0, len(self._vectors), VECTORS_AT_ONCE):
            block = slice(start, start + VECTORS_AT_ONCE)
            mask = None if allowed is None else np.atleast_2d(allowed)[:, block]
            lists = DenseIndex(self._vectors[block]).search(query_vectors, k, mask)
            ids.append(np.where(lists.ids >= 0, lists.ids + start, ABSENT))
            scores.append(lists.scores)
        return best_first(np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)).truncate(k)
