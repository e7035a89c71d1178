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
import pandas as pd

from casebook.data.folders import read_collection
from casebook.errors import InputError
from casebook.files import locked, sha256_file, write_json
from casebook.models.device import model_settings
from casebook.models.encoders import PACKAGED
from casebook.models.rerankers import token_frequencies
from casebook.retrieval.encoded import (
    CONTENTS,
    FORMAT,
    SHARDS,
    VECTORS,
    check_corpus,
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
    contents = {
        "format": FORMAT,
        "encoder": encoder if isinstance(encoder, str) else encoder.name,
        "model": getattr(model, "weights_hash", model.model_hash),
        **settings.fingerprint,
        "cut": list(cut or PipelineConfig().cut),
        "presets": list(STORED_PRESETS),
    }
    made_of = index.documents.to_json() + str(contents) + model.model_hash
    out = Path(out)
    files = out / f"files-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    with locked(out / ".lock", f"{out}: {{}} encodes to it: wait, or name another one".format):
        stored = None
        with contextlib.suppress(InputError):
            stored, whole = check_corpus(out)
        if stored != files:
            files.mkdir(exist_ok=True)
            encode = encoder, settings, model.model_hash
            whole = contents | _write(index, tuple(contents["cut"]), files, encode, size, client)
            write_json(out / CONTENTS, whole)
            for other in set(out.glob("files-*")) - {files}:
                shutil.rmtree(other)
    return whole | {"folder": str(out)}


def _write(index, cut, files, encode, size, client):
    parts = {"passages": index.passages(cut), "documents": index.passages()}
    every_text = [text for part in parts.values() for text in part.texts]
    rows, texts = pd.factorize(pd.Series(every_text, dtype=object))  # each text once
    shards, dims = write_vectors(files, list(texts), encode, size, client)
    for name, part in parts.items():
        of_part, rows = np.split(rows, [len(part)])
        np.save(files / f"{name}.npy", np.stack([*part.chunks[1:], of_part]))
        np.save(files / f"{name}.tokens.npy", token_frequencies(index.encoder(), part.texts))
    for preset in STORED_PRESETS:
        parts["documents"].bm25(preset).save(files / preset)
    columns = index.documents.drop(columns="text").to_dict("list")
    (files / "documents.json").write_text(json.dumps(columns, ensure_ascii=False), "utf-8")
    data = [text.encode() for text in index.texts]
    np.save(files / "texts.npy", np.frombuffer(b"".join(data), dtype=np.uint8))
    np.save(files / "bounds.npy", np.cumsum([0, *map(len, data)]))
    paths = [path for path in files.rglob("*.*") if path.name != VECTORS]
    return {
        "folder": files.name,
        "files": {path.relative_to(files).as_posix(): sha256_file(path) for path in paths},
        "documents": len(index),
        "passages": len(parts["passages"]),
        "median_words": index.median_words,
        "shards": shards,
        "dims": dims,
    }


# --- vectors


def write_vectors(files, texts, encode, size=None, client=None):
    """Write the vectors of texts into one array, except shards that are there.

    `encode` is an encoder or its name, the settings of models, and the hash of the model. Gives the
    number of shards and of dimensions.
    """
    workers = 1 if client is None else client.slots()
    size = size or min(MOST_IN_A_SHARD, math.ceil(len(texts) / workers))
    folder = files.absolute() / SHARDS  # workers may run elsewhere
    shards = {}
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        shards[folder / f"{start}-{start + len(part)}.sha256"] = part
    whole = stored_shards(folder.parent)
    kept = [path for path, is_whole in whole.items() if is_whole and path in shards]
    for path in whole.keys() - kept:
        path.unlink()
    if not kept:
        dims = vectors_of(texts[:1], *encode).shape[1]
        np.lib.format.open_memmap(files / VECTORS, "w+", np.float32, (len(texts), dims))
        folder.mkdir(exist_ok=True)
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
