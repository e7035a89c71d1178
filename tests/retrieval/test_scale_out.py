"""Shards: whatever the cut, the store or the number of processes, the same result."""

import functools
import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.retrieval.search import DenseIndex
from casebook.retrieval.shards import ShardStore, encode_shards, search_shards

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
    return DenseIndex(encode(TEXTS), "flat").search(encode(TEXTS[:9]), k)


def same(found, wanted):
    np.testing.assert_array_equal(found.ids, wanted.ids)
    np.testing.assert_array_equal(found.scores, wanted.scores)


@settings(deadline=None, max_examples=25)
@given(size=st.integers(1, 300), k=st.integers(1, 300))
def test_every_cut_gives_what_one_index_gives(tmp_path_factory, size, k):
    store = ShardStore(tmp_path_factory.mktemp("store"))
    encode_shards(TEXTS, encode, store, max(size, 20))
    same(search_shards(store, encode(TEXTS[:9]), k), expected(k))


def test_a_function_of_positions_reads_like_a_list(tmp_path):
    def read(start, stop):
        return TEXTS[start:stop]

    read.n_documents = len(TEXTS)
    one, other = ShardStore(tmp_path / "a"), ShardStore(tmp_path / "b")
    assert encode_shards(TEXTS, encode, one, 60) == encode_shards(read, encode, other, 60)


def test_only_what_is_missing_or_changed_is_encoded_again(tmp_path):
    asked = []

    def counting(texts):
        asked.append(len(texts))
        return encode(texts)

    store = ShardStore(tmp_path)
    encode_shards(TEXTS, counting, store, 100)
    (second,) = tmp_path.glob("shard-0000000100-0000000200-*.npy")
    second.write_bytes(b"\x93NUMPY half")
    changed = [*TEXTS[:-1], "clause 1 of another"]
    encode_shards(changed, counting, store, 100)
    assert asked == [100, 100, 50, 100, 50]


def test_an_unfinished_or_damaged_corpus_is_refused(tmp_path):
    store = ShardStore(tmp_path)
    with pytest.raises(InputError, match="not encoded to its end"):
        search_shards(store, encode(TEXTS[:1]), 3)
    with pytest.raises(InputError, match="nothing to encode"):
        encode_shards([], encode, store)
    with pytest.raises(InputError, match=r"shape \(1, 16\) for 250 texts"):
        encode_shards(TEXTS, lambda texts: encode(texts[:1]), store)
    encode_shards(TEXTS, encode, store, 100)
    (shard,) = tmp_path.glob("shard-0000000000-*.npy")
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(InputError, match="no readable shard: encode it again"):
        search_shards(store, encode(TEXTS[:1]), 3)
    with pytest.raises(InputError, match="Protocol not known"):
        ShardStore("nowhere://x")


@pytest.mark.slow
def test_a_cluster_gives_the_files_and_lists_of_one_process(tmp_path):
    from distributed import Client, LocalCluster

    here, there = ShardStore(tmp_path / "here"), ShardStore(tmp_path / "there")
    encode_shards(TEXTS, encode, here, 40)
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        encode_shards(TEXTS, encode, there, 40, client)
        same(search_shards(there, encode(TEXTS[:9]), 30, client), expected(30))
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    for name in names:
        one, other = (tmp_path / side / name for side in ("here", "there"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_an_object_store_holds_shards_like_a_folder(object_store):
    store = ShardStore(f"{object_store}/corpus")
    entries = encode_shards(TEXTS, encode, store, 100)
    same(search_shards(store, encode(TEXTS[:9]), 30), expected(30))
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in json.dumps(entries)
