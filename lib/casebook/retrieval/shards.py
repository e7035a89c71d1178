"""Large corpora as shards, in a folder or an object store: written, resumed, read.

A file of a shard is named by the hash of what it was made of, texts and encoder included, so that
other texts or another encoder never write over it. The list of shards, ``shards.json``, is written
last and in one step: a reader of the list finds the files that it was made for, or an error says
that they are gone. Then the files of former lists are removed. A file that is there, with the bytes
that were hashed when it was written, is not made again.

Files are mapped into memory, after their bytes were hashed once by each process; those of an object
store are copied to the temporary folder of the machine that searches them.

The result is the same on one machine and on Dask. Each shard is encoded alone; the score of a pair
of vectors does not depend on what else is searched (`casebook.retrieval.search.DenseIndex`), so
merged shards give what one index gives. `casebook.retrieval.encoding` writes them, and
`casebook.retrieval.sharded` searches them as a whole.
"""

import atexit
import functools
import hashlib
import io
import json
import math
import re
import shutil
import tempfile
from collections import deque
from dataclasses import asdict
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.files import Store, sha256_file
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.retrieval.ranked import ABSENT, best_first, positive_depth
from casebook.retrieval.search import DenseIndex

SHARD_SIZE = 50_000  # documents
FORMAT = 1  # of the files of a corpus for the whole pipeline: another one is written anew
INDEX_FILE = "shards.json"
_SHARD_FILE = re.compile(
    r"(shard-\d{10}-\d{10}(-[0-9a-f]{16})?\.(npy|json|bin)|ids-[0-9a-f]{16}\.json)"
)
_PARTIAL_FILE = re.compile(rf"\.({_SHARD_FILE.pattern}|{re.escape(INDEX_FILE)})\..*\.partial")
#: Files of a shard: texts and word counts, passages, vectors, and the last in clusters.
PARTS = ("documents", "passages", "vectors", "clusters")
_ALIGNMENT = 64  # bytes: where arrays begin in a file
_REMEDY = "encode it again, or search again if that was just done"


class DocumentEncoder:
    """Encodes documents on any worker; each process loads the model once.

    It is named, or an object that can be sent to the workers.
    """

    def __init__(self, encoder):
        self.settings = model_settings()
        self._encoder = encoder
        self.name = encoder if isinstance(encoder, str) else encoder.name
        self.model_hash = self.encoder.model_hash
        self.weights_hash = getattr(self.encoder, "weights_hash", self.model_hash)

    @property
    def encoder(self):
        """The encoder; refuses a model that is another one on this machine."""
        if not isinstance(self._encoder, str):
            return self._encoder
        encoder = uncached_encoder(self._encoder, self.settings)
        if encoder.model_hash != getattr(self, "model_hash", encoder.model_hash):
            raise InputError(f"encoder {self.name}: another model on this worker")
        return encoder

    def __call__(self, texts):
        """Encode documents."""
        return self.encoder.encode_documents(texts)


@functools.cache
def uncached_encoder(name, settings):
    """Load an encoder that keeps no vectors on disk: the shards do."""
    return load_encoder(name, cache=False, **asdict(settings))


def encode_part(texts, encode, store, span):
    """Encode the texts of the documents of a span, unless that was done; give their entry."""
    start, stop = span
    code = getattr(encode, "model_hash", getattr(encode, "__qualname__", ""))
    key = hash_of_json([code, texts])
    entry = store.entry(start, stop, key)
    if entry is not None:
        return entry
    vectors = np.asarray(encode(texts))
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise InputError(
            f"documents from {start}: the encoder gave shape {vectors.shape} for {len(texts)} texts"
        )
    return store.write(start, stop, vectors, key)


def search_shards(store, query_vectors, k, client=None, index=None):
    """Find the most similar documents of every query, exactly."""
    shards = (index or store.index())["shards"]
    queries = np.asarray(query_vectors, dtype=np.float32)
    sizes = [shard["n"] for shard in shards]
    k = min(positive_depth(k), sum(sizes))
    parts = on_shards(client, _search_shard, shards, store, queries, k)
    return merged(parts, sizes, k)


def _search_shard(shard, store, queries, k):
    return DenseIndex(store.document_vectors(shard)).search(queries, k)


def merged(parts, sizes, k):
    """Join the lists of shards, whose items are numbered from 0 in each, exactly."""
    ids = []
    scores = []
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        ids.append(np.where(part.ids >= 0, part.ids + start, ABSENT))
        scores.append(part.scores)
        start += size
    return best_first(np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)).truncate(k)


def on_shards(client, function, items, *arguments):
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


