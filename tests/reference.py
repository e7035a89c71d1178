"""Compare what the notebooks write with what is committed as results/smoke.

``reference.py FOLDER`` compares a rerun in a folder, such as that of the notebooks that pytest ran; without a folder
the working tree is compared.


One machine writes the same bytes again. Another one, with other instructions, rounds
differently in the last places of a float32: there text and whole numbers must be equal
and other numbers close.
"""

import gzip
import io
import math
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "results/smoke"
NOT_REPRODUCED = ("timings", "manifests", ".")
CLOSE = 1e-5  # relative, or absolute below 1: a hundred times the noise of a float32
CLOSE_ON_PAPER = 1e-2  # points of a drawing
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
WHOLE = re.compile(r"-?\d+")
# Hashes of outputs in a record, and its own: those files are compared one by one.
OUTPUT_HASH = re.compile(r'("(?:\.\./\.\./[^"]+|RecordSha256)": )"[0-9a-f]{64}"')
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
    first, second = (
        NUMBER.split(HASHED_NAME.sub("name", OUTPUT_HASH.sub(r"\1", text))) for text in (old, new)
    )
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


def committed(root):
    """Give the committed files of the reference, by their names below it."""
    command = ["git", "archive", "--format=tar", "HEAD", REFERENCE]
    try:
        archive = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"{root}: no git checkout, so there is no reference to compare with")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [member for member in tar.getmembers() if member.isfile()]
        return {
            member.name.removeprefix(f"{REFERENCE}/"): tar.extractfile(member).read()
            for member in members
        }


def written(folder):
    """Give the files of a run, without what no rerun reproduces."""
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if not name.startswith(NOT_REPRODUCED)
    }


def _told(name, before, after):
    """Give what is to be said of a file, and whether it is a change."""
    if before is None:
        return "not committed", True
    if after is None:
        return "gone", True
    close = CLOSE_ON_PAPER if name.endswith(".svg") else CLOSE
    found = differences(_text(name, before), _text(name, after), close)
    if not found:
        return "only the last places of numbers differ", False
    shown = [f"  - {old[:160]}\n  + {new[:160]}" for old, new in found[:3]]
    return "\n".join([f"lines that differ: {len(found)}", *shown]), True


def main(root=ROOT, rerun=None):
    """Print what a rerun has that HEAD has not, or otherwise; exit code 1 if anything but noise
    does."""
    before = committed(root)
    after = written(Path(rerun) if rerun else root / REFERENCE)
    failed = False
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        said, change = _told(name, before.get(name), after.get(name))
        print(f"{REFERENCE}/{name}: {said}")
        failed |= change
    sys.exit(failed)


if __name__ == "__main__":
    main(ROOT, *sys.argv[1:])
