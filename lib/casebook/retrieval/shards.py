"""Vectors of a large corpus, kept as shards in a folder or an object store.

A shard is one ``.npy`` file. The list of shards, ``shards.json``, is written last, so a
folder either holds a whole corpus or says that it does not. A shard that is there with
the hash of its texts is not encoded again.
"""

import hashlib
import io
import json
import posixpath

import fsspec
import numpy as np

from casebook.errors import InputError

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
        try:
            self._files, self._root = fsspec.core.url_to_fs(self.url, **options)
        except (ImportError, ValueError) as error:
            raise InputError(f"{url}: {error}") from error

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
        self._put(f"{name}.npy", data)
        self._put(f"{name}.json", json.dumps(entry, sort_keys=True).encode())
        return entry

    def entry(self, name):
        """Give the entry of a shard, or None if it is not there."""
        try:
            found = json.loads(self._files.cat_file(self._path(f"{name}.json")))
            size = self._files.size(self._path(f"{name}.npy"))
        except (FileNotFoundError, ValueError):
            return None
        whole = size is not None and size > 4 * found["n"] * found["dims"]
        return found if whole else None

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
        path = self._path(f"{entry['name']}.npy")
        try:
            if self._is_local():
                found = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                data = self._files.cat_file(path)
                found = np.load(io.BytesIO(data), allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path}: no readable shard: encode it again") from error
        if found.shape != (entry["n"], entry["dims"]):
            raise InputError(f"{path}: shape {found.shape}: encode it again")
        return found

    def commit(self, entries):
        """Write the list of all shards, which makes the corpus whole."""
        text = json.dumps({"shards": entries}, indent=1, sort_keys=True)
        self._put(INDEX, text.encode())

    def entries(self):
        """Give the shards of a whole corpus, in order.

        Raises
        ------
        InputError
            If the corpus was never finished.
        """
        try:
            return json.loads(self._files.cat_file(self._path(INDEX)))["shards"]
        except (FileNotFoundError, ValueError, KeyError) as error:
            raise InputError(
                f"{self.url}: no {INDEX}: the corpus is not encoded to its end"
            ) from error

    def _path(self, name):
        return posixpath.join(self._root, name)

    def _is_local(self):
        return "file" in (
            self._files.protocol
            if isinstance(self._files.protocol, tuple)
            else (self._files.protocol,)
        )

    def _put(self, name, data):
        """Write one file; a folder gets it by renaming, a store in one request."""
        if self._is_local():
            from casebook.files import replacing

            with replacing(self._path(name)) as temporary:
                temporary.write_bytes(data)
        else:
            self._files.pipe_file(self._path(name), data)


def _opened(url, options):
    return ShardStore(url, **options)