class ShardStore:
    """Shards below one address."""

    def __init__(self, url):
        if not str(url).strip():
            raise InputError("shards need an address: a folder, or such as s3://b/c")
        self._store = Store(url)
        self.url = self._store.url

    def write(self, start, stop, vectors, key):
        """Write the vectors of one shard, in one step, and give their entry."""
        stream = io.BytesIO()
        np.save(stream, np.ascontiguousarray(vectors, dtype=np.float32))
        facts = {"n": len(vectors), "dims": int(vectors.shape[1])}
        return self._write(_shard_name(start, stop, key), stream.getvalue(), key, facts)

    def write_arrays(self, start, stop, arrays, key, facts):
        """Write arrays of one shard into one file, in one step, and give their entry."""
        stream = io.BytesIO()
        layout = {}
        for name, array in arrays.items():
            array = np.ascontiguousarray(array)
            stream.write(bytes(-stream.tell() % _ALIGNMENT))
            layout[name] = [array.dtype.str, list(array.shape), stream.tell()]
            stream.write(array.tobytes())
        name = _shard_name(start, stop, key)
        return self._write(name, stream.getvalue(), key, {**facts, "arrays": layout})

    def _write(self, name, data, key, facts):
        entry = {
            **facts,
            "name": name,
            "key": key,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        self._store.write(_file_of(entry), data)
        self._store.write(f"{name}.json", json.dumps(entry, sort_keys=True).encode())
        return entry

    def entry(self, start, stop, key):
        """Entry of a file of a shard, or None if it is not there or was changed.

        Of a file in an object store only the size is checked.
        """
        name = _shard_name(start, stop, key)
        entry = self._json_object(f"{name}.json")
        if entry is None or entry.get("key") != key:
            return None
        if self._store.size(_file_of(entry)) != entry["bytes"]:
            return None
        if not self._store.is_folder:
            return entry
        digest = sha256_file(self._store.path(_file_of(entry)))
        return entry if digest == entry["sha256"] else None

    def vectors(self, entry):
        """Map the vectors of one shard, whose bytes must be those that were encoded."""
        return np.load(self.file(entry), mmap_mode="r", allow_pickle=False)

    def document_vectors(self, shard):
        """Vectors of the documents of one shard."""
        if "vectors" not in shard:  # of a list of vectors alone
            return self.vectors(shard)
        return self.vectors(shard["vectors"])[self.arrays(shard["passages"])["document_rows"]]

    def arrays(self, entry):
        """Map the arrays of one file, whose bytes must be those that were written."""
        mapped = np.asarray(np.memmap(self.file(entry), np.uint8, "r"))
        arrays = {}
        for name, (kind, shape, offset) in entry["arrays"].items():
            size = math.prod(shape) * np.dtype(kind).itemsize
            arrays[name] = mapped[offset : offset + size].view(kind).reshape(shape)
        return arrays

    def file(self, entry):
        """Path on this machine of a file, whose bytes were hashed once by this process."""
        name = _file_of(entry)
        if self._store.is_folder:
            path = _intact(Path(self._store.path(name)), entry["sha256"])
        else:
            path = _copy_of(self._store, name, entry["sha256"])
        if path is None:
            address = self._store.place(name)
            raise InputError(f"{address}: gone, or changed since it was encoded: {_REMEDY}")
        return path

    def commit(self, entries, metadata=None):
        """Write the list of all shards, which ends the encoding; remove files of former lists."""
        files = set()
        for entry in _files_of(entries):
            files.update([_file_of(entry), f"{entry['name']}.json"])
        missing = files.difference(self._store.names())
        if missing:
            raise InputError(
                f"{self._store.place(min(missing))}: removed while the corpus was encoded, "
                "by another process at the same place: name another one, or try again"
            )
        index = {**(metadata or {}), "shards": entries}
        index["seal"] = hash_of_json(index)
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
        if seal != hash_of_json(index):
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


def _files_of(shards):
    """Entries of all files of some shards, of which an older one has one alone."""
    for shard in shards:
        if "sha256" in shard:
            yield shard
        else:
            yield from (shard[part] for part in PARTS if part in shard)


def _file_of(entry):
    return f"{entry['name']}.{'bin' if 'arrays' in entry else 'npy'}"


def _intact(path, digest):
    """Path of a file that has a digest, or None."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    return path if _digest(path, state.st_size, state.st_mtime_ns) == digest else None


@functools.lru_cache(maxsize=10_000)
def _digest(path, size, changed):
    """Hash a file, again if it is changed."""
    return sha256_file(path)


@functools.cache
def _folder_of_copies():
    folder = Path(tempfile.mkdtemp(prefix="casebook-shards-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _copy_of(store, name, digest):
    """Path of a copy of an object of a store, for as long as this process lives, or None."""
    path = _folder_of_copies() / hash_of_json([store.place(name), digest])
    if not path.exists():
        data = store.read(name)
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            return None
        path.write_bytes(data)
    return path


def hash_of_json(value):
    """Hash what JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
