"""One PDF of a built site: its pages are joined to one document, which Chromium prints."""

import html
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

from casebook import __version__
from casebook.book.build import sole_builder
from casebook.book.front import completed, configuration
from casebook.book.results import ChapterResults
from casebook.errors import CasebookError, InputError
from casebook.files import write_text
from casebook.paths import SHIPPED, run_dir

VARIABLE = "CASEBOOK_CHROMIUM"
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
_PATIENCE = 300  # seconds that the browser may take
_FORMULAS = 60_000  # virtual milliseconds that formulas may take
_STYLE = SHIPPED / "book" / "assets" / "pdf.css"
# Other sites, pages that a script draws, and pages on how to use the tool.
_LEFT_OUT = re.compile(
    r"https?:|generated/(items/|leaderboard)"
    r"|(api|grid|tutorial|assistant_tutorial|own_book|genindex|search)\.html"
)
# What only a screen can use, code, and what the site folds.
_NOT_PRINTED = (
    ".headerlink, script, button, input, .print-footer, .table-tools, details.hide, .cell_input, "
    "details.reproduce, .drawing.narrow, figure.drawn figcaption small, [class*=highlight-], "
    "section#worked-examples, section#how-to-repeat-or-change-this, section.folded"
)
_LEFT_OUT_NOTE = (
    "Answers, figures, tables, methods and data cards are here. Left out are what the site folds "
    "(the working of the chapters), code and worked examples, interactive pages and tutorials."
)
# Attributes that name other elements, and such a name within the style of a drawing.
_REFERENCES = ("for", "headers", "aria-labelledby", "aria-describedby", "aria-controls")
_WITHIN = re.compile(r"url\(#([^)]+)\)")


