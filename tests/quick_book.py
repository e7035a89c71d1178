"""A copy of the prose, to be changed, whose pages are written as they are staged: rendering takes
no time."""

import os
import shutil
from pathlib import Path

from casebook.book import build
from casebook.files import write_text
from casebook.paths import ROOT


def copy_book(folder, monkeypatch):
    """Copy the prose, and have builds take it and write their sites there."""
    shutil.copytree(ROOT / "book", folder / "book")
    shutil.copy(ROOT / "_config.yml", folder)
    monkeypatch.setattr(build, "ROOT", folder)
    monkeypatch.setattr(build, "OUTPUT", folder)
    monkeypatch.setattr(build, "rendered", _rendered)
    return folder


def _rendered(stage, target):
    write_pages(stage / "book", target / "html")
    return target / "html"


def write_pages(book, site):
    """Write the pages of a staged book as they are."""
    for page in book.rglob("*.md"):
        write_text((site / page.relative_to(book)).with_suffix(".html"), page.read_text())
    shutil.copytree(book / "assets", site / "_static")
    shutil.copytree(book / "run" / "notebooks", site / "_sources" / "run" / "notebooks")


def unrendered_path(*more):
    """Give a PYTHONPATH with which commands in processes of their own render nothing."""
    tests = Path(__file__).parent
    return os.pathsep.join(map(str, (tests / "unrendered", tests, *more)))
