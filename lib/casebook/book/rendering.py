"""Jupyter Book, run strictly in a process of its own."""

import errno
import os
import re
import subprocess
import sys

from casebook.errors import CasebookError

_SHOWN = 20  # lines of what went wrong
_FULL = (errno.ENOSPC, errno.EDQUOT)


def rendered(stage, target):
    """Render staged pages, with warnings as errors.

    Parameters
    ----------
    stage : pathlib.Path
        Holds ``_config.yml`` and ``book/``.
    target : pathlib.Path
        Folder to work in.

    Returns
    -------
    pathlib.Path
        Folder of the site, below ``target``.

    Raises
    ------
    OSError
        If the disk is full.
    CasebookError
        If Jupyter Book warns or fails; its last lines are in the message.
    """
    start = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", str(stage / "book")]
    command += ["--config", str(stage / "_config.yml")]
    command += ["--path-output", str(target), "-W", "--keep-going", "-n", "-q"]
    # Sphinx leaves its account of a crash in the folder for temporary files.
    quiet = {"PYTHONWARNINGS": "ignore", "TMPDIR": str(target)}
    done = subprocess.run(
        command, capture_output=True, env=os.environ | quiet, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise _full(said, target) or CasebookError(
            f"the book does not build:\n{_problems(said)}"
        )
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
