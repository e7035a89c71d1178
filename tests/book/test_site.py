"""What the site leaves out is what no page needs."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

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
