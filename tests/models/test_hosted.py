"""A host's vectors are those of the encoder itself, and its end costs nothing."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from casebook.files import SCRATCH
from casebook.models.encoders import SentenceEncoder
from casebook.models.hosted import HostedEncoder, cpu_seconds, with_host
from casebook.models.hosting import VARIABLE, encoder_host, pack, unpack

TEXTS = ["a burst pipe", "", "契約 🙂", "A longer text about a policy. " * 30]


@pytest.fixture(scope="module")
def hosted():
    with encoder_host():
        encoder = with_host(SentenceEncoder())
        assert isinstance(encoder, HostedEncoder)
        yield encoder


@pytest.mark.parametrize("texts", [TEXTS, [], ["one"]])
def test_a_host_gives_the_same_bytes(hosted, texts):
    own = SentenceEncoder()
    for name in ("encode_queries", "encode_documents"):
        expected, got = getattr(own, name)(texts), getattr(hosted, name)(texts)
        assert got.dtype == expected.dtype
        assert got.tobytes() == expected.tobytes()
    pooled, tokens = own.encode_both(texts, "query")
    got, got_tokens = hosted.encode_both(texts, "query")
    assert got.tobytes() == pooled.tobytes()
    for name in ("vectors", "token_ids", "lengths"):
        assert np.array_equal(getattr(got_tokens, name), getattr(tokens, name))
    assert hosted.max_tokens == own.max_tokens


def test_notebooks_at_the_same_time_get_their_own_answers(hosted):
    texts = [[f"clause {n} of {m}" for m in range(n + 1)] for n in range(6)]
    expected, found = [hosted.encoder.encode_queries(t) for t in texts], {}

    def ask(n):
        found[n] = hosted.encode_queries(texts[n])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(np.array_equal(found[n], expected[n]) for n in range(6))


def test_a_host_costs_what_it_worked(hosted):
    before, here = cpu_seconds(), os.times()
    hosted.encode_documents(["A long text about a policy. " * 60] * 8)
    spent = os.times().user - here.user
    assert cpu_seconds() - before > spent + 0.05


@pytest.mark.parametrize("address", ["/nowhere/encoders", "/dev/null"])
def test_without_a_host_the_encoder_computes_itself(address):
    own = SentenceEncoder()
    assert np.array_equal(HostedEncoder(own, address).encode_queries(["x"]), own.encode_queries(["x"]))


def test_other_weights_are_not_taken_over(hosted, monkeypatch):
    own = SentenceEncoder()
    monkeypatch.setattr(own, "model_hash", "of another file")
    assert HostedEncoder(own, hosted.address)._ask("queries", ["x"]) == {}


def test_a_wrong_request_fails_in_the_notebook_with_its_own_error(hosted):
    from casebook.errors import InputError

    with pytest.raises(InputError, match="unknown role"):
        hosted.encode_both(["x"], "judge")


def test_the_host_ends_with_a_parent_that_is_killed():
    code = (
        "import time\n"
        "from casebook.models.hosting import encoder_host\n"
        "with encoder_host() as host:\n"
        "    import os, subprocess\n"
        "    command = ['pgrep', '-P', str(os.getpid())]\n"
        "    told = subprocess.run(command, capture_output=True, text=True)\n"
        "    print(told.stdout.split()[0], flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        host = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 300
    while Path(f"/proc/{host}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{host}").exists(), "the host outlives its parent"


def test_nothing_is_left_when_the_block_ends():
    with encoder_host():
        address = os.environ[VARIABLE]
    assert VARIABLE not in os.environ
    assert not Path(address).exists()


def test_a_place_with_a_long_name_has_no_host(tmp_path, monkeypatch):
    place = tmp_path / ("long" * 30)
    place.mkdir()
    monkeypatch.setenv(SCRATCH, str(place))
    with encoder_host():
        assert VARIABLE not in os.environ


def test_messages_hold_text_and_numbers_and_no_pickle():
    header, arrays = unpack(pack({"texts": ["ü🙂"]}, a=np.eye(2, dtype=np.float16)))
    assert header == {"texts": ["ü🙂"]}
    assert arrays["a"].dtype == np.float16
    with pytest.raises(ValueError, match="allow_pickle"):
        unpack(pack({}, a=np.array([object()], dtype=object)))


def test_a_host_that_is_killed_is_not_waited_for():
    """Neither by who waits for its answer, nor by who asks after its end."""
    own, found = SentenceEncoder(), []
    with encoder_host():
        asking = HostedEncoder(own, os.environ[VARIABLE])
        told = subprocess.run(
            ["pgrep", "-P", str(os.getpid()), "-f", "casebook.models.hosting"], capture_output=True, text=True
        )
        host = max(int(pid) for pid in told.stdout.split())  # the one begun last
        os.kill(host, signal.SIGSTOP)
        waiting = threading.Thread(target=lambda: found.append(asking.encode_queries(["x"])), daemon=True)
        waiting.start()
        threading.Event().wait(0.3)
        assert not found
        os.kill(host, signal.SIGKILL)
        later = threading.Thread(target=lambda: found.append(asking.encode_queries(["x"])), daemon=True)
        later.start()
        waiting.join(60)
        later.join(60)
        assert len(found) == 2
    expected = own.encode_queries(["x"])
    assert all(np.array_equal(one, expected) for one in found)
