"""Questions, systems and an encoder without a network for the small collection."""

import functools
import hashlib

import numpy as np

from casebook.models.cache import TokenVectors
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import MODES

CHUNKS = {"max_words": 20, "overlap": 6, "passages_from": 0}
QUERIES = ["may a user cancel and get a refund", "sue in court", "契約解除 🙂", "zzz"]
READS = [m for m in MODES if not m.startswith("bm25")]


def retriever(index, mode="full", **changes):
    return HybridRetriever(index, mode=mode, **{**CHUNKS, **changes})


@functools.cache
def number_of(word):
    digest = hashlib.sha256(word.lower().encode()).digest()
    return int.from_bytes(digest[:4]) % HashingEncoder.vocabulary_size


class HashingEncoder:
    """Encoder whose token vectors are seeded by the word, pooled by their mean."""

    name, model_hash, max_tokens, vocabulary_size = "hashing", "0" * 64, 64, 1 << 12

    def token_ids(self, texts):
        return [np.array([number_of(w) for w in text.split()], dtype=np.int64) for text in texts]

    def count_tokens(self, texts):
        return np.array([len(ids) + 2 for ids in self.token_ids(texts)])

    def token_vectors(self, texts, role="document"):
        ids = [text[: self.max_tokens] for text in self.token_ids(texts)]
        flat = np.concatenate([np.array([], dtype=np.int64), *ids])
        table = np.random.default_rng(0).normal(size=(self.vocabulary_size, 24))
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        lengths = np.array([len(text) for text in ids], dtype=np.int64)
        return TokenVectors(table[flat].astype(np.float16), flat, lengths)

    def encode_documents(self, texts):
        tokens = self.token_vectors(texts)
        pooled = np.zeros((len(texts), 24), dtype=np.float32)
        np.add.at(pooled, np.repeat(np.arange(len(texts)), tokens.lengths), tokens.vectors)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return pooled / np.where(norms > 0, norms, 1)

    encode_queries = encode_documents
