"""Worker processes of `casebook corpus` that are killed, interrupted or left alone end, and say so
in one line."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from interrupts import interruptible

DOCUMENTS = 12
SHARD = 50  # vectors
LONG = 300
# More than a pipe holds waits for the workers, so that what writes into it waits too.
TEXT = "A pipe burst in the kitchen and the insurer answered after a month. " * 150


@pytest.fixture
def encoding(tmp_path):
    """Give a function that starts an encoding by two processes and waits for its first shard."""
    folder = tmp_path / "collection"
    folder.mkdir()
    texts = [TEXT.replace("kitchen", f"kitchen {number}") for number in range(DOCUMENTS)]
    lines = [json.dumps({"_id": str(n), "text": text}) for n, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    place = tmp_path / "corpus"
    command = [
        sys.executable,
        "-m",
        "casebook",
        "corpus",
        "encode",
        str(folder),
        "--out",
        str(place),
    ]
    command += ["--shard-size", str(SHARD), "--workers", "2"]

    def start():
        process = interruptible(command)
        until = time.monotonic() + LONG
        while not list(place.glob("files-*/shards/*.sha256")):
            assert time.monotonic() < until and process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        assert len(workers) == 2
        return process, children, workers

    def carries_on():
        (files,) = place.glob("files-*")
        kept = next(files.glob("shards/*.sha256"))
        assert not (place / "encoded.json").exists()
        # What is kept is not encoded again: other vectors of it stay, with their digest.
        vectors = np.load(files / "vectors.npy", mmap_mode="r+")
        start, stop = map(int, kept.stem.split("-"))
        vectors[start:stop] = 0.5
        vectors.flush()
        kept.write_text(hashlib.sha256(vectors[start:stop].tobytes()).hexdigest())
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert again.stderr == "" and f": {DOCUMENTS} documents, " in again.stdout
        assert (np.load(files / "vectors.npy")[start:stop] == 0.5).all()

    return start, carries_on


def test_a_killed_worker_ends_the_command_with_one_line(encoding, count):
    start, carries_on = encoding
    process, children, workers = start()
    workers[0].kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.count("\n") == 1 and "a worker process died" in err and "carries on" in err
    assert not psutil.wait_procs(children, 60)[1]
    count("kill of a process that encodes")
    carries_on()


@pytest.mark.parametrize("all_of_them", [True, False])
def test_interrupted(encoding, count, all_of_them):
    start, carries_on = encoding
    process, children, _ = start()
    (os.killpg if all_of_them else os.kill)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err, err
    assert not psutil.wait_procs(children, 60)[1]
    count("interrupt of an encoding")
    carries_on()


def test_killed(encoding, count):
    start, carries_on = encoding
    process, children, _ = start()
    process.kill()
    process.wait()
    assert not psutil.wait_procs(children, 60)[1]
    count("kill of an encoding")
    carries_on()
