"""Vectors of texts and of their tokens, and a cache of them on disk by model and text.

A shard is an uncompressed ``.npz`` file: keys, lengths, token ids and vectors. Shards are written
whole or not at all and never changed, so any number of processes may read and write one cache, and
be killed. The archive's own checksums find damage.
"""

import hashlib
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.files import replacing
from casebook.paths import cache_dir
from casebook.progress import track

SLAB = 512  # texts that are computed and kept at once
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OSError)


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Vectors of n texts, one row per token, the texts one after the other."""

    vectors: np.ndarray  # (tokens, dimensions)
    token_ids: np.ndarray  # (tokens,)
    lengths: np.ndarray  # (n,): tokens of each text

    @cached_property
    def offsets(self):
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    def take(self, rows):
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        new_starts = np.cumsum(lengths, dtype=np.int64) - lengths
        shift = np.repeat(self.offsets[rows] - new_starts, lengths)
        index = np.arange(int(lengths.sum())) + shift
        return TokenVectors(self.vectors[index], self.token_ids[index], lengths)

    @classmethod
    def concatenate(cls, parts):
        fields = []
        for name in cls.__match_args__:
            fields.append(np.concatenate([getattr(part, name) for part in parts]))
        return cls(*fields)

    @classmethod
    def of_rows(cls, rows):
        ones = np.ones(len(rows), dtype=np.int64)
        return cls(rows, np.zeros_like(ones), ones)


def checked_texts(texts):
    """List of texts; one string, something else than text, or half a character is an error."""
    if isinstance(texts, str):
        raise InputError("expected a list of texts, got one string: put it in a list")
    texts = list(texts)
    try:
        "".join(texts).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(f"expected a list of texts: {error}") from error
    return texts


def unit_rows(vectors):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


class Encoder:
    """Encoder of texts in two roles, by its method ``_encode(texts, role)``.

    What it lacks it has from ``encoder``, if it wraps one.
    """

    encoder = None

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def encode_queries(self, texts):
        return self._encode(texts, "query")

    def encode_documents(self, texts):
        return self._encode(texts, "document")


class CachedEncoder(Encoder):
    """Encoder that computes only what its cache does not hold."""

    def __init__(self, encoder, cache):
        self.encoder = encoder
        self.cache = cache

    def _encode(self, texts, role):
        def compute(missing):
            return {role: TokenVectors.of_rows(self.encoder._encode(missing, role))}

        return self.cache.look_up(
            self.model_hash, role, checked_texts(texts), compute
        ).vectors

    def token_vectors(self, texts, role="document"):
        kind = f"{role}-tokens"

        def compute(missing):
            pooled, tokens = self.encoder.encode_both(missing, role)
            return {role: TokenVectors.of_rows(pooled), kind: tokens}

        return self.cache.look_up(self.model_hash, kind, checked_texts(texts), compute)


class EmbeddingCache:
    """Store of vectors by model, kind and text.

    Kinds are ``query``, ``document``, ``query-tokens``, ``document-tokens`` and ``entailment``.
    """

    def __init__(self, folder=None):
        self.folder = Path(folder or cache_dir("embeddings"))
        self._keys = {}  # of each shard, read once

    def look_up(self, model_hash, kind, texts, compute):
        """Rows of texts, where ``compute(texts)`` gives those that are not kept, by kind."""
        if not texts:
            return compute([])[kind]
        folder = self.folder / model_hash[:32]
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        found = []  # keys in the order of the blocks
        blocks = []
        for path in sorted((folder / kind).glob("*.npz")):
            if path not in self._keys:
                self._keys[path] = [key.tobytes() for key in _arrays(path, ["keys"])[0]]
            kept = self._keys[path]
            rows = [row for row, key in enumerate(kept) if key in text_of]
            if rows:
                found += [kept[row] for row in rows]
                block = TokenVectors(*_arrays(path, TokenVectors.__match_args__))
                blocks.append(block.take(rows))
        # The longest first, in slabs that are kept at once: a run that was killed goes on where it
        # stopped.
        missing = sorted(
            text_of.keys() - found, key=lambda key: (-len(text_of[key]), key)
        )
        for start in track(
            range(0, len(missing), SLAB), f"{kind}, {SLAB} texts at a time"
        ):
            slab = missing[start : start + SLAB]
            computed = compute([text_of[key] for key in slab])
            for name, block in computed.items():
                _store(folder / name, slab, block)
            found += slab
            blocks.append(computed[kind])
        rows = {key: row for row, key in enumerate(found)}
        return TokenVectors.concatenate(blocks).take([rows[key] for key in keys])


def _arrays(path, names):
    try:
        # Opened here, since numpy leaves a truncated file open.
        with path.open("rb") as stream, np.load(stream) as data:
            return [data[name] for name in names]
    except _DAMAGE as error:
        raise InputError(
            f"{path}: damaged ({error}): remove it, to compute it again"
        ) from error


def _store(folder, keys, block):
    joined = b"".join(keys)
    name = hashlib.sha256(joined).hexdigest()[:32]
    path = folder / f"{name}.npz"
    packed = np.frombuffer(joined, dtype=np.uint8).reshape(len(keys), -1)
    arrays = {name: getattr(block, name) for name in TokenVectors.__match_args__}
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, keys=packed, **arrays)
