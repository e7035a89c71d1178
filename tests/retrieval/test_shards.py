"""Shards: whatever the cut, the store or the number of processes, the same result.

Another model or other texts at the same place: a reader never sees both mixed.
"""

import functools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_retrieval import HashingEncoder, encode_vectors

from casebook.batch.cluster import Cluster
from casebook.errors import InputError
from casebook.files import Store
from casebook.retrieval.encoding import encode_corpus
from casebook.retrieval.search import DenseIndex
from casebook.retrieval.shards import INDEX_FILE, DocumentEncoder, ShardStore, search_shards

TEXTS = [f"clause {i % 37} of contract {i}" for i in range(250)]


def encode(texts, dims=16):
    """Vectors from the words, with many exact ties."""
    rows = [[hash_of(text, column) for column in range(dims)] for text in texts]
    return np.array(rows, dtype=np.float32)


@functools.cache
def hash_of(text, column):
    number = int(text.split()[1])
    return (number * (column + 3)) % 11 - 5


def expected(k):
    return DenseIndex(encode(TEXTS)).search(encode(TEXTS[:9]), k)


def same(found, wanted):
    np.testing.assert_array_equal(found.ids, wanted.ids)
    np.testing.assert_array_equal(found.scores, wanted.scores)


@settings(deadline=None, max_examples=25)
@given(size=st.integers(1, 300), k=st.integers(1, 300))
def test_every_cut_gives_what_one_index_gives(tmp_path_factory, size, k):
    store = ShardStore(tmp_path_factory.mktemp("store"))
    encode_vectors(TEXTS, encode, store, max(size, 20))
    same(search_shards(store, encode(TEXTS[:9]), k), expected(k))


def test_only_what_is_missing_or_changed_is_encoded_again(tmp_path):
    asked = []

    def counting(texts):
        asked.append(len(texts))
        return encode(texts)

    store = ShardStore(tmp_path)
    encode_vectors(TEXTS, counting, store, 100)
    (second,) = tmp_path.glob("shard-0000000100-0000000200-*.npy")
    second.write_bytes(b"\x93NUMPY half")
    changed = [*TEXTS[:-1], "clause 1 of another"]
    encode_vectors(changed, counting, store, 100)
    assert asked == [100, 100, 50, 100, 50]


def test_what_cannot_be_encoded_is_refused(tmp_path):
    store = ShardStore(tmp_path)
    with pytest.raises(InputError, match="nothing to encode"):
        encode_corpus(iter([]), DocumentEncoder(HashingEncoder()), store)
    with pytest.raises(InputError, match=r"shape \(1, 16\) for 250 texts"):
        encode_vectors(TEXTS, lambda texts: encode(texts[:1]), store, 300)


@pytest.mark.slow
def test_a_cluster_gives_the_files_and_lists_of_one_process(tmp_path):
    from distributed import Client, LocalCluster

    here, there = ShardStore(tmp_path / "here"), ShardStore(tmp_path / "there")
    encode_vectors(TEXTS, encode, here, 40)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as dask,
        Client(dask) as client,
    ):
        cluster = Cluster(client, dask.scheduler_address)
        encode_vectors(TEXTS, encode, there, 40, cluster)
        same(search_shards(there, encode(TEXTS[:9]), 30, cluster), expected(30))
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    for name in names:
        one, other = (tmp_path / side / name for side in ("here", "there"))
        assert one.read_bytes() == other.read_bytes()


CLAUSES = [f"clause {i}" for i in range(60)]


class Model:
    """Vectors that tell which model and which text they come from."""

    def __init__(self, name, shards=99, end=None):
        self.model_hash, self.left, self.end = f"model {name}", shards, end
        self.name, self.calls = name, 0

    def __call__(self, texts):
        if self.left == self.calls:
            self.end()
        self.calls += 1
        numbers = [int(text.split()[1]) for text in texts]
        return np.array([[self.name, n % 7, n] for n in numbers], dtype=np.float32)


class Broken(Exception):
    """How an encoder ends in the middle."""


def broken():
    raise Broken


@pytest.fixture(params=["folder", pytest.param("objects", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """Give the address of a folder, and of an object store, which renames nothing."""
    if request.param == "folder":
        return str(tmp_path / "corpus")
    return f"{request.getfixturevalue('object_store')}/corpus"


def seen(place):
    """Give which model made the vectors that a reader finds."""
    store = ShardStore(place)
    index = store.index()
    vectors = np.concatenate([store.vectors(entry) for entry in index["shards"]])
    assert vectors[:, 2].tolist() == [int(i.split()[1]) for i in index["ids"]]
    return set(vectors[:, 0].tolist())


def encode_model(place, model, texts=CLAUSES):
    return encode_vectors(texts, model, ShardStore(place), 20, metadata={"ids": texts})


def test_a_second_model_takes_the_place_of_the_first_at_once(place):
    encode_model(place, Model(1))
    first = set(Store(place).names())
    for shards in (0, 1, 1):
        with pytest.raises(Broken):
            encode_model(place, Model(2, shards, broken))
        assert seen(place) == {1} and first <= set(Store(place).names())
    for name in (
        "notes.json",
        "shard-mine.npy",
        ".shard-0000000000-0000000020-0123456789abcdef.npy.x1.partial",
    ):
        Store(place).write(name, b"of others, and of a killed process")
    model = Model(2)
    encode_model(place, model)
    assert seen(place) == {2}
    assert model.calls == 1  # what the broken ones had done is kept
    names = set(Store(place).names())
    assert len(names) == len(first) + 2 and names & first == {INDEX_FILE}
    assert {"notes.json", "shard-mine.npy"} < names


def test_other_texts_take_the_place_of_the_first_at_once(place):
    encode_model(place, Model(1))
    with pytest.raises(Broken):
        encode_model(place, Model(1, 1, broken), CLAUSES[::-1])
    assert seen(place) == {1}
    encode_model(place, Model(1), CLAUSES[:30])
    assert seen(place) == {1}
    names = Store(place).names()
    assert len(ShardStore(place).index()["shards"]) == 2
    assert len(names) == 2 * 2 + 1, names


def test_a_reader_of_the_list_before_is_told_that_it_is_gone(place):
    encode_model(place, Model(1))
    store = ShardStore(place)
    index = store.index()
    encode_model(place, Model(2))
    with pytest.raises(InputError, match="encode it again, or search again"):
        search_shards(store, np.ones((1, 3)), 3, index=index)


def test_two_that_encode_to_one_place_at_once_leave_one_whole_corpus(place):
    def other():
        encode_model(place, Model(1))

    with pytest.raises(InputError, match="by another process at the same place"):
        # The first ends while the second encodes, and removes what is not its own.
        late = Model(2, 1, other)
        encode_model(place, late)
    assert seen(place) == {1}
    encode_model(place, Model(2))
    assert seen(place) == {2}


@pytest.mark.parametrize(
    "change",
    [lambda index: index["shards"][0].update(name="../../secret"), lambda index: index.pop("seal")],
)
def test_a_list_that_was_changed_by_hand_is_refused(tmp_path, change):
    encode_model(tmp_path, Model(1))
    index = json.loads((tmp_path / INDEX_FILE).read_text())
    change(index)
    (tmp_path / INDEX_FILE).write_text(json.dumps(index))
    with pytest.raises(InputError, match="changed by hand"):
        search_shards(ShardStore(tmp_path), np.ones((1, 3)), 3)
    encode_model(tmp_path, Model(1))
    assert seen(tmp_path) == {1}
