"""Every reference leads to its text: a DOI, or an address."""

import re

from pybtex.database import parse_file

from casebook.paths import ROOT

ENTRIES = parse_file(str(ROOT / "book" / "references.bib")).entries
DOI = re.compile(r"10\.\d{4,9}/[^\s\"{}]+")
ADDRESS = re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}/[^\s\"{}]*")


def test_every_reference_has_a_doi_or_an_address():
    lost = []
    for key, entry in ENTRIES.items():
        doi, url = (entry.fields.get(name) for name in ("doi", "url"))
        # No https://doi.org/ stands before a DOI.
        is_sound = (not doi or DOI.fullmatch(doi)) and (not url or ADDRESS.fullmatch(url))
        if not is_sound or not (doi or url):
            lost.append(key)
    assert lost == []
