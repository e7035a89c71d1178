"""What new questions cost: nothing of them is remembered, and each is encoded once."""

import pytest

from casebook.models.cache import CachedEncoder, EmbeddingCache
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.latency import time_new_questions
from casebook.retrieval.pipeline import HybridRetriever


class CountingEncoder:
    """The encoder of these tests, which notes the questions that it reads."""

    def __init__(self, encoder):
        self.encoder = encoder
        self.questions = []

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def _encode(self, texts, role):
        self.questions += texts if role == "query" else []
        return self.encoder.encode_documents(texts)

    def encode_both(self, texts, role):
        return self._encode(texts, role), self.encoder.token_vectors(texts)


@pytest.fixture
def counting(hashing):
    """Give an encoder that notes what it reads."""
    return CountingEncoder(hashing)


@pytest.fixture
def cached_index(collection, counting, tmp_path):
    """Give an index whose encoder keeps vectors on disk."""
    return CorpusIndex(collection, CachedEncoder(counting, EmbeddingCache(tmp_path / "vectors")))


def test_kept_questions_are_encoded_again_and_none_is_kept(cached_index, counting, tmp_path):
    questions = [f"{word} refund" for word in ("cancel", "user", "court")]
    HybridRetriever(cached_index).retrieve_many(questions)
    files = sorted((tmp_path / "vectors").rglob("*.npz"))
    counting.questions.clear()
    times = time_new_questions(cached_index, [*questions, questions[0]])
    asked = [text for text in counting.questions if not text.startswith("warm up")]
    assert sorted(asked) == sorted(questions)
    assert len(times) == 3
    assert sorted((tmp_path / "vectors").rglob("*.npz")) == files
