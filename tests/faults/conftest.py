"""Faults are counted, and ``make faults`` writes the counts to docs/faults.csv."""

import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from casebook.files import write_text

TABLE = Path(__file__).parents[2] / "docs" / "faults.csv"
_COUNTS, _START = Counter(), time.monotonic()


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def count():
    """Give a function that counts faults of a kind that were survived."""

    def add(kind, number=1):
        _COUNTS[kind] += number

    return add


class Disk:
    """A file system in memory of a few kilobytes, to be filled and enlarged."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        self._mount("size=4k")

    def _mount(self, options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")

    def grow(self, kilobytes):
        """Make it this large."""
        self._mount(f"remount,size={kilobytes}k")

    def leave(self, kilobytes):
        """Make it so large that this is free."""
        self.grow(shutil.disk_usage(self.folder).used // 1024 + kilobytes)

    def close(self):
        subprocess.run(["umount", "--lazy", str(self.folder)], capture_output=True)


@pytest.fixture
def disk():
    """Give a function that mounts a small disk on a folder."""
    mounted = []

    def make(folder):
        mounted.append(Disk(folder))
        return mounted[-1]

    yield make
    for one in mounted:
        one.close()


def pytest_sessionfinish(exitstatus):
    if os.environ.get("CASEBOOK_WRITE_FAULTS") and exitstatus == 0 and _COUNTS:
        rows = "".join(f'"{kind}",{n}\n' for kind, n in sorted(_COUNTS.items()))
        write_text(TABLE, f"fault survived,times\n{rows}")
        print(f"\n{TABLE}: {time.monotonic() - _START:.0f} s")
