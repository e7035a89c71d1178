"""What the site leaves out is what no page needs."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from casebook.book.build import build_book, finish
from casebook.book.results import read_chapters
from casebook.paths import run_dir
from casebook.runs.outputs import require_report

CELL = "query_length-smoke.ipynb"
HEAD = (
    '<script defer src="_static/scripts/fontawesome.js?digest=1"></script>\n'
    '<script defer="defer" src="_static/mathjax/tex-chtml.js"></script>'
    '<script defer="defer" src="_static/tables.js"></script>'
)


def test_scripts_stay_where_a_page_needs_them_and_downloads_need_no_drawings(tmp_path):
    (tmp_path / "_static" / "mathjax").mkdir(parents=True)
    for name in ("tex-chtml.js", "tex-chtml-full.js", "tex-svg.js", "core.js"):
        (tmp_path / "_static" / "mathjax" / name).touch()
    (tmp_path / "plain.html").write_text(HEAD + '<p class="tex2jax_ignore">')
    (tmp_path / "formula.html").write_text(HEAD + '<span class="math notranslate">')
    (tmp_path / "_sources" / "run" / "notebooks").mkdir(parents=True)
    for notebook in (run_dir("smoke") / "notebooks").glob("*.ipynb"):
        (tmp_path / "_sources" / "run" / "notebooks" / notebook.name).touch()
    chapters = read_chapters("smoke")
    finish("smoke", chapters, require_report("smoke"), tmp_path)
    plain, formula = ((tmp_path / f"{n}.html").read_text() for n in ("plain", "formula"))
    assert "fontawesome" not in plain + formula
    assert "mathjax" not in plain and "mathjax" in formula
    assert "tables.js" in plain and "tables.js" in formula
    assert [path.name for path in (tmp_path / "_static" / "mathjax").iterdir()] == ["tex-chtml.js"]
    assert (tmp_path / "figures").is_dir() and (tmp_path / "numbers.json").is_file()
    executed = json.loads((run_dir("smoke") / "notebooks" / CELL).read_text())
    kept = json.loads((tmp_path / "_sources" / "run" / "notebooks" / CELL).read_text())
    assert [cell["source"] for cell in kept["cells"]] == [
        cell["source"] for cell in executed["cells"]
    ]
    assert "<svg" not in json.dumps(kept) and "data-table" in json.dumps(kept)


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