def find_browser():
    """Give the path of a browser that prints, or say in one line what is missing."""
    named = os.environ.get(VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise InputError(f"{VARIABLE}={named}: no such program")
        return path
    paths = filter(None, map(shutil.which, (*_NAMES, *_ELSEWHERE)))
    path = next(paths, None)
    if path is None:
        raise InputError(
            "no Chromium, Chrome or Edge was found, which prints the PDF: install one "
            f"(apt install chromium), or name its program in {VARIABLE}"
        )
    return path


def write_pdf(run, index):
    """Print the site of a run, whose front page is given, beside it; give path and pages."""
    browser = find_browser()
    target = index.parent.parent / f"{run}.pdf"
    with sole_builder(target.parent), tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        text = joined(index.parent, run)
        data = _print(browser, text, work)
        numbers = page_numbers(data)
        if numbers:  # which the contents say
            data = _print(browser, _numbered(text, numbers), work)
        n_pages = len(page_order(data))
        if not n_pages:
            raise CasebookError(f"{browser} wrote no PDF that has pages")
        partial = target.with_suffix(".part")
        partial.write_bytes(data)
        partial.replace(target)
    return target, n_pages


def _print(browser, text, work):
    """Let the browser print a document, and give the PDF."""
    document = write_text(work / "report.html", text)
    printed = work / "report.pdf"
    printed.unlink(missing_ok=True)
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
        f"--virtual-time-budget={_FORMULAS}",
        f"--user-data-dir={work / 'profile'}",
        f"--print-to-pdf={printed}",
        document.as_uri(),
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # which root cannot have
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise CasebookError(f"{browser}: no PDF after {_PATIENCE} seconds") from None
    except OSError as error:
        raise InputError(f"{browser}: cannot be started: {error.strerror}") from None
    if not printed.is_file():
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit code {done.returncode}"
        raise CasebookError(f"{browser} printed no PDF: {reason}")
    return printed.read_bytes()


# --- what a PDF of Chromium says of its pages, in plain text between compressed streams

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\s*<</Type /Page(s?)\b(.*?)endobj", re.DOTALL)
_KIDS = re.compile(rb"/Kids \[([^\]]*)\]")
_DESTINATION = re.compile(rb"/([\w-]+) \[(\d+) 0 R /XYZ")


def page_order(data):
    """Give the numbers of the objects that are pages, in the order of the pages."""
    children = {}
    for number, is_group, text in _OBJECT.findall(data):
        kids = _KIDS.search(text) if is_group else None
        children[number] = re.findall(rb"(\d+) 0 R", kids[1]) if kids else None
    below = {kid for kids in children.values() if kids for kid in kids}

    def leaves(number):
        if children.get(number) is None:
            return [number]
        return [leaf for kid in children[number] for leaf in leaves(kid)]

    return [leaf for number in children if number not in below for leaf in leaves(number)]


def page_numbers(data):
    """Give the page on which each place stands that a link leads to."""
    order = {number: k for k, number in enumerate(page_order(data), start=1)}
    places = _DESTINATION.findall(data)
    return {name.decode(): order[number] for name, number in places if number in order}


def _numbered(text, numbers):
    """Write the page numbers into the table of contents."""

    def number(match):
        return f"{match[0]}{numbers.get(match[1], '')}"

    return re.sub(r'<span class="page" data-place="([^"]+)">', number, text)


# --- the document


def joined(site, run):
    """Join the pages of a site to one document: cover, contents, pages in the order of both."""
    front = _read(site / "index.html")
    entries = contents(front)
    addresses = {entry["address"] for entry in entries if entry["address"]}
    articles = []
    for address in dict.fromkeys(entry["address"] for entry in entries if entry["address"]):
        page = front if address == "index.html" else _read(site / address)
        articles.append(_article(page, address, addresses, site))
    body = _resolved("\n".join(articles))
    sheets = "\n".join(
        f'<link rel="stylesheet" href="{_file(site, "index.html", link["href"])}">'
        for link in front.select('link[rel~="stylesheet"][href]')
    )
    title = html.escape(_title())
    mathematics = _mathematics(site) if 'class="math' in body else ""
    return (
        '<!doctype html>\n<html lang="en" data-theme="light" data-mode="light">\n<head>\n'
        f'<meta charset="utf-8">\n<title>{title}</title>\n{sheets}\n'
        f"<style>{_STYLE.read_text(encoding='utf-8')}</style>\n{mathematics}</head>\n"
        f"<body>\n{_cover(run, site)}\n{_contents_page(entries)}\n{body}\n"
        f"<script>{_FIT}</script>\n</body>\n</html>\n"
    )


# A table that is wider than the page is made smaller as a whole.
_FIT = """
for (const region of document.querySelectorAll(".table-scroll, .pst-scrollable-table-container")) {
  const ratio = region.clientWidth / region.scrollWidth;
  if (ratio < 1) region.firstElementChild.style.zoom = ratio;
}
"""


def _read(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def contents(front):
    """Read the sidebar: entries with title, address or none (captions), and depth."""
    entries = [{"title": "Answers", "address": "index.html", "depth": 1}]
    for node in front.select("nav.bd-links p.caption, nav.bd-links li a[href]"):
        title = node.get_text(strip=True)
        if node.name == "p":
            entries.append({"title": title, "address": "", "depth": 0})
            continue
        address = node["href"]
        if not address.startswith("#") and not _LEFT_OUT.match(address):
            depth = len(node.find_parents("li"))
            entries.append({"title": title, "address": address, "depth": depth})
    # Captions below which nothing is left.
    following = [*entries[1:], {"address": ""}]
    pairs = zip(entries, following, strict=True)
    return [entry for entry, after in pairs if entry["address"] or after["address"]]


def _title():
    return str(configuration().get("title") or "Casebook")


def _cover(run, site):
    """Write the cover: title, authors, run, day, version, and what is left out."""
    notebooks = (run_dir(run) / "notebooks").glob("[!.]*.ipynb")
    day = completed([ChapterResults(run, path.stem) for path in notebooks])
    author = str(configuration().get("author") or "")
    parts = [f"Run {run}", day, f"Casebook {__version__}"]
    line = " · ".join(html.escape(part) for part in parts if part)
    return (
        f'<header class="pdf-cover"><p class="pdf-title">{html.escape(_title())}</p>'
        f"<p>{html.escape(author)}</p><p>{line}</p>"
        f'<p class="pdf-note">{html.escape(_LEFT_OUT_NOTE)}</p></header>'
    )


def _contents_page(entries):
    """Write the table of contents."""
    lines = []
    for entry in entries:
        title = html.escape(entry["title"])
        if entry["address"]:
            slug = _slug(entry["address"])
            number = f'<span class="page" data-place="{slug}"></span>'
            title = f'<a href="#{slug}">{title}</a>{number}'
        lines.append(f'<li class="depth-{entry["depth"]}">{title}</li>')
    items = "\n".join(lines)
    return (
        f'<nav class="pdf-contents"><p class="pdf-heading">Contents</p><ul>\n{items}\n</ul></nav>'
    )


def _slug(address):
    """Give the name of a page within the document."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", address.removesuffix(".html"))


def _article(page, address, addresses, site):
    """Give what is printed of a page, its names and links made those of the document."""
    article = page.select_one("article.bd-article")
    for node in article.select(_NOT_PRINTED):
        node.decompose()
    for details in article.find_all("details"):
        details["open"] = ""
    slug = _slug(address)
    for node in article.find_all(True):
        _rename(node, slug)
        for name in ("src", "data"):
            if node.has_attr(name) and not urlsplit(node[name]).scheme:
                node[name] = _file(site, address, node[name])
        for name in ("href", "xlink:href"):
            if node.has_attr(name):
                _relink(node, name, address, addresses)
    return f'<article class="bd-article" id="{slug}">{article.decode_contents()}</article>'


def _rename(node, slug):
    """Give the names of a page its prefix, wherever the page says them."""
    if node.has_attr("id"):
        node["id"] = f"{slug}--{node['id']}"
    for name in _REFERENCES:
        if node.has_attr(name):
            value = node[name]
            names = value if isinstance(value, list) else value.split()
            node[name] = " ".join(f"{slug}--{part}" for part in names)
    for name, value in node.attrs.items():
        if isinstance(value, str) and "url(#" in value:
            node[name] = _WITHIN.sub(rf"url(#{slug}--\1)", value)


def _relink(node, name, address, addresses):
    """Lead a link to its place in the document; one to a file of the site leads nowhere."""
    link = urlsplit(node[name])
    if link.scheme in ("http", "https", "mailto"):
        return
    path = posixpath.normpath(posixpath.join(posixpath.dirname(address), link.path))
    target = path if link.path else address
    if target in addresses and not link.scheme:
        slug = _slug(target)
        node[name] = f"#{slug}--{link.fragment}" if link.fragment else f"#{slug}"
    else:
        del node[name]


def _resolved(body):
    """Lead links to what is left out of a page to the page itself."""
    names = set(re.findall(r'\bid="([^"]+)"', body))

    def resolve(match):
        name = match[2]
        return match[0] if name in names else f'{match[1]}"#{name.partition("--")[0]}"'

    return re.sub(r'(<a [^>]*?href=)"#([^"]+)"', resolve, body)


def _file(site, address, reference):
    """Give the address of a file that a page loads."""
    path = urlsplit(reference).path
    return (site / posixpath.dirname(address) / path).resolve().as_uri()


def _mathematics(site):
    """Load the formulas as the pages of the site do."""
    script = (site / "_static" / "mathjax" / "tex-chtml.js").as_uri()
    classes = "tex2jax_process|mathjax_process|math|output_area"
    options = f'{{"options": {{"processHtmlClass": "{classes}"}}}}'
    return f'<script>window.MathJax = {options}</script>\n<script defer src="{script}"></script>\n'
