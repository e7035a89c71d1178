"""Compare what the notebooks wrote into results/smoke with what is committed.

One machine writes the same bytes again. Another one, with other instructions, rounds
differently in the last places of a float32: there text must be equal and numbers close.
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
HASHED_NAME = re.compile(r"\b[a-z][0-9a-f]{10}\b")  # matplotlib's, of what it names


def differences(before, after, close):
    """Give the pairs of lines that differ by more than the noise of a machine.

    Parameters
    ----------
    before, after : str
        Texts.
    close : float
        Largest difference of numbers, relative above 1.

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
    pairs = zip(map(float, first[1::2]), map(float, second[1::2]), strict=True)
    return all(math.isclose(a, b, rel_tol=close, abs_tol=close) for a, b in pairs)


def _text(name, content):
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode()


def _git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, check=True
    ).stdout


def main():
    """Print what differs; exit code 1 if anything does."""
    listed = _git("status", "--porcelain", "-z", "--no-renames", REFERENCE).decode()
    failed = False
    for entry in filter(None, listed.split("\0")):
        state, name = entry[:2], entry[3:]
        if state.strip() != "M":
            print(f"{name}: {'not committed' if state == '??' else 'gone'}")
            failed = True
            continue
        before = _text(name, _git("show", f"HEAD:{name}"))
        after = _text(name, (ROOT / name).read_bytes())
        close = CLOSE_ON_PAPER if name.endswith(".svg") else CLOSE
        found = differences(before, after, close)
        print(f"{name}: {len(found) or 'only the last places of numbers'} differ")
        for old, new in found[:3]:
            print(f"  - {old[:160]}\n  + {new[:160]}")
        failed |= bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
