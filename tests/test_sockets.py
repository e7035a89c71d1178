"""Which ports commands open while they work: on all interfaces, IPv4 and IPv6, TCP and UDP."""

import ipaddress
import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import yaml
import zmq
from small_book import started

from casebook.paths import DATA

pytestmark = pytest.mark.slow
LONG = 300  # seconds that a busy machine may take
PARAMETERS = 'run = "a"\ncell = "b"\nn = 2'
WORK = (
    "import os, pathlib, time\n"
    "pathlib.Path(f'{cell}.pid').write_text(f'{os.getpid()}\\n')\n"
    "while not pathlib.Path('go').exists():\n"
    "    print('a private matter', flush=True)\n"
    "    time.sleep(0.05)"
)


def ports(pid):
    """Give the open ports of a process and of all that it started: process, address, number."""
    listening = set()
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                for port in each.net_connections("inet"):
                    datagrams = port.type == socket.SOCK_DGRAM and not port.raddr
                    if port.status == psutil.CONN_LISTEN or datagrams:
                        listening.add((each.pid, *port.laddr))
    return listening


def ports_until_the_end(process):
    """Watch a command until it ends; give all ports that were open."""
    listening = set()
    until = time.monotonic() + LONG
    while process.poll() is None:
        assert time.monotonic() < until
        listening |= ports(process.pid)
        time.sleep(0.1)
    return listening


def kernels(project, cells):
    """Wait until the notebooks of these cells are at work; give their kernels' processes."""
    until = time.monotonic() + LONG
    files = [project / f"{cell}.pid" for cell in cells]
    while not all(path.exists() and path.read_text().endswith("\n") for path in files):
        assert time.monotonic() < until
        time.sleep(0.05)
    return {int(path.read_text()) for path in files}


def loopback(listening):
    return all(ipaddress.ip_address(address).is_loopback for _, address, _ in listening)


@pytest.fixture
def batch(notebook_project, monkeypatch):
    """Give a function that starts a batch of two notebooks; it gives its process and kernels."""
    project = notebook_project(PARAMETERS, WORK)
    names = ("one", "two")
    rows = [{"name": name, "notebook": "01_made.ipynb", "tags": ["default"]} for name in names]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))

    def start(temporary):
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        grid = ("--grid", "grid.yml", "--run", "mine", "--workers", "2")
        return started(project, "run", *grid), kernels(project, names)

    return project, start


def overheard(numbers, seconds):
    """Listen without a key at ports on loopback, and give the first words."""
    with zmq.Context() as context, context.socket(zmq.SUB) as ear:
        ear.subscribe(b"")
        for number in numbers:
            ear.connect(f"tcp://127.0.0.1:{number}")
        return ear.recv_multipart() if ear.poll(seconds * 1000) else None


LONG_NAME = pytest.param("too-long-for-sockets" * 4, marks=pytest.mark.faults)


@pytest.mark.parametrize("folder", ["s", LONG_NAME])
def test_kernels_listen_on_loopback_or_in_a_private_folder_and_tell_nobody_else(
    batch, tmp_path_factory, folder
):
    project, start = batch
    process, forks = start(tmp_path_factory.mktemp("t") / folder)
    listening = ports(process.pid)
    words = overheard([number for _, _, number in listening], 3)
    sockets = [
        socket.laddr for pid in forks for socket in psutil.Process(pid).net_connections("unix")
    ]
    rights = {Path(place).parent.stat().st_mode & 0o077 for place in sockets if place}
    (project / "go").touch()
    listening |= ports_until_the_end(process)
    assert process.returncode == 0, process.stderr.read()
    assert loopback(listening), listening
    # By ipykernel's own port a fork sends what it prints, with 16 secret bytes.
    pids = [pid for pid, _, _ in listening]
    assert sorted(pids) == sorted(forks) if folder == "s" else set(pids) == forks
    assert words is None
    assert folder != "s" or (len(sockets) >= 10 and rights == {0})


@pytest.mark.faults
def test_worker_processes_open_no_port_and_leave_nothing_but_the_result_on_the_terminal(tmp_path):
    encode = ["corpus", "encode", str(DATA / "smoke"), "--out", "corpus"]
    process = started(tmp_path, *encode, "--shard-size", "20", "--workers", "2")
    listening = ports_until_the_end(process)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.startswith("corpus: 48 documents") and out.count("\n") == 1
    assert listening == set()
