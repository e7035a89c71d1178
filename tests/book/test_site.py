"""What the site leaves out is what no page needs."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup

from casebook.book.build import build_book


@pytest.mark.slow
def test_no_link_leads_nowhere():
    site = build_book("smoke").parent

    @cache
    def anchors(page):
        return set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text(encoding="utf-8")))

    lost = set()
    pages = [page for page in site.rglob("*.html") if page.parent.name != "_static"]
    for page in pages:
        for target in re.findall(r'\bhref="([^"]+)"', page.read_text(encoding="utf-8")):
            place = urlsplit(urljoin(page.as_uri(), target))
            file = Path(unquote(place.path))
            is_choice = file.is_file() and "=" in place.fragment  # which the page's script reads
            if place.scheme != "file" or is_choice:
                continue
            anchor = unquote(place.fragment)
            if not file.is_file() or (anchor and anchor not in anchors(file)):
                lost.add((page.name, target))
    assert len(pages) > 40 and lost == set()


@pytest.mark.slow
def test_a_folded_section_is_closed_below_its_heading():
    chapter = build_book("smoke").parent / "run" / "notebooks" / "factcheck_confusion-smoke.html"
    page = BeautifulSoup(chapter.read_text(encoding="utf-8"), "html.parser")
    fold = page.select_one("section#two-classes > details.folded")
    assert fold.summary.h2 and not fold.has_attr("open")
    assert fold.select("table") and not page.select("section#answer details.folded")
