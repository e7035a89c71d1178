"""A batch that is interrupted or killed, or a worker of it, leaves nothing behind."""

import os
import signal
import sys
import time
from itertools import chain
from pathlib import Path

import pytest
import yaml
from interrupts import interruptible

WORK = (
    "import os, pathlib, time\n"
    "told = pathlib.Path(f'{cell}.pids')\n"
    "first = not told.exists() and not pathlib.Path('go').exists()\n"
    "told.write_text(f'{os.getppid()} {os.getpid()}\\n')\n"
    "time.sleep(wait if first else 0)"
)
WAIT = 300


@pytest.fixture
def temporary(tmp_path_factory, monkeypatch):
    """Give the folder for temporary files, with a name short enough for sockets."""
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def batch(notebook_project, temporary, monkeypatch):
    """Give a function that starts a batch of two cells that wait."""
    project = notebook_project('run = "a"\ncell = "b"\nwait = 0', WORK)
    monkeypatch.delenv("CASEBOOK_SCRATCH", raising=False)
    rows = [
        {"name": name, "notebook": "01_made.ipynb", "parameters": {"wait": WAIT}}
        | {"tags": ["default"]}
        for name in ("one", "two")
    ]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))
    grid = ["--grid", str(project / "grid.yml"), "--run", "mine"]

    def start(workers):
        command = [sys.executable, "-m", "casebook", "run", *grid]
        return interruptible([*command, "--workers", str(workers)])

    return project, start


def at_work(project, cells):
    """Wait until notebooks run; give the workers and the kernels."""
    until, found = time.monotonic() + WAIT, []
    while len(found) < len(cells):
        assert time.monotonic() < until
        time.sleep(0.1)
        files = [project / f"{cell}.pids" for cell in cells]
        texts = [path.read_text() for path in files if path.exists()]
        found = [text.split() for text in texts if text.endswith("\n")]
    return [[int(pid) for pid in pair] for pair in found]


def gone(pids, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not [pid for pid in pids if alive(pid)]:
            return True
        time.sleep(0.05)
    return False


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ended_well(project, start, temporary):
    (project / "go").touch()
    process = start(2)
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize(
    ("workers", "all_of_them", "place"),
    [(1, True, "s"), (1, False, "too-long-for-sockets" * 4), (2, True, "s"), (2, False, "s")],
)
def test_interrupted(batch, temporary, monkeypatch, count, workers, all_of_them, place):
    project, start = batch
    temporary /= place
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    process = start(workers)
    pids = {*chain(*at_work(project, ("one", "two")[:workers]))} - {process.pid}
    (os.killpg if all_of_them else os.kill)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=WAIT / 2)
    assert process.returncode == 130 and "Traceback" not in err, err
    assert gone(pids, WAIT)
    assert not [*temporary.iterdir()]
    count("interrupt of a batch")
    ended_well(project, start, temporary)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed(batch, temporary, count, workers):
    project, start = batch
    process = start(workers)
    pids = {*chain(*at_work(project, ("one", "two")[:workers]))} - {process.pid}
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert gone(pids, WAIT)
    count("kill of a batch")
    ended_well(project, start, temporary)


def test_a_killed_worker(batch, temporary, count):
    project, start = batch
    process = start(2)
    (worker, kernel), (other, others_kernel) = at_work(project, ("one", "two"))
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 3 and "the kernel died" in err, err
    assert gone((kernel, other, others_kernel), WAIT)
    assert not [*temporary.iterdir()]
    count("kill of a worker")
    ended_well(project, start, temporary)
