"""Compare what the notebooks wrote into results/smoke with what is committed.

One machine writes the same bytes again. Another one, with other instructions, rounds
differently in the last places of a float32: there text and whole numbers must be equal
and other numbers close.
"""

import gzip
import math
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "results/smoke"
CLOSE = 1e-5  # relative, or absolute below 1: a hundred times the noise of a float32
CLOSE_ON_PAPER = 1e-2  # points of a drawing
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
WHOLE = re.compile(r"-?\d+")
HASHED_NAME = re.compile(r"\b[a-z][0-9a-f]{10}\b")  # matplotlib's, of what it names


def differences(before, after, close):
    """Give the pairs of lines that differ by more than the noise of a machine.

    Parameters
    ----------
    before, after : str
        Texts.
    close : float
        Largest difference of numbers with decimals, relative above 1.

    Returns
    -------
    list of (str, str)
        Empty if the texts tell the same.
    """
    old, new = before.splitlines(), after.splitlines()
    if len(old) != len(new):
        return [(f"{len(old)} lines", f"{len(new)} lines")]
    return [pair for pair in zip(old, new, strict=True) if not _same(*pair, close)]


def _same(old, new, close):
    if old == new:
        return True
    first, second = (NUMBER.split(HASHED_NAME.sub("name", t)) for t in (old, new))
    if first[::2] != second[::2]:
        return False
    numbers = zip(first[1::2], second[1::2], strict=True)
    return all(_near(*pair, close) for pair in numbers)


def _near(old, new, close):
    if WHOLE.fullmatch(old) and WHOLE.fullmatch(new):  # a count is not rounded
        return int(old) == int(new)
    return math.isclose(float(old), float(new), rel_tol=close, abs_tol=close)


def _text(name, content):
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode()


def _git(root, *arguments):
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout


def _told(root, state, name):
    """Give what is to be said of a file, and whether it is a change."""
    if state == "??" or "A" in state:
        return "not committed", True
    if not (root / name).is_file():
        return "gone", True
    before = _text(name, _git(root, "show", f"HEAD:{name}"))
    after = _text(name, (root / name).read_bytes())
    close = CLOSE_ON_PAPER if name.endswith(".svg") else CLOSE
    found = differences(before, after, close)
    if not found:
        return "only the last places of numbers differ", False
    shown = [f"  - {old[:160]}\n  + {new[:160]}" for old, new in found[:3]]
    return "\n".join([f"lines that differ: {len(found)}", *shown]), True


def main(root=ROOT):
    """Print what differs from HEAD; exit code 1 if anything but noise does."""
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
    try:
        listed = _git(root, "status", *options, REFERENCE).decode()
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"{root}: no git checkout, so there is no reference to compare with")
    failed = False
    for entry in filter(None, listed.split("\0")):
        state, name = entry[:2], entry[3:]
        said, change = _told(root, state, name)
        print(f"{name}: {said}")
        failed |= change
    sys.exit(failed)


if __name__ == "__main__":
    main()
