"""Child processes of the command line: logged, timed, and ended as a group."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TIMED_OUT = 124  # exit code of a child that ran out of time
_GRACE = 5.0  # seconds between the request to end and the order to


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    name: str
    exit_code: int
    seconds: float
    log: Path


def command_line(arguments):
    """Give the command that runs this library's command line."""
    return [sys.executable, "-m", "casebook", *arguments]


def run_child(name, arguments, log, environment=None, timeout=None):
    """Run the command line in a process group of its own."""
    log.parent.mkdir(parents=True, exist_ok=True)
    errors = log.with_suffix(".stderr")
    start = time.monotonic()
    with log.open("wb") as out, errors.open("wb") as err:
        child = subprocess.Popen(
            command_line(arguments),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            _end(child)
    with log.open("ab") as out:
        out.write(b"[STDERR]\n" + errors.read_bytes())
    errors.unlink()
    return Ended(name, code, round(time.monotonic() - start, 2), log)


def _end(child):
    """End whatever is left of the group, also when this process is interrupted."""
    for order, patience in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, order)
        except ProcessLookupError:
            break
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    child.wait()
