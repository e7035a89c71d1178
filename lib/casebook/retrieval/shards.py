"""Large corpora as shards of vectors, in a folder or an object store: encoded, resumed, searched.

A shard is one ``.npy`` file, named by the hash of its texts and of their encoder, so that other
texts or another encoder never write over it. The list of shards, ``shards.json``, is written last
and in one step: a reader of the list finds the vectors that it was made for, or an error says that
they are gone. Then the files of former lists are removed. A shard that is there, with the bytes
that were hashed when it was written, is not encoded again.

The result is the same on one machine and on Dask. Each shard is encoded alone; the score of a pair
of vectors does not depend on what else is searched (`casebook.retrieval.search.DenseIndex`), so
merged shards give what one index gives.
"""

import functools
import hashlib
import io
import json
import re
from dataclasses import asdict

import numpy as np

from casebook.data.folders import read_collection, read_questions
from casebook.errors import InputError
from casebook.files import Store, sha256_file
from casebook.models.device import model_settings
from casebook.models.encoders import PACKAGED, load_encoder
from casebook.retrieval.ranked import best_first, positive_depth, to_run
from casebook.retrieval.search import DenseIndex

SHARD_SIZE = 50_000  # documents
INDEX_FILE = "shards.json"
_SHARD_FILE = re.compile(
    r"(shard-\d{10}-\d{10}(-[0-9a-f]{16})?\.(npy|json)|ids-[0-9a-f]{16}\.json)"
)
_PARTIAL_FILE = re.compile(rf"\.({_SHARD_FILE.pattern}|{re.escape(INDEX_FILE)})\..*\.partial")


def encode_folder(folder, url, encoder=PACKAGED, size=SHARD_SIZE, client=None, titles=True):
    """Encode the documents of a BEIR folder into shards at an address."""
    documents = read_collection(folder, titles)
    encode = DocumentEncoder(encoder)
    store = ShardStore(url)
    metadata = {
        "encoder": encoder,
        "model": encode.weights_hash,
        **encode.settings.fingerprint,
        "ids": documents["doc_id"].tolist(),
    }
    entries = encode_shards(documents["text"].tolist(), encode, store, size, client, metadata)
    return {
        "documents": len(documents),
        "shards": len(entries),
        "dims": entries[0]["dims"],
        "encoder": encoder,
        **encode.settings.fingerprint,
        "url": store.url,
    }


def search_folder(url, questions, depth, encoder=None, client=None):
    """Search shards for the questions of a BEIR folder, exactly; give a run."""
    store = ShardStore(url)
    queries = read_questions(questions)
    index = store.index()  # once: all that follows belongs to one list of shards
    name = encoder or index.get("encoder")
    if name is None:
        raise InputError(f"{store.url}: does not say which encoder made it: name one")
    model = _uncached_encoder(name, model_settings())
    # Of the same weights: a corpus that a GPU encoded is searched without one.
    if index.get("model", model.weights_hash) != model.weights_hash:
        raise InputError(
            f"{store.url}: was encoded by another model than {name!r} is here "
            f"({model.weights_hash[:12]})"
        )
    vectors = model.encode_queries(queries["text"].tolist())
    lists = search_shards(store, vectors, depth, client, index)
    return to_run(lists, queries["query_id"].tolist(), index["ids"])


class DocumentEncoder:
    """Encodes documents on any worker; each process loads the model once."""

    def __init__(self, name):
        self.name = name
        self.settings = model_settings()
        encoder = _uncached_encoder(name, self.settings)
        self.model_hash = encoder.model_hash
        self.weights_hash = encoder.weights_hash

    def __call__(self, texts):
        """Encode documents; refuses a model that is another one on this machine."""
        encoder = _uncached_encoder(self.name, self.settings)
        if encoder.model_hash != self.model_hash:
            raise InputError(f"encoder {self.name}: another model on this worker")
        return encoder.encode_documents(texts)


@functools.cache
def _uncached_encoder(name, settings):
    """Load an encoder that keeps no vectors on disk: the shards do."""
    return load_encoder(name, cache=False, **asdict(settings))


