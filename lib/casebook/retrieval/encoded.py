"""A collection encoded on disk, and searched as one in memory.

`EncodedCorpus` stands for `casebook.retrieval.index.CorpusIndex`: vectors and word counts are
mapped into memory, texts are read where they are needed. Ids and scores are those of the index in
memory.

`encode_corpus` computes the vectors shard by shard, here or on a cluster, and writes them into one
array. Shards that are written are not computed again. The files lie in a folder that is named by
what they were made of, so that other texts or another encoder never write over what somebody reads;
``encoded.json``, which names the folder, is written last and in one step.
"""

import contextlib
import functools
import hashlib
import json
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data.folders import read_questions
from casebook.errors import InputError
from casebook.files import locked, sha256_file, write_json
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.models.rerankers import token_frequencies
from casebook.readers import read_json
from casebook.retrieval.index import Chunks, CorpusIndex, Passages
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.search import PRESETS, BM25Index, DenseIndex
from casebook.retrieval.settings import PipelineConfig

FORMAT = 6  # of the files; those of another one are written anew
CONTENTS = "encoded.json"  # written last: what it names is whole
VECTORS = "vectors.npy"
SHARDS = "shards"  # folder of the SHA-256 of the vectors of each shard: 0-50000.sha256
_CUT = "passages of {} words with {} shared, at most {} of each"
_CHANGED = "gone, or changed since it was encoded: encode the collection again"


def search_folder(folder, questions, depth, mode="full", encoder=None, filters=None):
    """Run of a system on an encoded corpus, for the questions of a BEIR folder."""
    queries = read_questions(questions)
    index = EncodedCorpus(folder, encoder)
    retriever = HybridRetriever(index, mode=mode)
    result = retriever.retrieve_many(
        queries["text"].tolist(), depth, filters, depth=depth
    )
    if filters and not result.final.lengths.any():
        raise InputError(f"{folder}: no document that satisfies the filters was found")
    return result.run(queries["query_id"])


def open_corpus(folder, dataset, encoder):
    """Encoded corpus of the documents of a dataset."""
    index = EncodedCorpus(folder, load_encoder(encoder))
    held = dict(zip(index.doc_ids, index.texts, strict=True))
    if dataset.documents.set_index("doc_id")["text"].to_dict() != held:
        problem = "does not hold the documents of the data set, with titles or without as here"
        raise InputError(
            f"{folder}: {problem}: encode them by 'casebook corpus encode'"
        )
    return index


# --- whether the files are whole


def check_corpus(folder):
    """Folder of a corpus' files, and its contents; refuses one that is not whole."""
    path = Path(folder) / CONTENTS
    if not path.is_file():
        raise InputError(
            f"{folder}: no {CONTENTS}: the corpus is not encoded to its end"
        )
    contents = read_json(path)
    if contents.get("format") != FORMAT:
        raise InputError(f"{path}: of another version: encode it again")
    files = path.parent / Path(contents["folder"]).name
    for name, digest in contents["files"].items():
        if not (files / name).is_file() or sha256_file(files / name) != digest:
            raise InputError(f"{files / name}: {_CHANGED}")
    damaged = [
        path.stem for path, is_whole in stored_shards(files).items() if not is_whole
    ]
    if damaged:
        raise InputError(f"{files / VECTORS}: shard {damaged[0]} is {_CHANGED}")
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

    unsearchable = ("bm25_chunked",)

    def __init__(self, folder, encoder=None):
        self.place = folder
        self.folder, self.contents = check_corpus(folder)
        self.documents = pd.DataFrame(read_json(self.folder / "documents.json"))
        self.doc_ids = self.documents["doc_id"].tolist()
        self.median_words = self.contents["median_words"]
        self.model_settings = model_settings()
        # That of the corpus, or another one of the same weights, such as on no GPU.
        self.encoder = uncached_encoder(
            encoder or self.contents["encoder"], self.model_settings
        )
        if (
            getattr(self.encoder, "weights_hash", self.encoder.model_hash)
            != self.contents["model"]
        ):
            raise InputError(
                f"{folder}: was encoded by another model than {self.encoder.name!r}"
            )
        self._made = functools.cache(self._cut_as)
        self.texts = self.passages().texts

    def _cut_as(self, cut):
        stored_cut = self.contents["cut"]
        if cut is not None and list(cut) != stored_cut:
            kept, asked = (_CUT.format(*each) for each in (stored_cut, cut))
            problem = f"holds whole documents and {kept}, not {asked}"
            raise InputError(f"{self.place}: {problem}: choose another system")
        return StoredPassages(self, cut)


