"""A collection encoded on disk, for the whole pipeline.

The texts are cut and their words counted as by `casebook.retrieval.index.CorpusIndex`; the vectors
are computed shard by shard, here or on a cluster, and written into one array. Shards that are
written are not computed again. The files lie in a folder that is named by what they were made of,
so that other texts or another encoder never write over what somebody reads; ``encoded.json``, which
names the folder, is written last and in one step.
"""

import hashlib
import json
import os
import shutil
from collections import deque
from pathlib import Path

import numpy as np

from casebook.data.folders import read_collection
from casebook.errors import InputError
from casebook.files import locked, sha256_file, write_json
from casebook.models.device import model_settings
from casebook.models.encoders import PACKAGED
from casebook.models.rerankers import token_frequencies
from casebook.readers import read_json
from casebook.retrieval.encoded import (
    CONTENTS,
    SHARDS,
    VECTORS,
    check_corpus,
    damaged_shards,
    seal,
    uncached_encoder,
)
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.settings import PipelineConfig

SHARD_SIZE = 50_000  # vectors
STORED_PRESETS = ("default", "leaderboard")  # of BM25


def encode_folder(folder, out, encoder=PACKAGED, size=SHARD_SIZE, client=None, titles=True):
    """Encode the documents of a folder, for the whole pipeline; give a summary."""
    return encode_corpus(read_collection(folder, titles), encoder, out, size, client)


def encode_corpus(documents, encoder, out, size=SHARD_SIZE, client=None, cut=None):
    """Encode documents, or what is still missing of them; give a summary.

    The encoder is named, or an object that can be sent to workers; `cut` is `PipelineConfig.cut`.
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
        contents = _whole(out, files)
        if contents is None:
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


def _whole(out, files):
    """Contents of a corpus whose files are there as they were written, or None."""
    try:
        stored, contents = check_corpus(out)
    except InputError:
        return None
    return contents if stored == files else None


def _write(index, cut, files, encode, size, client):
    """Write all files of a corpus; give what is to be known of them."""
    passages = index.passages(cut)
    documents = index.passages()
    rows, further = _document_rows(passages, index.texts)
    texts = [*passages.texts, *(index.texts[document] for document in further)]
    shards = write_vectors(files, texts, encode, size, client)

    data = [text.encode() for text in index.texts]
    first_bytes = np.cumsum([0, *map(len, data)])
    np.save(files / "texts.npy", np.frombuffer(b"".join(data), dtype=np.uint8))
    columns = index.documents.drop(columns="text").to_dict("list")
    (files / "documents.json").write_text(json.dumps(columns, ensure_ascii=False), "utf-8")
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
        "shards": len(shards),
        "dims": np.load(files / VECTORS, mmap_mode="r").shape[1],
    }


def _document_rows(passages, texts):
    """Row of each document among the vectors, and the documents that are no passage."""
    sizes = np.bincount(passages.owner, minlength=len(texts))
    rows = np.searchsorted(passages.owner, np.arange(len(texts)))
    further = [
        document
        for document, text in enumerate(texts)
        if sizes[document] != 1 or passages.texts[rows[document]] != text
    ]
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


def write_vectors(folder, texts, encode, size, client=None):
    """Write the vectors of texts into one array, except shards that are there; give digests.

    `encode` is an encoder or its name, the settings of models, and the hash of the model.
    """
    path = (folder / VECTORS).absolute()  # workers may run elsewhere
    starts = range(0, len(texts), size)
    shards = {f"{start}-{min(start + size, len(texts))}": start for start in starts}
    try:
        stored = read_json(folder / SHARDS)
    except InputError:  # not there, or damaged
        stored = {}
    kept = (stored.keys() & shards) - set(damaged_shards(path, stored))
    digests = {shard: stored[shard] for shard in kept}
    if not kept:
        path.unlink(missing_ok=True)
        dims = vectors_of(texts[:1], *encode).shape[1]
        np.lib.format.open_memmap(path, "w+", np.float32, (len(texts), dims))
    missing = {shard: start for shard, start in shards.items() if shard not in kept}
    parts = ((start, texts[start : start + size]) for start in missing.values())
    written = on_workers(client, write_shard, parts, path, encode)
    for shard, digest in zip(missing, written, strict=True):
        digests[shard] = digest
        write_json(folder / SHARDS, digests)
    return digests


def write_shard(part, path, encode):
    """Encode texts on any worker, and write their vectors from a row of an array; give a digest.

    A full disk is an error to the calls of files, and a signal to those of mapped memory.
    """
    start, texts = part
    vectors = vectors_of(texts, *encode)
    offset = np.load(path, mmap_mode="r").offset
    with path.open("r+b") as stream:
        stream.seek(offset + start * vectors[0].nbytes)
        stream.write(vectors.tobytes())
        stream.flush()
        os.fsync(stream.fileno())
    return hashlib.sha256(vectors.tobytes()).hexdigest()


def vectors_of(texts, encoder, settings, model_hash):
    """Encode texts; each process loads a named model once."""
    encoder = uncached_encoder(encoder, settings)
    if encoder.model_hash != model_hash:
        raise InputError(f"encoder {encoder.name}: another model on this worker")
    vectors = np.ascontiguousarray(encoder.encode_documents(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        shape = f"shape {vectors.shape} for {len(texts)} texts"
        raise InputError(f"encoder {encoder.name}: gave {shape}")
    return vectors


def on_workers(client, function, items, *arguments):
    """Call a function on every item, in order: here, or on a cluster, which has few at a time."""
    if client is None:
        for item in items:
            yield function(item, *arguments)
        return
    pending = deque()
    for item in items:
        if len(pending) >= 2 * client.slots:
            yield from client.gather([pending.popleft()])
        pending.append(client.submit(function, item, *arguments))
    yield from client.gather(list(pending))
