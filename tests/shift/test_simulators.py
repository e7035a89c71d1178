import numpy as np
import pytest

from casebook.errors import InputError
from casebook.shift.simulators import SimulatedEncoder, load_embedder, semantic_hash_vector, sha256_vector
from casebook.shift.words import fnv1a, mix, stem, tokens


@pytest.mark.data
def test_hashes_have_the_documented_values(expected):
    checks = expected["hash_unit_checks"]
    number = fnv1a("fire")
    mixed = [mix(number, k) for k in range(8)]
    assert number == checks["fnv1a32('fire')"]
    assert mixed == checks["mix32(fnv('fire'),k) for k=0..7"]
    assert [x % 1536 for x in mixed] == checks["dims for 'fire'"]


@pytest.mark.data
def test_vectors_and_tokens_have_the_documented_values(expected, samples):
    checks = expected["hash_unit_checks"]
    first = sha256_vector("Query 1")[:4].tolist()
    assert first == checks["sha256_embedding('Query 1')[0:4]"]
    text = samples.documents.set_index("doc_id").loc["policy-fire-water", "text"]
    assert tokens(text) == checks["tokens(policy-fire-water)"]


def test_fnv_has_its_published_test_vectors():
    # ASCII letters are one code unit whose high byte is zero: FNV-1a of the bytes.
    assert fnv1a("") == 0x811C9DC5
    assert fnv1a("a") == 0xE40C292C
    assert fnv1a("foobar") == 0xBF9CF968


def test_sha256_is_32_values_repeated():
    vector = sha256_vector("any text")
    assert vector.shape == (1536,)
    assert len({tuple(part) for part in vector.reshape(48, 32)}) == 1


def test_text_of_another_platform_has_the_same_vector():
    assert np.array_equal(sha256_vector("\ufeffa\r\nb"), sha256_vector("a\nb"))


@pytest.mark.parametrize(
    ("word", "expected_stem"), [("flooding", "flood"), ("bring", "bring"), ("houses", "hous"), ("fees", "fees")]
)
def test_stems(word, expected_stem):
    assert stem(word) == expected_stem


def test_semantic_hash_is_a_unit_vector_or_zero():
    assert np.linalg.norm(semantic_hash_vector("flood damage")) == pytest.approx(1)
    assert not semantic_hash_vector("of the 12345").any()
    same = semantic_hash_vector("floods") @ semantic_hash_vector("flooded")
    assert same == pytest.approx(1)


def test_noise_is_seeded_by_text_and_seed():
    noisy = SimulatedEncoder("semhash", noise=0.05, seed=1)
    first, again = noisy.encode_queries(["flood", "flood"])
    other = SimulatedEncoder("semhash", noise=0.05, seed=2).encode_queries(["flood"])
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other[0])
    assert np.abs(first - semantic_hash_vector("flood")).max() <= 0.05


@pytest.mark.parametrize(
    ("name", "noise", "message"),
    [("sha512", 0.0, "unknown simulator"), ("sha256", -1.0, "between 0"), ("sha256", 1e308, "between")],
)
def test_wrong_settings(name, noise, message):
    with pytest.raises(InputError, match=message):
        SimulatedEncoder(name, noise)


def test_models_take_no_noise():
    with pytest.raises(InputError, match="noise is for simulators"):
        load_embedder("minilm", noise=0.1)