class StoredPassages(Passages):
    """Passages of a corpus on disk, or its whole documents."""

    def __init__(self, index, cut):
        super().__init__(index, cut)
        part = index.folder / ("documents" if cut is None else "passages")
        # Document, start and end of each, and the row of its vector.
        *places, rows = np.load(part.with_suffix(".npy"))
        self.chunks = Chunks(StoredTexts(index.folder, places), *places)
        self.vectors = StoredVectors(index.folder, rows)
        self.dense = DenseIndex(self.vectors)
        self.token_frequencies = np.load(part.with_suffix(".tokens.npy"))

    def _bm25(self, preset):
        if self.cut is not None:
            problem = "holds BM25 of whole documents, not of passages"
            raise InputError(f"{self.index.place}: {problem}: choose another system")
        return BM25Index(self.texts, preset, self.index.folder / preset)


class StoredTexts(Sequence):
    """Parts of texts on disk, by the document, the start and the end of each."""

    def __init__(self, files, places):
        self._bytes = np.load(files / "texts.npy", mmap_mode="r")
        self._bounds = np.load(files / "bounds.npy")
        self._places = places

    def __len__(self):
        return len(self._places[0])

    def __getitem__(self, row):
        owner, start, end = (places[row] for places in self._places)
        of_document = slice(*self._bounds[owner : owner + 2])
        return self._bytes[of_document].tobytes().decode()[start:end]


class StoredVectors:
    """Rows of an array, mapped while they are read: pages that stay mapped count as memory."""

    def __init__(self, files, rows):
        whole = np.load(files / VECTORS, mmap_mode="r")
        # Open, because whoever encodes the collection anew removes the file.
        self._file = (files / VECTORS).open("rb")
        self._layout = {
            "offset": whole.offset,
            "shape": whole.shape,
            "dtype": whole.dtype,
        }
        self._rows = rows

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, items):
        return np.memmap(self._file, mode="r", **self._layout)[self._rows[items]]


# --- encoding


def encode_corpus(documents, encoder, out, size=None, client=None, cut=None):
    """Encode documents, or what is still missing of them, for the whole pipeline; gives a summary.

    The encoder is named, or an object that can be sent to workers; `cut` is `PipelineConfig.cut`.
    Shards have so many vectors that each worker of `client` has one, unless `size` says how many.
    """
    settings = model_settings()
    model = uncached_encoder(encoder, settings)
    index = CorpusIndex(documents, model)
    contents = {
        "format": FORMAT,
        "encoder": encoder if isinstance(encoder, str) else encoder.name,
        "model": getattr(model, "weights_hash", model.model_hash),
        **settings.fingerprint,
        "cut": list(cut or PipelineConfig().cut),
    }
    made_of = index.documents.to_json() + str(contents) + model.model_hash
    out = Path(out)
    files = out / f"files-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    with locked(
        out / ".lock", f"{out}: {{}} encodes to it: wait, or name another one".format
    ):
        stored = None
        with contextlib.suppress(InputError):
            stored, whole = check_corpus(out)
        if stored != files:
            files.mkdir(exist_ok=True)
            encode = encoder, settings, model.model_hash
            whole = contents | _write(
                index, tuple(contents["cut"]), files, encode, size, client
            )
            write_json(out / CONTENTS, whole)
            for other in set(out.glob("files-*")) - {files}:
                shutil.rmtree(other)
    return whole | {"folder": str(out)}


