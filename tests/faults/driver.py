"""Runs command lines in one process: reads one a line as JSON, and tells how each ended.

What is written outside the folder is told too, and nothing is asked of other machines.
"""

import contextlib
import io
import json
import os
import resource
import signal
import sys
import traceback
import warnings
from pathlib import Path

SECONDS = 20  # of work; more is a hang
PATIENCE = 120  # seconds of waiting, on a machine that may be busy
MEMORY = 16 << 30  # bytes; a number that is too large must not fill the machine
_WRITES = (
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.rename",
    "os.symlink",
    "os.link",
    "os.truncate",
    "shutil.rmtree",
)
_elsewhere = []


class Hang(BaseException):
    """A command took too long; none may take it for an error of its own."""


def watch(allowed):
    """Note and refuse what is written elsewhere, and refuse to leave this machine."""

    def hook(event, arguments):
        address = arguments[1] if event == "socket.connect" else None
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "localhost", "::1"):
            raise OSError(f"no network here: {address[0]}")
        paths = arguments[:2] if event in _WRITES else ()
        if event == "open" and isinstance(arguments[2], int):
            paths = arguments[:1] if arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else ()
        for path in paths:
            place = os.path.realpath(path) if isinstance(path, str | bytes) else ""
            if place and not os.fsdecode(place).startswith(allowed):
                _elsewhere.append(f"{event} {path}")
                raise PermissionError(f"outside the folder of the test: {path}")

    sys.addaudithook(hook)


def ended(words):
    """Run one command line: exit code, both outputs, and what went wrong."""
    from casebook.cli import main

    def late(*_):
        raise Hang

    _elsewhere.clear()
    outputs = [
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
    ]
    code = problem = None
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(PATIENCE)
    try:
        with (
            contextlib.redirect_stdout(outputs[0]),
            contextlib.redirect_stderr(outputs[1]),
            warnings.catch_warnings(),
        ):
            main(words)
    except SystemExit as stop:
        code = stop.code
    except Hang:
        problem = "hangs: " + traceback.format_exc()[-1500:]
    except BaseException:
        problem = traceback.format_exc()[-1500:]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in outputs)
    return {"code": code, "out": out, "err": err, "problem": problem, "elsewhere": list(_elsewhere)}


def serve(folder):
    """Answer on the real standard output; whatever a command prints goes elsewhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from casebook.models.encoders import load_encoder

    load_encoder(cache=False).encode_documents(
        ["The first text takes longest."]
    )  # before anything is timed
    watch((str(Path(folder).resolve()), "/dev/null", "/dev/tty", "/proc/"))
    for line in sys.stdin:
        os.chdir(Path(folder) / "in")
        answers.write(json.dumps(ended(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
