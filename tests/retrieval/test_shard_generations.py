"""Another model or other texts at the same place: a reader never sees both mixed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.retrieval.shards import INDEX, ShardStore, encode_shards, search_shards
from casebook.stores import Store

TEXTS = [f"clause {i}" for i in range(60)]


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
    assert vectors[:, 2].tolist() == [int(i.split()[1]) for i in store.ids(index)]
    return set(vectors[:, 0].tolist())


def encode(place, model, texts=TEXTS):
    return encode_shards(texts, model, ShardStore(place), 20, ids=texts)


def test_a_second_model_takes_the_place_of_the_first_at_once(place):
    encode(place, Model(1))
    first = set(Store(place).names())
    for shards in (0, 1, 1):
        with pytest.raises(Broken):
            encode(place, Model(2, shards, broken))
        assert seen(place) == {1} and first <= set(Store(place).names())
    model = Model(2)
    encode(place, model)
    assert seen(place) == {2}
    assert model.calls == 1  # what the broken ones had done is kept
    names = set(Store(place).names())
    assert len(names) == len(first) and names & first == {INDEX, *ids_of(first)}


def ids_of(names):
    return {name for name in names if name.startswith("ids-")}


def test_other_texts_take_the_place_of_the_first_at_once(place):
    encode(place, Model(1))
    with pytest.raises(Broken):
        encode(place, Model(1, 1, broken), TEXTS[::-1])
    assert seen(place) == {1}
    encode(place, Model(1), TEXTS[:30])
    assert seen(place) == {1}
    names = Store(place).names()
    assert len(ShardStore(place).index()["shards"]) == 2
    assert len(names) == 2 * 2 + 2, names


def test_a_reader_of_the_list_before_is_told_that_it_is_gone(place):
    encode(place, Model(1))
    store = ShardStore(place)
    index = store.index()
    encode(place, Model(2))
    with pytest.raises(InputError, match="encode it again, or search again"):
        search_shards(store, np.ones((1, 3)), 3, index=index)
    with pytest.raises(InputError, match="no readable shard"):
        search_shards(store, np.ones((1, 3)), 3, index=index)


def test_two_that_encode_to_one_place_at_once_leave_one_whole_corpus(place):
    def other():
        encode(place, Model(1))

    with pytest.raises(InputError, match="by another process at the same place"):
        # The first ends while the second encodes, and removes what is not its own.
        late = Model(2, 1, other)
        encode(place, late)
    assert seen(place) == {1}
    encode(place, Model(2))
    assert seen(place) == {2}


@pytest.mark.parametrize(
    "change",
    [
        lambda shards: shards.reverse(),
        lambda shards: shards.pop(0),
        lambda shards: shards[0].update(key="0" * 64),
        lambda shards: shards[1].update(dims=4),
        lambda shards: shards[1].update(n=10),
        lambda shards: shards[0].update(name="../../secret"),
        lambda shards: shards[0].update(name="shard-0000000000-0000000020"),
        lambda shards: shards[0].pop("key"),
        lambda shards: shards.insert(0, None),
        lambda shards: shards[0].update(key=None),
    ],
)
def test_a_list_that_is_not_of_these_shards_is_refused(tmp_path, change):
    encode(tmp_path, Model(1))
    index = json.loads((tmp_path / INDEX).read_text())
    change(index["shards"])
    (tmp_path / INDEX).write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"does not name its shards by what they hold"):
        search_shards(ShardStore(tmp_path), np.ones((1, 3)), 3)
    encode(tmp_path, Model(1))
    assert seen(tmp_path) == {1}


def test_ids_of_another_corpus_are_refused(tmp_path):
    encode(tmp_path, Model(1))
    store = ShardStore(tmp_path)
    index = store.index()
    store.commit(index["shards"], ids=TEXTS[:-1])
    with pytest.raises(InputError, match="missing, changed or of other"):
        store.ids(store.index())
    assert store.index()["ids"] != index["ids"]


def test_files_of_others_and_of_the_layout_before_are_told_apart(tmp_path):
    for name in ("notes.json", "shard-mine.npy", "corpus.jsonl"):
        (tmp_path / name).write_text("not ours")
    for name in ("shard-0000000000-0000000020.npy", "shard-0000000000-0000000020.json"):
        (tmp_path / name).write_text("of an older version")
    half = tmp_path / ".shard-0000000000-0000000020-0123456789abcdef.npy.x1.partial"
    half.write_text("of a killed process")
    encode(tmp_path, Model(1))
    names = set(Store(tmp_path).names())
    assert {"notes.json", "shard-mine.npy", "corpus.jsonl"} < names
    assert not half.exists()
    left = [path.read_bytes() for path in tmp_path.iterdir()]
    assert b"of an older version" not in left and left.count(b"not ours") == 3


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_shard_generations import Model, encode
encode(sys.argv[2], Model(2, int(sys.argv[3]), lambda: os.kill(os.getpid(), 9)))
"""


@pytest.mark.slow
def test_sigkill_half_way_leaves_the_first_and_the_same_command_goes_on(place):
    encode(place, Model(1))
    for shards in (0, 2):
        command = [sys.executable, "-c", KILLED, Path(__file__).parent, place]
        done = subprocess.run([*command, str(shards)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert seen(place) == {1}
    model = Model(2)
    encode(place, model)
    assert seen(place) == {2} and model.calls == 1
