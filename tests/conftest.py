"""Settings that every test and every kernel started by nbval inherits."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("TQDM_DISABLE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

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
