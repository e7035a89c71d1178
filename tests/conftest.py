"""Settings that every test and every kernel started by nbval inherits."""

import os
from pathlib import Path

import pytest

from casebook.notebooks import QUIET

for name, value in QUIET.items():
    os.environ.setdefault(name, value)

MIRROR = Path(
    os.environ.get("CASEBOOK_DATA_MIRROR")
    or Path(__file__).resolve().parents[2] / "shared" / "data"
)


@pytest.fixture(scope="session")
def mirror():
    """Give the reference data folder, or skip with the reason."""
    if not MIRROR.is_dir():
        pytest.skip(f"reference data absent: set CASEBOOK_DATA_MIRROR (tried {MIRROR})")
    return MIRROR
