"""A small collection and an encoder without a network, for pipeline tests."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from casebook.models.cache import TokenVectors
from casebook.retrieval.index import CorpusIndex

TOPICS = ["cancel refund", "court sue", "privacy data", "renew price", "content copy"]
FILLER = "the parties agree that under this clause a user may or may not"


class HashingEncoder:
    """Encoder whose token vectors are seeded by the word, pooled by their mean."""

    name, model_hash, max_tokens, vocabulary_size = "hashing", "0" * 64, 64, 1 << 12

    def token_ids(self, texts):
        def identity(word):
            digest = hashlib.sha256(word.lower().encode()).digest()
            return int.from_bytes(digest[:4]) % self.vocabulary_size

        return [np.array([identity(w) for w in text.split()], dtype=np.int64) for text in texts]

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


@pytest.fixture(scope="session")
def hashing():
    """Give the encoder."""
    return HashingEncoder()


@pytest.fixture(scope="session")
def collection():
    """Give 40 documents of 5 to 120 words: two alike, one empty, with metadata."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(40):
        words = [*FILLER.split(), *TOPICS[number % 5].split(), f"term{number}"]
        size = int(rng.integers(5, 120))
        text = " ".join(rng.choice(words, size)) + f" {TOPICS[number % 5]}"
        year, source = 2000 + number, ("act", "policy", None)[number % 3]
        rows.append({"doc_id": f"d{number}", "text": text, "year": year, "src": source})
    rows[7]["text"] = rows[3]["text"]
    rows[11]["text"] = ""
    rows[13]["text"] = "Vertragsänderung § 5: “gekündigt” 契約解除 🙂"
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def index(collection, hashing):
    """Give an index of the collection, which a module fills as it goes."""
    return CorpusIndex(collection, hashing)