def _write(index, cut, files, encode, size, client):
    """Write the files of a corpus into a new folder; what names them and their hashes."""
    passages = index.passages(cut)
    documents = index.passages()
    every_text = pd.Series([*passages.texts, *documents.texts], dtype=object)
    rows, texts = pd.factorize(every_text)  # each text once
    shards = write_vectors(files, list(texts), encode, size, client)
    of_passages, of_documents = np.split(rows, [len(passages)])
    _write_places(files / "passages", passages, of_passages)
    _write_places(files / "documents", documents, of_documents)
    for preset in PRESETS:
        documents.bm25(preset).save(files / preset)
    columns = index.documents.drop(columns="text").to_dict("list")
    (files / "documents.json").write_text(
        json.dumps(columns, ensure_ascii=False), "utf-8"
    )
    data = [text.encode() for text in index.texts]
    bounds = np.cumsum([0, *map(len, data)])
    np.save(files / "texts.npy", np.frombuffer(b"".join(data), dtype=np.uint8))
    np.save(files / "bounds.npy", bounds)
    digests = {}
    for path in files.rglob("*.*"):
        if path.name != VECTORS:
            digests[path.relative_to(files).as_posix()] = sha256_file(path)
    return {
        "folder": files.name,
        "files": digests,
        "documents": len(documents),
        "passages": len(passages),
        "median_words": index.median_words,
        "shards": shards,
        "dims": np.load(files / VECTORS, mmap_mode="r").shape[1],
    }


def _write_places(stem, part, rows):
    tokens = token_frequencies(part.index.encoder, part.texts)
    np.save(stem.with_suffix(".npy"), np.stack([*part.chunks[1:], rows]))
    np.save(stem.with_suffix(".tokens.npy"), tokens)


def write_vectors(files, texts, encode, size=None, client=None):
    """Write the vectors of texts into one array, except shards that are there; gives their number.

    `encode` is an encoder or its name, the settings of models, and the hash of the model.
    """
    workers = 1 if client is None else client.slots()
    size = size or min(50_000, math.ceil(len(texts) / workers))  # vectors
    files = files.absolute()  # workers may run elsewhere
    shards = {}
    for start in range(0, len(texts), size):
        end = min(start + size, len(texts))
        shards[files / SHARDS / f"{start}-{end}.sha256"] = texts[start:end]
    stored = stored_shards(files)
    kept = [path for path, is_whole in stored.items() if is_whole and path in shards]
    for path in stored.keys() - kept:
        path.unlink()
    if not kept:
        shape = len(texts), vectors_of(texts[:1], *encode).shape[1]
        np.lib.format.open_memmap(files / VECTORS, "w+", np.float32, shape)
        (files / SHARDS).mkdir(exist_ok=True)
    missing = [path for path in shards if path not in kept]
    do_each = map if client is None else client.map
    parts = [shards[path] for path in missing]
    list(do_each(write_shard, missing, parts, [encode] * len(missing)))
    return len(shards)


def write_shard(digest, texts, encode):
    """Write the vectors of texts to their place in the array, on any worker, and then a digest.

    A full disk is an error to the calls of files, and a signal to those of mapped memory.
    """
    path = digest.parents[1] / VECTORS
    vectors = vectors_of(texts, *encode)
    start = int(digest.stem.partition("-")[0])
    data = vectors.tobytes()
    with path.open("r+b") as stream:
        stream.seek(np.load(path, mmap_mode="r").offset + start * vectors[0].nbytes)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    digest.write_text(hashlib.sha256(data).hexdigest())


def vectors_of(texts, encoder, settings, model_hash):
    """Vectors of texts; each process loads a named model once."""
    encoder = uncached_encoder(encoder, settings)
    if encoder.model_hash != model_hash:
        raise InputError(f"encoder {encoder.name}: another model on this worker")
    return np.ascontiguousarray(encoder.encode_documents(texts), dtype=np.float32)
