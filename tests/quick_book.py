"""A copy of the prose, to be changed, whose pages are written as they are staged: rendering takes
no time."""

import shutil

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
    site = target / "html"
    for page in (stage / "book").rglob("*.md"):
        write_text((site / page.relative_to(stage / "book")).with_suffix(".html"), page.read_text())
    shutil.copytree(stage / "book" / "assets", site / "_static")
    shutil.copytree(stage / "book" / "run" / "notebooks", site / "_sources" / "run" / "notebooks")
    return site
