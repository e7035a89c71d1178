"""Vectors of a large corpus, kept as shards in a folder or an object store.

A shard is one ``.npy`` file. The list of shards, ``shards.json``, is written last, so a
folder either holds a whole corpus or says that it does not. A shard that is there with
the hash of its texts is not encoded again.
"""

import hashlib
import io
import json

import numpy as np

from casebook.errors import InputError
from casebook.stores import Store

INDEX = "shards.json"


class ShardStore:
    """Shards below one address.

    Parameters
    ----------
    url : str
        Folder, or any address that fsspec knows, such as ``s3://bucket/corpus``.
    **options
        For the file system, such as ``endpoint_url``; never stored.
    """

    def __init__(self, url, **options):
        self.url, self.options = str(url), options
        self._store = Store(url, **options)

    def __reduce__(self):
        return _opened, (self.url, self.options)

    def write(self, name, vectors, texts_hash):
        """Write one shard; a reader never sees half of it.

        Parameters
        ----------
        name : str
            Name of the shard.
        vectors : numpy.ndarray, shape (n, dims)
            Its vectors.
        texts_hash : str
            What was encoded.

        Returns
        -------
        dict
            Entry for the index: name, n, dims, hash of the texts and of the file.
        """
        stream = io.BytesIO()
        np.save(stream, np.ascontiguousarray(vectors, dtype=np.float32))
        data = stream.getvalue()
        entry = {
            "name": name,
            "n": len(vectors),
            "dims": int(vectors.shape[1]),
            "texts": texts_hash,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        self._store.write(f"{name}.npy", data)
        self._store.write(f"{name}.json", json.dumps(entry, sort_keys=True).encode())
        return entry

    def entry(self, name):
        """Give the entry of a shard, or None if it is not there or is damaged."""
        found = self._json(f"{name}.json")
        try:
            size = self._store.size(f"{name}.npy") or 0
            return found if found and size > 4 * found["n"] * found["dims"] else None
        except (KeyError, TypeError):
            return None

    def vectors(self, entry):
        """Open one shard: memory-mapped from a folder, read from a store.

        Parameters
        ----------
        entry : dict
            From the index.

        Returns
        -------
        numpy.ndarray
            Shape (n, dims), read-only or in memory.

        Raises
        ------
        InputError
            If the shard is missing, damaged, or another one.
        """
        name = f"{entry['name']}.npy"
        path = self._store.path(name)
        try:
            if self._store.is_folder:
                found = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                data = io.BytesIO(self._store.read(name) or b"")
                found = np.load(data, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path}: no readable shard: encode it again") from error
        if found.shape != (entry["n"], entry["dims"]):
            raise InputError(f"{path}: shape {found.shape}: encode it again")
        return found

    def commit(self, entries, about=None, ids=None):
        """Write the list of all shards, which makes the corpus whole.

        Parameters
        ----------
        entries : list of dict
            Of the shards, in order.
        about : dict, optional
            What the vectors are, such as the name of their encoder.
        ids : list of str, optional
            Id of each document, in order.
        """
        about = dict(about or {})
        if ids is not None:
            data = json.dumps(ids, ensure_ascii=False).encode()
            # Named by its content: a reader of the list before still finds its own.
            about["ids"] = f"ids-{hashlib.sha256(data).hexdigest()[:16]}.json"
            self._store.write(about["ids"], data)
        text = json.dumps(about | {"shards": entries}, indent=1, sort_keys=True)
        self._store.write(INDEX, text.encode())

    def index(self):
        """Give what `commit` was told of a whole corpus, with its ``shards``.

        Raises
        ------
        InputError
            If the corpus was never finished.
        """
        found = self._json(INDEX)
        if not isinstance(found, dict) or "shards" not in found:
            raise InputError(
                f"{self.url}: no {INDEX}: the corpus is not encoded to its end"
            )
        return found

    def entries(self):
        """Give the shards of a whole corpus, in order; see `index`."""
        return self.index()["shards"]

    def ids(self):
        """Give the id of each document, in order.

        Raises
        ------
        InputError
            If the corpus has none, or they are missing or damaged.
        """
        name = self.index().get("ids")
        found = self._json(name) if name else None
        if not isinstance(found, list):
            raise InputError(f"{self.url}: has no ids of documents: encode it again")
        return found

    def _json(self, name):
        """Read a file of JSON; None if it is not there or is damaged."""
        try:
            return json.loads(self._store.read(name) or "null")
        except ValueError:
            return None


def _opened(url, options):
    return ShardStore(url, **options)
