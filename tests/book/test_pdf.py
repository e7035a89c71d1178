"""One document of a site, which a browser prints."""

import re
import stat
import sys

import pytest
from bs4 import BeautifulSoup

from casebook.book import pdf
from casebook.errors import CasebookError, InputError

FRONT = """<!doctype html><html><head><link rel="stylesheet" href="_static/site.css?v=1"></head><body>
<nav class="bd-links"><ul><li><a href="#">Mine</a></li></ul>
<p class="caption">Questions</p><ul>
<li><a href="run/notebooks/a.html">Does it help?</a><ul>
<li><a href="generated/items/a.html">Item by item</a></li></ul></li></ul>
<p class="caption">About</p><ul><li><a href="api.html">Python API</a></li></ul>
<p class="caption">Methods</p><ul><li><a href="methods/m.html">Measures</a></li>
<li><a href="https://example.org/">Elsewhere</a></li></ul></nav>
<article class="bd-article"><h1 id="top">Mine<a class="headerlink" href="#top">#</a></h1>
<details><summary>more</summary><p>Folded answers.</p></details>
<a href="run/notebooks/a.html#answer">answer</a> <a href="run/notebooks/a.html#settings">settings</a>
<a href="rows/a.csv.gz">rows</a> <a href="generated/items/a.html#q=1">items</a>
<a href="https://example.org/x">elsewhere</a></article></body></html>"""
CHAPTER = """<html><body><article class="bd-article"><h1 id="top">Chapter</h1>
<section id="answer"><h2>Answer</h2><p>It helps.</p>
<figure class="drawn"><div class="drawing wide"><svg viewBox="0 0 9 9" aria-labelledby="t l">
<title id="t">A figure</title><clippath id="c"></clippath>
<a xlink:href="../../generated/items/a.html"><path clip-path="url(#c)" d="M0 0"/></a></svg></div>
<div class="drawing narrow">twice</div></figure>
<img src="../../_images/x.png"><a href="../../methods/m.html">method</a></section>
<section class="folded" id="settings"><h2>Settings</h2></section>
<details class="hide"><summary>Show code</summary><div class="cell_input">import os</div></details>
<div class="highlight-python"><pre>code()</pre></div><button>Copy</button>
<a href="#answer">up</a></article></body></html>"""
METHOD = """<html><body><article class="bd-article"><h1 id="top">Measures</h1>
<span class="math">x</span></article></body></html>"""
PAGES = {
    "index.html": FRONT,
    "run/notebooks/a.html": CHAPTER,
    "methods/m.html": METHOD,
    "api.html": "not read",
}
# What Chromium writes: a tree of pages, and the places that links lead to.
PRINTED = b"""%PDF-1.4
1 0 obj
<</Type /Page
/Parent 4 0 R>>
endobj
2 0 obj
<</Type /Page
/Parent 5 0 R>>
endobj
3 0 obj
<</Type /Page
/Parent 5 0 R>>
endobj
4 0 obj
<</Type /Pages
/Count 1
/Kids [1 0 R]
/Parent 6 0 R>>
endobj
5 0 obj
<</Type /Pages
/Count 2
/Kids [3 0 R 2 0 R]
/Parent 6 0 R>>
endobj
6 0 obj
<</Type /Pages
/Count 3
/Kids [5 0 R 4 0 R]>>
endobj
7 0 obj
<</index [3 0 R /XYZ 0 841 0]
/run-notebooks-a [1 0 R /XYZ 0 841 0]>>
endobj
"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "_build" / "mine" / "html"
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """Give a function that makes a program which stands for the browser."""

    def make(work):
        program = tmp_path / "browser"
        lines = [
            f"#!{sys.executable}",
            "import pathlib, sys, urllib.parse",
            "out = next(a[15:] for a in sys.argv if a.startswith('--print-to-pdf='))",
            "address = urllib.parse.urlsplit(sys.argv[-1])",
            "text = pathlib.Path(urllib.parse.unquote(address.path)).read_text()",
            work,
        ]
        program.write_text("\n".join(lines))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(pdf.VARIABLE, str(program))
        return program

    return make


@pytest.fixture
def document(site):
    return BeautifulSoup(pdf.joined(site, "mine"), "html.parser")


def test_pages_follow_each_other_as_in_the_sidebar(document):
    articles = [article["id"] for article in document.select("article")]
    assert articles == ["index", "run-notebooks-a", "methods-m"]
    lines = [line.get_text() for line in document.select(".pdf-contents li")]
    assert lines == ["Answers", "Questions", "Does it help?", "Methods", "Measures"]


def test_the_cover_names_run_and_version_and_what_is_left_out(document):
    from casebook import __version__

    text = document.select_one(".pdf-cover").get_text(" ")
    assert "Casebook" in text and "Run mine" in text and f"Casebook {__version__}" in text
    assert "Left out" in text and "code" in text


def test_code_buttons_and_folded_sections_are_left_out_and_answers_open(document):
    text = document.body.get_text()
    for word in ("Settings", "import os", "code()", "Copy", "Show code", "twice", "#"):
        assert word not in text.replace("Show code #", "")
    assert document.select_one("article details").has_attr("open")
    assert "Folded answers." in text and "It helps." in text


def test_links_lead_within_the_document_or_out_of_it(document):
    links = {link.get_text(): link.get("href") for link in document.select("article a")}
    assert links["answer"] == "#run-notebooks-a--answer"
    assert links["settings"] == "#run-notebooks-a"  # the section is left out
    assert links["up"] == "#run-notebooks-a--answer"
    assert links["method"] == "#methods-m"
    assert links["elsewhere"] == "https://example.org/x"
    assert links["rows"] is None and links["items"] is None
    names = [node["id"] for node in document.select("[id]")]
    assert len(names) == len({*names})
    inside = [link["href"][1:] for link in document.select('a[href^="#"]')]
    assert {*inside} <= {*names}


def test_drawings_keep_their_parts(document):
    figure = document.select_one("figure svg")
    assert figure["aria-labelledby"] == "run-notebooks-a--t run-notebooks-a--l"
    assert figure.path["clip-path"] == "url(#run-notebooks-a--c)"
    assert not figure.a.has_attr("xlink:href")


def test_files_of_the_site_are_loaded_from_it(document, site):
    sheet = document.select_one('link[rel="stylesheet"]')
    assert sheet["href"] == (site / "_static" / "site.css").as_uri()
    assert document.img["src"] == (site / "_images" / "x.png").as_uri()
    assert [script for script in document.select("script[src]") if "mathjax" in script["src"]]


def test_pages_and_places_of_a_pdf_are_counted_in_their_order():
    assert pdf.page_order(PRINTED) == [b"3", b"2", b"1"]
    assert pdf.page_numbers(PRINTED) == {"index": 1, "run-notebooks-a": 3}


def test_the_contents_get_the_pages_of_the_first_printing(site, browser, tmp_path):
    browser(
        f"pathlib.Path({str(tmp_path / 'seen.html')!r}).write_text(text)\n"
        f"pathlib.Path(out).write_bytes({PRINTED!r})"
    )
    path, n_pages = pdf.write_pdf("mine", site / "index.html")
    assert (path, n_pages) == (site.parent / "mine.pdf", 3)
    assert path.read_bytes() == PRINTED
    text = (tmp_path / "seen.html").read_text()
    assert re.findall(r'data-place="([^"]+)">(\d*)<', text) == [
        ("index", "1"),
        ("run-notebooks-a", "3"),
        ("methods-m", ""),
    ]


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        ("sys.exit('no usable sandbox')", "printed no PDF: no usable sandbox"),
        ("sys.exit(3)", "printed no PDF: exit code 3"),
        ("pathlib.Path(out).write_bytes(b'')", "wrote no PDF that has pages"),
    ],
)
def test_a_browser_that_fails_is_one_line_and_the_old_pdf_stays(site, browser, work, reason):
    program = browser(work)
    old = site.parent / "mine.pdf"
    old.write_bytes(b"old")
    with pytest.raises(CasebookError, match=reason) as problem:
        pdf.write_pdf("mine", site / "index.html")
    assert str(problem.value).startswith(str(program)) and "\n" not in str(problem.value)
    assert old.read_bytes() == b"old" and not list(site.parent.glob("*.part"))


def test_without_a_browser_the_remedy_is_named(monkeypatch):
    monkeypatch.delenv(pdf.VARIABLE, raising=False)
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=f"install one .*, or name its program in {pdf.VARIABLE}"):
        pdf.find_browser()


def test_a_browser_that_is_not_there_is_refused_before_anything_is_built(casebook, monkeypatch):
    monkeypatch.setenv(pdf.VARIABLE, "/no/such/chrome")
    code, out, err = casebook("build", "--run", "never-made", "--pdf")
    assert (code, out) == (1, "")
    assert err == f"casebook: {pdf.VARIABLE}=/no/such/chrome: no such program\n"
