"""Embeddings on disk, found again by the model and the text that made them.

A shard is an uncompressed ``.npz`` file: keys, lengths, token ids and vectors. Shards
are written whole or not at all and never changed, so any number of processes may read
and write one cache. The archive's own checksums find damage.
"""

import hashlib
import warnings
import zipfile
import zlib

import numpy as np

from casebook.files import replacing
from casebook.models.tokens import TokenVectors
from casebook.paths import cache_dir

_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OSError)
_KEY_BYTES = 32


class EmbeddingCache:
    """Store of vectors by model, kind and text."""

    def __init__(self, folder=None):
        self.folder = cache_dir("embeddings") if folder is None else folder
        self._keys = {}

    def load(self, model_hash, kind, keys):
        """Read what is stored for some texts.

        Parameters
        ----------
        model_hash : str
            Identity of the model.
        kind : str
            ``query``, ``document``, ``query-tokens`` or ``document-tokens``.
        keys : collection of bytes
            Keys of the texts.

        Returns
        -------
        dict of bytes to int
            Row of every key that was found.
        TokenVectors or None
            The rows; None if nothing was found.

        Warns
        -----
        UserWarning
            If a shard is damaged; it is set aside and counts as absent.
        """
        wanted, rows, blocks = set(keys), {}, []
        filled = 0
        for path in sorted((self.folder / model_hash[:32] / kind).glob("*.npz")):
            held = [(row, key) for row, key in enumerate(self._shard_keys(path)) if key in wanted and key not in rows]
            block = self._read_shard(path) if held else None
            if block is None:
                continue
            rows.update({key: filled + place for place, (_, key) in enumerate(held)})
            blocks.append(block.take([row for row, _ in held]))
            filled += len(held)
        return rows, TokenVectors.concatenate(blocks) if blocks else None

    def store(self, model_hash, kind, keys, block):
        """Keep the vectors of some texts; a full or read-only disk only warns."""
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:32]
        path = self.folder / model_hash[:32] / kind / f"{name}.npz"
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, _KEY_BYTES)
        try:
            with replacing(path) as temporary, temporary.open("wb") as stream:
                np.savez(stream, keys=packed, lengths=block.lengths, token_ids=block.token_ids, vectors=block.vectors)
        except OSError as error:
            warnings.warn(f"embeddings are not kept: {path}: {error}", stacklevel=2)

    def _shard_keys(self, path):
        """Give the keys of a shard, read once per process."""
        if path not in self._keys:
            packed = self._guarded(path, lambda data: data["keys"])
            rows = [] if packed is None else packed
            self._keys[path] = [row.tobytes() for row in rows]
        return self._keys[path]

    def _read_shard(self, path):
        """Read the rows of a shard; None if it is gone or damaged."""
        return self._guarded(path, lambda data: TokenVectors(data["vectors"], data["token_ids"], data["lengths"]))

    def _guarded(self, path, read):
        """Read from a shard; set it aside and give None if it is damaged."""
        try:
            # Opened here, since numpy leaves a truncated file open.
            with path.open("rb") as stream, np.load(stream) as data:
                return read(data)
        except FileNotFoundError:
            return None
        except _DAMAGE as error:
            self._keys.pop(path, None)
            warnings.warn(f"damaged embedding shard set aside and recomputed: {path}: {error}", stacklevel=2)
            path.replace(path.with_suffix(".damaged"))
            return None
