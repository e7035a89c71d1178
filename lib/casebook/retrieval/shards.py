"""Large corpora as shards of vectors in a folder or an object store: encoded, resumed, searched, here or on Dask.

A shard is one ``.npy`` file, named by the hash of its texts and of their encoder, so that other texts or another
encoder never write over it. The list of shards, ``shards.json``, is written last and in one step: who has read it finds
the vectors that it was made for, or is told that they are gone. Then the files of former lists are removed. A shard
that is there, with the bytes that were hashed when it was written, is not encoded again.

The result does not depend on where it is made. Each shard is encoded alone; the score of a pair of vectors does not
depend on what else is searched (`casebook.retrieval.search.DenseIndex`), so merged shards give what one index gives.
"""

import hashlib
import io
import json
import re
from functools import cache

import numpy as np

from casebook.data.folders import read_collection, read_questions
from casebook.errors import InputError
from casebook.files import Store, sha256_file
from casebook.models.encoders import PACKAGED, load_encoder
from casebook.retrieval.ranked import best_first, positive_depth, to_run
from casebook.retrieval.search import DenseIndex

SHARD = 50_000  # documents
INDEX = "shards.json"
_OURS = re.compile(r"(shard-\d{10}-\d{10}(-[0-9a-f]{16})?\.(npy|json)|ids-[0-9a-f]{16}\.json)")
_PARTIAL = re.compile(rf"\.({_OURS.pattern}|{re.escape(INDEX)})\..*\.partial")


def encode_folder(folder, url, encoder=PACKAGED, size=SHARD, client=None, titles=True):
    """Encode the documents of a BEIR folder into shards at an address."""
    documents, work = read_collection(folder, titles), DocumentEncoder(encoder)
    about = {"encoder": encoder, "model": work.model_hash, "ids": documents["doc_id"].tolist()}
    store = ShardStore(url)
    entries = encode_shards(documents["text"].tolist(), work, store, size, client, about)
    counts = {"documents": len(documents), "shards": len(entries), "dims": entries[0]["dims"]}
    return counts | {"encoder": encoder, "url": store.url}


def search_folder(url, questions, depth, encoder=None, client=None):
    """Search shards for the questions of a BEIR folder, exactly; give a run."""
    store, asked = ShardStore(url), read_questions(questions)
    index = store.index()  # once: all that follows belongs to one list of shards
    name = encoder or index.get("encoder")
    if name is None:
        raise InputError(f"{store.url}: does not say which encoder made it: name one")
    model = _loaded(name)
    if index.get("model", model.model_hash) != model.model_hash:
        raise InputError(
            f"{store.url}: was encoded by another model than {name!r} is here ({model.model_hash[:12]})"
        )
    lists = search_shards(store, model.encode_queries(asked["text"].tolist()), depth, client, index)
    return to_run(lists, asked["query_id"].tolist(), index["ids"])


class DocumentEncoder:
    """Turns texts into vectors wherever it is sent; one load a process."""

    def __init__(self, name):
        self.name, self.model_hash = name, _loaded(name).model_hash

    def __call__(self, texts):
        """Encode documents; refuses a model that is another one on this machine."""
        encoder = _loaded(self.name)
        if encoder.model_hash != self.model_hash:
            raise InputError(f"encoder {self.name}: another model on this worker")
        return encoder.encode_documents(texts)


# The shards are the memory: vectors need not be kept twice.
_loaded = cache(lambda name: load_encoder(name, cache=False))


def encode_shards(texts, encode, store, size=SHARD, client=None, about=None):
    """Encode a corpus into a store of shards, or what of it is still missing.

    `texts` is a list, or gives the texts of a slice when they are wanted.
    """
    if not len(texts):
        raise InputError("nothing to encode: no documents")
    jobs = ((start, texts[start : start + size]) for start in range(0, len(texts), size))
    entries = _mapped(client, _encode_one, jobs, encode, store)
    store.commit(entries, about)
    return entries


def _encode_one(job, encode, store):
    start, texts = job
    stop = start + len(texts)
    code = getattr(encode, "model_hash", getattr(encode, "__qualname__", ""))
    key = hashlib.sha256(json.dumps([code, texts]).encode()).hexdigest()
    found = store.entry(start, stop, key)
    if found:
        return found
    vectors = np.asarray(encode(texts))
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise InputError(
            f"documents from {start}: the encoder gave shape {vectors.shape} for {len(texts)} texts"
        )
    return store.write(start, vectors, key)


