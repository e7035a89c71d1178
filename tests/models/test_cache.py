import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.models.cache import CachedEncoder, EmbeddingCache, Encoder, TokenVectors

TEXTS = ["b", "a", "b", "", "契約 🙂", "a longer text"]


class Counting(Encoder):
    """Encoder that counts how many texts it was asked to encode."""

    model_hash = "0123456789abcdef" * 4

    def __init__(self):
        self.encoded = []

    def _encode(self, texts, role):
        self.encoded += texts
        rows = [[len(text), len(role), sum(map(ord, text)) % 97] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)

    def encode_both(self, texts, role):
        lengths = np.array([len(text) for text in texts])
        ids = np.array([ord(letter) for text in texts for letter in text], dtype=int)
        vectors = np.stack([ids % 97, ids % 7], axis=1).astype(np.float16)
        return self._encode(texts, role), TokenVectors(vectors, ids, lengths)


@pytest.fixture
def cached(tmp_path):
    return CachedEncoder(Counting(), EmbeddingCache(tmp_path))


def test_each_text_is_computed_once_and_answers_do_not_change(cached):
    plain = Counting()
    for _ in range(2):
        found = cached.encode_documents(iter(TEXTS))
        np.testing.assert_array_equal(found, plain.encode_documents(TEXTS))
    assert sorted(cached.encoder.encoded) == sorted(set(TEXTS))
    cached.encode_documents([*TEXTS, "new"])
    assert cached.encoder.encoded[-1] == "new"
    assert len(cached.encoder.encoded) == len(set(TEXTS)) + 1


def test_another_process_finds_what_was_stored(cached, tmp_path):
    expected = cached.token_vectors(TEXTS)
    other = CachedEncoder(Counting(), EmbeddingCache(tmp_path))
    found = other.token_vectors(TEXTS)
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    np.testing.assert_array_equal(found.token_ids, expected.token_ids)
    assert found.lengths.tolist() == [len(text) for text in TEXTS]
    assert other.encoder.encoded == []


def test_a_damaged_shard_is_named(tmp_path):
    for damage in ("flip", "truncate", "empty", "text"):
        cached = CachedEncoder(Counting(), EmbeddingCache(tmp_path / damage))
        expected = cached.encode_documents(TEXTS)
        (shard,) = cached.cache.folder.rglob("*.npz")
        data = bytearray(shard.read_bytes())
        data[data.index(expected[:1].tobytes())] ^= 255
        kinds = {"flip": data, "truncate": data[: len(data) // 2], "empty": b"", "text": b"?"}
        shard.write_bytes(kinds[damage])
        again = CachedEncoder(Counting(), EmbeddingCache(tmp_path / damage))
        with pytest.raises(InputError, match=r"npz: damaged .*: remove it, to compute it again"):
            again.encode_documents(TEXTS)
        shard.unlink()
        np.testing.assert_array_equal(again.encode_documents(TEXTS), expected)


def ragged(lengths):
    total = sum(lengths)
    vectors = np.arange(total * 2.0).reshape(total, 2)
    return TokenVectors(vectors, np.arange(total), np.array(lengths, dtype=np.int64))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_take_equals_slicing(lengths, data):
    tokens = ragged(lengths)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=9))
    taken = tokens.take(rows)
    spans = [slice(*tokens.offsets[row : row + 2]) for row in rows]
    expected = [i for span in spans for i in range(span.start, span.stop)]
    assert taken.token_ids.tolist() == expected
    assert taken.vectors.tolist() == tokens.vectors[expected].tolist()
    assert taken.lengths.tolist() == [lengths[row] for row in rows]
