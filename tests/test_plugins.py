"""Modules of the user's own, imported by a command and by a kernel that works in another folder."""

import sys
from pathlib import Path

from casebook.plugins import CALLER, plugin


def test_a_module_finds_its_files_where_the_caller_works(tmp_path, monkeypatch):
    """F33: a kernel works in another folder, so that a file that is opened at import was not found there."""
    (tmp_path / "own_words.txt").write_text("tenant landlord")
    (tmp_path / "own_search.py").write_text("WORDS = open('own_words.txt').read().split()\n")
    monkeypatch.setenv(CALLER, str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = Path.cwd()
    assert plugin("own_search:WORDS") == ["tenant", "landlord"]
    assert Path.cwd() == before
