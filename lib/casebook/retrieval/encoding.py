"""A collection encoded on disk, for the whole pipeline.

The texts are cut and their words counted as by `casebook.retrieval.index.CorpusIndex`; the vectors
are computed shard by shard, here or on a cluster, and written into one array. Shards that are
written are not computed again. The files lie in a folder that is named by what they were made of,
so that other texts or another encoder never write over what somebody reads; ``encoded.json``, which
names the folder, is written last and in one step.
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
from pathlib import Path

import numpy as np

from casebook.data.folders import read_collection
from casebook.errors import InputError
from casebook.files import locked, sha256_file, write_json
from casebook.models.device import model_settings
from casebook.models.encoders import PACKAGED
from casebook.models.rerankers import token_frequencies
from casebook.retrieval.encoded import (
    CONTENTS,
    SHARDS,
    VECTORS,
    check_corpus,
    seal,
    stored_shards,
    uncached_encoder,
)
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.settings import PipelineConfig

MOST_IN_A_SHARD = 50_000  # vectors
STORED_PRESETS = ("default", "leaderboard")  # of BM25


def encode_folder(folder, out, encoder=PACKAGED, size=None, client=None, titles=True):
    """Encode the documents of a BEIR folder: see `encode_corpus`."""
    return encode_corpus(read_collection(folder, titles), encoder, out, size, client)


def encode_corpus(documents, encoder, out, size=None, client=None, cut=None):
    """Encode documents, or what is still missing of them, for the whole pipeline; gives a summary.

    The encoder is named, or an object that can be sent to workers; `cut` is `PipelineConfig.cut`.
    Shards have so many vectors that each worker of `client` has one, unless `size` says how many.
    """
    settings = model_settings()
    model = uncached_encoder(encoder, settings)
    index = CorpusIndex(documents, model)
    about = {
        "encoder": encoder if isinstance(encoder, str) else encoder.name,
        "model": getattr(model, "weights_hash", model.model_hash),
        **settings.fingerprint,
        "cut": list(cut or PipelineConfig().cut),
        "presets": list(STORED_PRESETS),
    }
    out = Path(out)
    files = out / f"files-{_hash_of(index, model, about)[:16]}"
    with locked(out / ".lock", f"{out}: {{}} encodes to it: wait, or name another one".format):
        stored = contents = None
        with contextlib.suppress(InputError):
            stored, contents = check_corpus(out)
        if stored != files:
            files.mkdir(exist_ok=True)
            encode = encoder, settings, model.model_hash
            contents = about | _write(index, tuple(about["cut"]), files, encode, size, client)
            write_json(out / CONTENTS, contents | {"seal": seal(contents)})
            for other in set(out.glob("files-*")) - {files}:
                shutil.rmtree(other)
    names = ("documents", "passages", "shards", "dims", "encoder", *settings.fingerprint)
    return {name: contents[name] for name in names} | {"folder": str(out)}


def _hash_of(index, model, about):
    """SHA-256 of what a corpus is made of."""
    digest = hashlib.sha256(seal([model.model_hash, about]).encode())
    for name, column in index.documents.items():
        digest.update(json.dumps([name, column.tolist()]).encode())
    return digest.hexdigest()


def _write(index, cut, files, encode, size, client):
    """Write all files of a corpus; gives what is to be known of them."""
    passages = index.passages(cut)
    documents = index.passages()
    rows, further = _document_rows(passages, index.texts)
    texts = [*passages.texts, *(index.texts[document] for document in further)]
    shards, dims = write_vectors(files, texts, encode, size, client)

    data = [text.encode() for text in index.texts]
    np.save(files / "texts.npy", np.frombuffer(b"".join(data), dtype=np.uint8))
    columns = index.documents.drop(columns="text").to_dict("list")
    (files / "documents.json").write_text(json.dumps(columns, ensure_ascii=False), "utf-8")
    first_bytes = np.cumsum([0, *map(len, data)])
    _write_part(files / "documents", documents, rows, first_bytes)
    _write_part(files / "passages", passages, np.arange(len(passages)), first_bytes)
    for preset in STORED_PRESETS:
        documents.bm25(preset).save(files / preset)

    paths = [path for path in files.rglob("*.*") if path.name != VECTORS]
    return {
        "folder": files.name,
        "files": {path.relative_to(files).as_posix(): sha256_file(path) for path in paths},
        "documents": len(index),
        "passages": len(passages),
        "median_words": index.median_words,
        "shards": shards,
        "dims": dims,
    }


def _document_rows(passages, texts):
    """Row of each document among the vectors, and the documents that are no passage."""
    rows = np.searchsorted(passages.owner, np.arange(len(texts)))
    further = []
    for document, text in enumerate(texts):
        if passages.texts[rows[document]] != text:
            further.append(document)
    rows[further] = len(passages) + np.arange(len(further))
    return rows, further


def _write_part(folder, part, rows, first_bytes):
    """Write where passages, or whole documents, and their vectors are."""
    owner, start, end = part.chunks[1:]
    texts = part.index.texts
    spans = zip(owner, start, strict=True)
    before = [len(texts[document][:character].encode()) for document, character in spans]
    first = first_bytes[owner] + before
    last = first + [len(text.encode()) for text in part.texts]
    folder.mkdir(exist_ok=True)
    np.save(folder / "table.npy", np.stack([owner, start, end, rows, first, last]))
    np.save(folder / "tokens.npy", token_frequencies(part.index.encoder(), part.texts))


# --- vectors


def write_vectors(files, texts, encode, size=None, client=None):
    """Write the vectors of texts into one array, except shards that are there.

    `encode` is an encoder or its name, the settings of models, and the hash of the model. Gives the
    number of shards and of dimensions.
    """
    workers = 1 if client is None else client.slots()
    size = size or min(MOST_IN_A_SHARD, math.ceil(len(texts) / workers))
    files = files.absolute()  # workers may run elsewhere
    shards = {}
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        shards[files / SHARDS / f"{start}-{start + len(part)}.sha256"] = part
    kept = []
    for path, is_whole in stored_shards(files).items():
        if is_whole and path in shards:
            kept.append(path)
        else:
            path.unlink()
    if not kept:
        dims = vectors_of(texts[:1], *encode).shape[1]
        np.lib.format.open_memmap(files / VECTORS, "w+", np.float32, (len(texts), dims))
        (files / SHARDS).mkdir(exist_ok=True)
    work = [(path, part, encode) for path, part in shards.items() if path not in kept]
    if client is None:
        for shard in work:
            write_shard(*shard)
    else:
        for future in [client.submit(write_shard, *shard) for shard in work]:
            future.result()
    return len(shards), np.load(files / VECTORS, mmap_mode="r").shape[1]


def write_shard(digest, texts, encode):
    """Write the vectors of texts to their place in the array, on any worker, and then a digest.

    A full disk is an error to the calls of files, and a signal to those of mapped memory.
    """
    path = digest.parents[1] / VECTORS
    vectors = vectors_of(texts, *encode)
    start = int(digest.stem.partition("-")[0])
    with path.open("r+b") as stream:
        stream.seek(np.load(path, mmap_mode="r").offset + start * vectors[0].nbytes)
        stream.write(vectors.tobytes())
        stream.flush()
        os.fsync(stream.fileno())
    digest.write_text(hashlib.sha256(vectors.tobytes()).hexdigest())


def vectors_of(texts, encoder, settings, model_hash):
    """Vectors of texts; each process loads a named model once."""
    encoder = uncached_encoder(encoder, settings)
    if encoder.model_hash != model_hash:
        raise InputError(f"encoder {encoder.name}: another model on this worker")
    vectors = np.ascontiguousarray(encoder.encode_documents(texts), dtype=np.float32)
    if len(vectors) != len(texts):
        raise InputError(f"encoder {encoder.name}: {len(vectors)} vectors of {len(texts)} texts")
    return vectors
