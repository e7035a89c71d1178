"""Vectors of texts and of their tokens; embeddings on disk, found again by the model and the text that made them.

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
        ends = np.cumsum(lengths, dtype=np.int64)
        shift = np.repeat(self.offsets[rows] - (ends - lengths), lengths)
        index = np.arange(int(lengths.sum())) + shift
        return TokenVectors(self.vectors[index], self.token_ids[index], lengths)

    @classmethod
    def concatenate(cls, parts):
        """Put several blocks of texts one after the other."""
        names = ("vectors", "token_ids", "lengths")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


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
        blocks = [] if stored is None else [stored]
        # The longest first, in slabs that are kept at once: an interrupted run goes
        # on where it stopped, and batches hold texts of one length.
        missing = sorted(text_of.keys() - rows.keys(), key=lambda key: (-len(text_of[key]), key))
        for start in track(range(0, len(missing), SLAB), f"encoding {SLAB} texts at a time"):
            slab = missing[start : start + SLAB]
            rows.update({key: len(rows) + place for place, key in enumerate(slab)})
            computed = self._compute([text_of[key] for key in slab], kind)
            for name, block in computed.items():
                self.cache.store(self.model_hash, name, slab, block)
            blocks.append(computed[kind])
        return TokenVectors.concatenate(blocks).take([rows[key] for key in keys])

    def _compute(self, texts, kind):
        """Vectors of one kind, and those that come with them."""
        role, _, tokens = kind.partition("-")
        if tokens:
            pooled, found = self.encoder.encode_both(texts, role)
            return {role: _one_token_each(pooled), kind: found}
        encode = self.encoder.encode_queries if role == "query" else self.encoder.encode_documents
        return {kind: _one_token_each(encode(texts))}


def _one_token_each(vectors):
    """Pooled vectors as texts of one token each."""
    ones = np.ones(len(vectors), dtype=np.int64)
    return TokenVectors(vectors, np.zeros_like(ones), ones)


class EmbeddingCache:
    """Store of vectors by model, kind (``query``, ``document``, ``query-tokens``, ``document-tokens``) and text."""

    def __init__(self, folder=None):
        self.folder = cache_dir("embeddings") if folder is None else folder
        self._keys = {}  # of each shard, read once

    def load(self, model_hash, kind, keys):
        """{key: row} of what is stored for some texts, and the rows as TokenVectors, None without any."""
        rows, blocks = {}, []
        for path in sorted((self.folder / model_hash[:32] / kind).glob("*.npz")):
            if path not in self._keys:
                self._keys[path] = (
                    self._read(path, lambda data: [row.tobytes() for row in data["keys"]]) or []
                )
            held = {
                key: row
                for row, key in enumerate(self._keys[path])
                if key in keys and key not in rows
            }
            block = self._read(path, _vectors_of) if held else None
            if block is not None:
                rows.update({key: len(rows) + place for place, key in enumerate(held)})
                blocks.append(block.take(list(held.values())))
        return rows, TokenVectors.concatenate(blocks) if blocks else None

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

    def _read(self, path, read):
        """Read from a shard; None if it is gone, or damaged and so set aside and counted as absent."""
        try:
            # Opened here, since numpy leaves a truncated file open.
            with path.open("rb") as stream, np.load(stream) as data:
                return read(data)
        except FileNotFoundError:
            return None
        except _DAMAGE as error:
            self._keys.pop(path, None)
            warnings.warn(
                f"damaged embedding shard set aside and recomputed: {path}: {error}", stacklevel=2
            )
            path.replace(path.with_suffix(".damaged"))
            return None


def _vectors_of(data):
    return TokenVectors(data["vectors"], data["token_ids"], data["lengths"])
