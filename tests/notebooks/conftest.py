"""Chapters whose cells are run one by one."""

import IPython.display
import pytest
from cells import as_text

import casebook.notebook
from casebook import paths


@pytest.fixture
def displayed(tmp_path, monkeypatch):
    """Give what cells display as text; runs are kept in a temporary folder."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    texts = []
    for module in (IPython.display, casebook.notebook):
        monkeypatch.setattr(module, "display", lambda *values: texts.extend(map(as_text, values)))
    return texts