def encode_shards(texts, encode, store, size=SHARD_SIZE, client=None, metadata=None):
    """Encode a corpus, or what is still missing of it, into a store of shards.

    `texts` is a list, or gives the texts of a slice on demand.
    """
    if not len(texts):
        raise InputError("nothing to encode: no documents")
    parts = ((start, texts[start : start + size]) for start in range(0, len(texts), size))
    entries = _map(client, _encode_part, parts, encode, store)
    store.commit(entries, metadata)
    return entries


def _encode_part(part, encode, store):
    """Encode a shard, unless it is there already; give its entry."""
    start, texts = part
    stop = start + len(texts)
    code = getattr(encode, "model_hash", getattr(encode, "__qualname__", ""))
    key = _hash_of_json([code, texts])
    entry = store.entry(start, stop, key)
    if entry is not None:
        return entry
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
    sizes = [entry["n"] for entry in entries]
    k = min(positive_depth(k), sum(sizes))
    parts = _map(client, _search_shard, entries, store, queries, k)
    ids = []
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        ids.append(part.ids + start)
        start += size
    scores = [part.scores for part in parts]
    return best_first(np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)).truncate(k)


def _search_shard(entry, store, queries, k):
    return DenseIndex(store.vectors(entry)).search(queries, k)


def _map(client, function, items, *arguments):
    """Call a function on every item: one after the other here, or on a cluster."""
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
        """Write one shard, in one step, and give its entry."""
        name = _shard_name(start, start + len(vectors), key)
        stream = io.BytesIO()
        np.save(stream, np.ascontiguousarray(vectors, dtype=np.float32))
        data = stream.getvalue()
        entry = {
            "name": name,
            "n": len(vectors),
            "dims": int(vectors.shape[1]),
            "key": key,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        self._store.write(f"{name}.npy", data)
        self._store.write(f"{name}.json", json.dumps(entry, sort_keys=True).encode())
        return entry

    def entry(self, start, stop, key):
        """Entry of a shard, or None if it is not there or was changed.

        Of a file in an object store only the size is checked.
        """
        name = _shard_name(start, stop, key)
        entry = self._json_object(f"{name}.json")
        if entry is None or entry.get("key") != key:
            return None
        if self._store.size(f"{name}.npy") != entry["bytes"]:
            return None
        if not self._store.is_folder:
            return entry
        digest = sha256_file(self._store.path(f"{name}.npy"))
        return entry if digest == entry["sha256"] else None

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

    def commit(self, entries, metadata=None):
        """Write the list of all shards, which ends the encoding; remove files of former lists."""
        files = set()
        for entry in entries:
            files.update([f"{entry['name']}.npy", f"{entry['name']}.json"])
        missing = files.difference(self._store.names())
        if missing:
            raise InputError(
                f"{self._store.place(min(missing))}: removed while the corpus was encoded, "
                "by another process at the same place: name another one, or try again"
            )
        index = {**(metadata or {}), "shards": entries}
        index["seal"] = _hash_of_json(index)
        self._store.write(INDEX_FILE, json.dumps(index, sort_keys=True).encode())
        for name in self._store.names():
            is_old_shard = _SHARD_FILE.fullmatch(name) and name not in files
            if is_old_shard or _PARTIAL_FILE.fullmatch(name):
                self._store.remove(name)

    def files(self):
        """Files of the corpus, if they are on this machine."""
        if not self._store.is_folder:
            return []
        return [
            self._store.path(name)
            for name in self._store.names()
            if name == INDEX_FILE or _SHARD_FILE.fullmatch(name)
        ]

    def index(self):
        """List of shards of a corpus that is encoded to its end, with its metadata."""
        index = self._json_object(INDEX_FILE)
        if index is None or "shards" not in index:
            raise InputError(f"{self.url}: no {INDEX_FILE}: the corpus is not encoded to its end")
        # Of a list that was changed by hand nothing is searched.
        seal = index.pop("seal", None)
        if seal != _hash_of_json(index):
            raise InputError(
                f"{self.url}: {INDEX_FILE}: changed by hand, or of an older version: "
                "encode it again"
            )
        return index

    def _json_object(self, name):
        """Object in a file of JSON; None if it is not there, or damaged."""
        try:
            value = json.loads(self._store.read(name) or b"null")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


def _shard_name(start, stop, key):
    return f"shard-{start:010}-{stop:010}-{key[:16]}"


def _hash_of_json(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
