"""Chromium prints the first pages of the smoke book."""

import re

from casebook.book import pdf

PAGES = 4


def test_the_report_becomes_a_pdf_with_contents_and_page_numbers(site, browser, monkeypatch):
    read_contents = pdf.contents
    printed = []
    print_document = pdf._print

    def keep(program, text, work):
        printed.append(text)
        return print_document(program, text, work)

    monkeypatch.setattr(pdf, "contents", lambda front: read_contents(front)[:PAGES])
    monkeypatch.setattr(pdf, "_print", keep)
    path, n_pages = pdf.write_pdf("smoke", site / "index.html")
    data = path.read_bytes()
    assert data.startswith(b"%PDF-") and n_pages >= PAGES
    assert b"/Outlines" in data and b"file:" not in data
    numbers = re.findall(r'data-place="([^"]+)">(\d*)<', printed[-1])
    assert len(numbers) >= 2 and numbers[0] == ("index", "3")  # after cover and contents
    # The second printing, which has the numbers, is laid out as the first one was.
    places = pdf.page_numbers(data)
    assert {name: places[name] for name, _ in numbers} == {k: int(v) for k, v in numbers}
