"""Faults are counted, and ``make faults`` writes the counts to docs/faults.csv."""

import os
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


def pytest_sessionfinish(exitstatus):
    if os.environ.get("CASEBOOK_WRITE_FAULTS") and exitstatus == 0 and _COUNTS:
        rows = "".join(f'"{kind}",{n}\n' for kind, n in sorted(_COUNTS.items()))
        write_text(TABLE, f"fault survived,times\n{rows}")
        print(f"\n{TABLE}: {time.monotonic() - _START:.0f} s")
