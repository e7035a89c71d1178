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


def test_no_two_references_share_a_doi_or_an_address():
    fields = [entry.fields for entry in ENTRIES.values()]
    links = [field.get("doi", field.get("url")) for field in fields]
    assert len({*links}) == len(links)


def test_a_preprint_leads_to_the_number_that_it_names():
    for key, entry in ENTRIES.items():
        text = entry.fields.get("howpublished", "") + entry.fields.get("journal", "")
        number = re.search(r"arXiv:([\d.]+)", text)
        if number:
            assert entry.fields["url"] == f"https://arxiv.org/abs/{number[1]}", key
