"""Vectors of texts and of their tokens, and a cache of them on disk by model and text.

A shard is an uncompressed ``.npz`` file: keys, lengths, token ids and vectors. Shards
are written whole or not at all and never changed, so any number of processes may read
and write one cache, and be killed. The archive's own checksums find damage.
"""

import hashlib
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError
from casebook.files import replacing
from casebook.paths import cache_dir
from casebook.progress import track

SLAB = 512  # texts that are computed and kept at once
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OSError)
_KEY_BYTES = 32


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Vectors of n texts, one row per token, the texts one after the other."""

    vectors: np.ndarray  # (tokens, dimensions)
    token_ids: np.ndarray  # (tokens,)
    lengths: np.ndarray  # (n,): tokens of each text

    def __len__(self):
        return len(self.lengths)

    @cached_property
    def offsets(self):
        """Where each text starts, and the end: shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    def take(self, rows):
        """Select texts, repeats allowed."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        new_starts = np.cumsum(lengths, dtype=np.int64) - lengths
        shift = np.repeat(self.offsets[rows] - new_starts, lengths)
        index = np.arange(int(lengths.sum())) + shift
        return TokenVectors(self.vectors[index], self.token_ids[index], lengths)

    @classmethod
    def concatenate(cls, parts):
        """Put several blocks of texts one after the other."""
        return cls(
            vectors=np.concatenate([part.vectors for part in parts]),
            token_ids=np.concatenate([part.token_ids for part in parts]),
            lengths=np.concatenate([part.lengths for part in parts]),
        )


def checked_texts(texts):
    """List of texts; one string, something else than text, or half a character is an error."""
    if isinstance(texts, str):
        raise InputError("expected a list of texts, got one string: put it in a list")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {row} is {type(text).__name__}, expected a string")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"text {row} holds half a surrogate pair") from error
    return texts


def text_key(text):
    """Key of a text in caches: 32 bytes."""
    return hashlib.sha256(text.encode()).digest()


def unit_rows(vectors):
    """Scale rows to length 1; a zero row stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


class EncoderWrapper:
    """Encoder that answers as another one does, and has all else from it."""

    def __init__(self, encoder):
        self.encoder = encoder

    def __getattr__(self, name):
        if name == "encoder":  # of a copy that has no attributes yet: nobody to ask
            raise AttributeError(name)
        return getattr(self.encoder, name)


class CachedEncoder(EncoderWrapper):
    """Encoder that computes only what its cache does not hold."""

    def __init__(self, encoder, cache):
        super().__init__(encoder)
        self.cache = cache

    def encode_queries(self, texts):
        """Encode queries; see `casebook.models.encoders.SentenceEncoder`."""
        return self._look_up(texts, "query").vectors

    def encode_documents(self, texts):
        """Encode documents; see `casebook.models.encoders.SentenceEncoder`."""
        return self._look_up(texts, "document").vectors

    def token_vectors(self, texts, role="document"):
        """Encode tokens, and keep the pooled vectors that come with them."""
        return self._look_up(texts, f"{role}-tokens")

    def _look_up(self, texts, kind):
        """Assemble rows from the cache and from what is computed for it."""
        texts = checked_texts(texts)
        if not texts:
            return self._compute([], kind)[kind]
        keys = [text_key(text) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        rows, stored = self.cache.load(self.model_hash, kind, text_of)
        blocks = []
        if stored is not None:
            blocks.append(stored)
        # The longest first, in slabs that are kept at once: an interrupted run goes
        # on where it stopped, and batches hold texts of one length.
        missing = sorted(text_of.keys() - rows.keys(), key=lambda key: (-len(text_of[key]), key))
        for start in track(range(0, len(missing), SLAB), f"encoding {SLAB} texts at a time"):
            slab = missing[start : start + SLAB]
            computed = self._compute([text_of[key] for key in slab], kind)
            for name, block in computed.items():
                self.cache.store(self.model_hash, name, slab, block)
            for key in slab:
                rows[key] = len(rows)
            blocks.append(computed[kind])
        return TokenVectors.concatenate(blocks).take([rows[key] for key in keys])

    def _compute(self, texts, kind):
        """Vectors of one kind, and those that come with them."""
        if kind == "query":
            return {kind: _one_token_each(self.encoder.encode_queries(texts))}
        if kind == "document":
            return {kind: _one_token_each(self.encoder.encode_documents(texts))}
        role = kind.removesuffix("-tokens")
        pooled, tokens = self.encoder.encode_both(texts, role)
        return {role: _one_token_each(pooled), kind: tokens}


def _one_token_each(vectors):
    """Pooled vectors as texts of one token each."""
    ones = np.ones(len(vectors), dtype=np.int64)
    return TokenVectors(vectors, np.zeros_like(ones), ones)


class EmbeddingCache:
    """Store of vectors by model, kind and text.

    Kinds are ``query``, ``document``, ``query-tokens`` and ``document-tokens``.
    """

    def __init__(self, folder=None):
        self.folder = cache_dir("embeddings") if folder is None else folder
        self._keys = {}  # of each shard, read once

    def load(self, model_hash, kind, keys):
        """Row of each stored key, {key: row}, and the rows as TokenVectors, None without any."""
        rows = {}
        blocks = []
        for path in sorted((self.folder / model_hash[:32] / kind).glob("*.npz")):
            rows_in_shard = {}
            for row, key in enumerate(self._keys_of(path)):
                if key in keys and key not in rows:
                    rows_in_shard[key] = row
            if not rows_in_shard:
                continue
            block = self._read(path, _vectors_of)
            if block is None:
                continue
            for key in rows_in_shard:
                rows[key] = len(rows)
            blocks.append(block.take(list(rows_in_shard.values())))
        if not blocks:
            return rows, None
        return rows, TokenVectors.concatenate(blocks)

    def _keys_of(self, path):
        """Keys of a shard in the order of its rows."""
        if path not in self._keys:
            self._keys[path] = self._read(path, _text_keys) or []
        return self._keys[path]

    def store(self, model_hash, kind, keys, block):
        """Keep the vectors of some texts; a full or read-only disk only warns."""
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:32]
        path = self.folder / model_hash[:32] / kind / f"{name}.npz"
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, _KEY_BYTES)
        try:
            with replacing(path) as temporary, temporary.open("wb") as stream:
                np.savez(
                    stream,
                    keys=packed,
                    lengths=block.lengths,
                    token_ids=block.token_ids,
                    vectors=block.vectors,
                )
        except OSError as error:
            warnings.warn(f"embeddings are not kept: {path}: {error}", stacklevel=2)

    def _read(self, path, extract):
        """Extract from a shard; None if it is gone, or damaged and so renamed."""
        try:
            # Opened here, since numpy leaves a truncated file open.
            with path.open("rb") as stream, np.load(stream) as data:
                return extract(data)
        except FileNotFoundError:
            return None
        except _DAMAGE as error:
            self._keys.pop(path, None)
            warnings.warn(
                f"damaged embedding shard set aside and recomputed: {path}: {error}", stacklevel=2
            )
            path.replace(path.with_suffix(".damaged"))
            return None


def _text_keys(data):
    return [row.tobytes() for row in data["keys"]]


def _vectors_of(data):
    return TokenVectors(data["vectors"], data["token_ids"], data["lengths"])
