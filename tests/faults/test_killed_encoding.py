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
    lines = [json.dumps({"_id": str(n), "text": f"{n} {TEXT}"}) for n in range(DOCUMENTS)]
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
        while not list(place.glob("files-*/shards.json")):
            assert time.monotonic() < until and process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        assert len(workers) == 2
        return process, children, workers

    def carries_on():
        (files,) = place.glob("files-*")
        kept = json.loads((files / "shards.json").read_text())
        assert kept and not (place / "encoded.json").exists()
        # What is kept is not encoded again: other vectors of it stay, with their digest.
        vectors = np.load(files / "vectors.npy", mmap_mode="r+")
        start, stop = map(int, next(iter(kept)).split("-"))
        vectors[start:stop] = 0.5
        vectors.flush()
        kept[f"{start}-{stop}"] = hashlib.sha256(vectors[start:stop].tobytes()).hexdigest()
        (files / "shards.json").write_text(json.dumps(kept))
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert again.stderr == "" and f"{DOCUMENTS} documents" in again.stdout
        assert (np.load(files / "vectors.npy")[start:stop] == 0.5).all()

    return start, carries_on


def kill(process, _):
    process.kill()


def interrupt(process, _):
    os.kill(process.pid, signal.SIGINT)


def interrupt_all(process, _):
    os.killpg(process.pid, signal.SIGINT)


def kill_a_worker(_, workers):
    workers[0].kill()


@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [
        (kill, -signal.SIGKILL, "kill of an encoding"),
        (interrupt, 130, "interrupt of an encoding"),
        (interrupt_all, 130, "interrupt of an encoding"),
        (kill_a_worker, 1, "kill of a process that encodes"),
    ],
)
def test_processes_end_and_the_command_carries_on(encoding, count, fault, code, kind):
    start, carries_on = encoding
    process, children, workers = start()
    fault(process, workers)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code and "Traceback" not in err, err
    if fault is kill_a_worker:
        assert err.count("\n") == 1 and "a worker process died" in err and "carries on" in err
    assert not psutil.wait_procs(children, 60)[1]
    count(kind)
    carries_on()
