"""Jupyter Book, run strictly in a process of its own, for one builder at a time."""

import errno
import os
import re
import subprocess
import sys

from casebook.errors import CasebookError
from casebook.files import locked

_SHOWN = 20  # lines of what went wrong
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PATIENCE = 300.0  # seconds that another process may take
# It ends with the process that started it, which holds the other end of its input.
_START = """
import os, threading
from jupyter_book.cli.main import main
def end():
    os.read(0, 1)
    os._exit(1)
threading.Thread(target=end, daemon=True).start()
main()
"""


def sole_builder(target):
    """Hold the lock of the folder in which a site is made."""

    def refusal(owner):
        return f"{target}: another process is at work there ({owner}): wait for it"

    return locked(target / ".lock", refusal, _PATIENCE)


def rendered(stage, target):
    """Render staged pages, with warnings as errors."""
    command = [sys.executable, "-c", _START, "build", str(stage / "book")]
    command += ["--config", str(stage / "_config.yml")]
    command += ["--path-output", str(target), "-W", "--keep-going", "-n", "-q"]
    # Sphinx leaves its account of a crash in the folder for temporary files.
    quiet = {"PYTHONWARNINGS": "ignore", "TMPDIR": str(target)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=os.environ | quiet
    ) as process:
        said = process.stdout.read().decode(errors="replace")
        failed = process.wait()
    if failed:
        raise _full(said, target) or CasebookError(f"the book does not build:\n{_problems(said)}")
    return target / "_build" / "html"


def _full(said, target):
    """Give the error of a full disk if that is what stopped it."""
    for number in _FULL:
        why = os.strerror(number)
        if why in said:
            # Of a copy both names are told: the second one is the new file.
            named = re.search(rf"{why}: (?:'.*' -> )?'(.+)'", said)
            return OSError(number, why, named[1] if named else str(target))
    return None


def _problems(said):
    lines = said.splitlines()
    problems = [line for line in lines if "WARNING" in line or "ERROR" in line]
    return "\n".join((problems or lines)[-_SHOWN:])
