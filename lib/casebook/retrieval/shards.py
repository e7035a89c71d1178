"""Vectors of a large corpus, kept as shards in a folder or an object store.

A shard is one ``.npy`` file, named by the hash of its texts and of their encoder, so
that other texts or another encoder never write over it. The list of shards,
``shards.json``, is written last and in one step: who has read it finds the vectors that
it was made for, or is told that they are gone. Then the files of former lists are
removed. A shard that is there, with the bytes that were hashed when it was written, is
not encoded again.

A shard is checked when it is opened: its size; and its bytes against their hash if they
were read anyway (an object store), if the file is not older than the list, or on
request.
"""

import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.files import Store, sha256_file

INDEX = "shards.json"
_KEY = 16  # digits of a hash in a file name
_OURS = re.compile(r"(shard-\d{10}-\d{10}(-[0-9a-f]{16})?\.(npy|json)|ids-[0-9a-f]{16}\.json)")
_PARTIAL = re.compile(rf"\.({_OURS.pattern}|{re.escape(INDEX)})\..*\.partial")


def shard_name(start, stop, key):
    """Name a shard."""
    return f"shard-{start:010}-{stop:010}-{key[:_KEY]}"


class ShardStore:
    """Shards below one address."""

    def __init__(self, url, **options):
        self.url, self.options = str(url), options
        if not self.url.strip():
            raise InputError("shards need an address: a folder, or such as s3://b/c")
        self._store = Store(url, **options)

    def __reduce__(self):
        return _opened, (self.url, self.options)

    def write(self, start, vectors, key):
        """Write one shard; a reader never sees half of it."""
        name = shard_name(start, start + len(vectors), key)
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
        """Give the entry of a shard, or None if it is not there or was changed."""
        name = shard_name(start, stop, key)
        found = self._json(f"{name}.json")
        if not _sound([found], start) or (found["name"], found["key"]) != (name, key):
            return None
        if self._store.size(f"{name}.npy") != found["bytes"]:
            return None
        path = self._store.path(f"{name}.npy")
        kept = not self._store.is_folder or sha256_file(path) == found["sha256"]
        return found if kept else None

    def vectors(self, entry, verify=False):
        """Open one shard: memory-mapped from a folder, read from a store."""
        name = f"{entry['name']}.npy"
        path = self._store.path(name)
        try:
            if self._store.is_folder:
                digest, size = None, Path(path).stat().st_size
                listed = Path(self._store.path(INDEX)).stat().st_mtime_ns
                if verify or Path(path).stat().st_mtime_ns >= listed:
                    digest = sha256_file(path)
                found = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                data = self._store.read(name) or b""
                digest, size = hashlib.sha256(data).hexdigest(), len(data)
                found = np.load(io.BytesIO(data), allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"{path}: no readable shard: encode it again, or search again if that was just done"
            ) from error
        shape = entry["n"], entry["dims"]
        sound = found.shape == shape and size == entry["bytes"]
        if not sound or digest not in (None, entry["sha256"]):
            raise InputError(
                f"{path}: changed since it was encoded (other bytes than {INDEX} records): encode it again"
            )
        return found

    def commit(self, entries, about=None, ids=None):
        """Write the list of all shards, which makes the corpus whole; clean up."""
        about = dict(about or {})
        ends = ("npy", "json")
        kept = {f"{entry['name']}.{end}" for entry in entries for end in ends}
        if ids is not None:
            data = json.dumps(ids, ensure_ascii=False).encode()
            about["ids"] = f"ids-{hashlib.sha256(data).hexdigest()[:_KEY]}.json"
            self._store.write(about["ids"], data)
            kept.add(about["ids"])
        gone = kept - {*self._store.names()}
        if gone:
            raise InputError(
                f"{self._store.path(min(gone))}: removed while the corpus was encoded, "
                "by another process at the same place: name another one, or try again"
            )
        text = json.dumps(about | {"shards": entries}, indent=1, sort_keys=True)
        self._store.write(INDEX, text.encode())
        for name in self._store.names():
            old = _OURS.fullmatch(name) and name not in kept
            if old or _PARTIAL.fullmatch(name):
                self._store.remove(name)

    def index(self):
        """Give what `commit` was told of a whole corpus, with its ``shards``."""
        found = self._json(INDEX)
        if not isinstance(found, dict) or "shards" not in found:
            raise InputError(f"{self.url}: no {INDEX}: the corpus is not encoded to its end")
        if not _sound(found["shards"]):
            raise InputError(
                f"{self.url}: {INDEX} does not name its shards by what they hold "
                "(changed by hand, or of an older version): encode it again"
            )
        return found

    def ids(self, index):
        """Give the id of each document, in order."""
        name = index.get("ids")
        known = name and _OURS.fullmatch(str(name))
        data = (self._store.read(name) if known else None) or b"null"
        digest = hashlib.sha256(data).hexdigest()[:_KEY]
        found = _parsed(data) if name == f"ids-{digest}.json" else None
        count = sum(entry["n"] for entry in index["shards"])
        if not isinstance(found, list) or len(found) != count:
            raise InputError(
                f"{self.url}: {name or 'ids of documents'}: missing, changed or of other documents: encode it again"
            )
        return found

    def _json(self, name):
        return _parsed(self._store.read(name) or b"null")


def _parsed(data):
    """Parse a file of JSON; None if it is damaged."""
    try:
        return json.loads(data)
    except ValueError:
        return None


def _opened(url, options):
    return ShardStore(url, **options)


def _sound(entries, start=0):
    """Say whether entries follow each other, each named by what its shard holds."""
    try:
        for entry in entries:
            stop = start + entry["n"]
            name = shard_name(start, stop, entry["key"])
            if entry["name"] != name or not _OURS.fullmatch(f"{name}.npy"):
                return False
            if not isinstance(entry["bytes"], int) or len(entry["sha256"]) != 64:
                return False
            start = stop
        return len({entry["dims"] for entry in entries}) < 2
    except (KeyError, TypeError, ValueError):
        return False
