"""Embedders that need no model: two documented simulators, with seeded noise.

They exist to reproduce documented numbers and to make tests quick. ``sha256`` knows
nothing of meaning: its 1536 numbers are 32 values repeated 48 times. ``semantic-hash``
is a hashed bag of stemmed words.
"""

import hashlib
import importlib
import re

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import check_choice
from casebook.shift.words import features, hashed_words

DIMENSIONS = 1536
MOST_NOISE = 1e6  # drowns any signal; more would leave the range of float32
NAMES = ("sha256", "semantic-hash", "semantic-hash+ngrams")
ALIASES = dict.fromkeys(("semantic", "semhash", "semantichash"), "semantic-hash")


def normalised_text(text):
    """Give a text the same bytes on every platform."""
    return re.sub(r"\r\n?", "\n", text.lstrip("\ufeff"))


def sha256_vector(text):
    """Embed a text by its hash: no semantics at all."""
    digest = hashlib.sha256(normalised_text(text).encode()).digest()
    values = np.frombuffer(digest, dtype=np.uint8) / np.float32(255) - np.float32(0.5)
    return np.tile(values, DIMENSIONS // len(values))


def semantic_hash_vector(text, ngrams=False):
    """Embed a text by hashing its stemmed words into signed features."""
    vector = np.zeros(DIMENSIONS)
    for number, count in hashed_words(normalised_text(text), ngrams):
        places, values = features(number, count, DIMENSIONS)
        np.add.at(vector, places, values)
    length = np.linalg.norm(vector)
    return (vector / length if length > 0 else vector).astype(np.float32)


class SimulatedEncoder:
    """A simulator that answers what encoders answer."""

    def __init__(self, name, noise=0.0, seed=0):
        self.name = ALIASES.get(name, name)
        check_choice("simulator", self.name, NAMES)
        if not 0 <= noise <= MOST_NOISE:
            raise InputError(f"noise must be between 0 and {MOST_NOISE:g}, not {noise}")
        self.noise, self.seed = noise, seed
        identity = f"simulator {self.name} {noise!r} {seed if noise else 0}"
        self.model_hash = hashlib.sha256(identity.encode()).hexdigest()

    def encode_queries(self, texts):
        """Embed queries."""
        rows = [self._vector(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), DIMENSIONS)

    encode_documents = encode_queries

    def _vector(self, text):
        if self.name == "sha256":
            vector = sha256_vector(text)
        else:
            vector = semantic_hash_vector(text, self.name.endswith("ngrams"))
        if not self.noise:
            return vector
        key = hashlib.sha256(normalised_text(text).encode()).digest()
        words = np.frombuffer(key, dtype=np.uint32).tolist()
        rng = np.random.default_rng([self.seed, *words])
        return vector + rng.uniform(-self.noise, self.noise, DIMENSIONS)


def load_embedder(name="minilm", noise=0.0, seed=0):
    """Build an embedder from the name that parameters give it."""
    if ALIASES.get(name, name) in NAMES:
        return SimulatedEncoder(name, noise, seed)
    if noise:
        raise InputError(f"noise is for simulators ({', '.join(NAMES)}), not {name}")
    return importlib.import_module("casebook.models.encoders").load_encoder(name)
