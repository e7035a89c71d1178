"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest

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