def search_shards(store, query_vectors, k, client=None, index=None):
    """Find the most similar documents of every query, exactly."""
    entries = (index or store.index())["shards"]
    queries = np.asarray(query_vectors, dtype=np.float32)
    starts = np.cumsum([0] + [entry["n"] for entry in entries])
    depth = min(positive_depth(k), int(starts[-1]))
    parts = _mapped(client, _search_one, entries, store, queries, depth)
    ids = np.concatenate(
        [part.ids + start for part, start in zip(parts, starts, strict=False)], axis=1
    )
    scores = np.concatenate([part.scores for part in parts], axis=1)
    return best_first(ids, scores).truncate(depth)


def _search_one(entry, store, queries, depth):
    return DenseIndex(store.vectors(entry)).search(queries, depth)


def _mapped(client, function, items, *arguments):
    """Results in order: one after the other here, or from a cluster."""
    if client is None:
        return [function(item, *arguments) for item in items]
    return client.gather([client.submit(function, item, *arguments) for item in items])


class ShardStore:
    """Shards below one address."""

    def __init__(self, url):
        if not str(url).strip():
            raise InputError("shards need an address: a folder, or such as s3://b/c")
        self._store = Store(url)
        self.url = self._store.url

    def write(self, start, vectors, key):
        """Write one shard; a reader never sees half of it."""
        name, stream = _name(start, start + len(vectors), key), io.BytesIO()
        np.save(stream, np.ascontiguousarray(vectors, dtype=np.float32))
        data = stream.getvalue()
        entry = {"name": name, "n": len(vectors), "dims": int(vectors.shape[1]), "key": key}
        entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        self._store.write(f"{name}.npy", data)
        self._store.write(f"{name}.json", json.dumps(entry, sort_keys=True).encode())
        return entry

    def entry(self, start, stop, key):
        """Entry of a shard, or None if it is not there or was changed; an object store is asked for the size alone."""
        name = _name(start, stop, key)
        found = self._json(f"{name}.json") or {}
        sound = found.get("key") == key and self._store.size(f"{name}.npy") == found["bytes"]
        if sound and self._store.is_folder:
            sound = sha256_file(self._store.path(f"{name}.npy")) == found["sha256"]
        return found if sound else None

    def vectors(self, entry):
        """Read one shard, whose bytes must be those that were encoded."""
        name = f"{entry['name']}.npy"
        data = self._store.read(name) or b""
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            remedy = "encode it again, or search again if that was just done"
            raise InputError(
                f"{self._store.place(name)}: gone, or changed since it was encoded: {remedy}"
            )
        return np.load(io.BytesIO(data), allow_pickle=False)

    def commit(self, entries, about=None):
        """Write the list of all shards, which makes the corpus whole; remove the files of former lists."""
        kept = {f"{entry['name']}.{end}" for entry in entries for end in ("npy", "json")}
        gone = kept - {*self._store.names()}
        if gone:
            raise InputError(
                f"{self._store.place(min(gone))}: removed while the corpus was encoded, "
                "by another process at the same place: name another one, or try again"
            )
        about = {**(about or {}), "shards": entries}
        self._store.write(
            INDEX, json.dumps(about | {"seal": _seal(about)}, sort_keys=True).encode()
        )
        for name in self._store.names():
            if (_OURS.fullmatch(name) and name not in kept) or _PARTIAL.fullmatch(name):
                self._store.remove(name)

    def files(self):
        """Files of this machine that the corpus is."""
        ours = [name for name in self._store.names() if name == INDEX or _OURS.fullmatch(name)]
        return [self._store.path(name) for name in ours] if self._store.is_folder else []

    def index(self):
        """What `commit` was told of a whole corpus, with its ``shards``."""
        found = self._json(INDEX)
        if found is None or "shards" not in found:
            raise InputError(f"{self.url}: no {INDEX}: the corpus is not encoded to its end")
        if found.pop("seal", None) != _seal(found):
            raise InputError(
                f"{self.url}: {INDEX}: changed by hand, or of an older version: encode it again"
            )
        return found

    def _json(self, name):
        """Object in a file of JSON; None if it is not there, or damaged."""
        try:
            found = json.loads(self._store.read(name) or b"null")
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def _name(start, stop, key):
    return f"shard-{start:010}-{stop:010}-{key[:16]}"


def _seal(index):
    """Hash of a list of shards: what was changed by hand is not searched."""
    return hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()
