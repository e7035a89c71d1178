"""The site is rendered strictly, once, says what it was made from, and no link is lost."""

import re
import shutil
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from quick_book import copy_book
from toy_records import seal

from casebook.book import build
from casebook.book.results import read_chapters
from casebook.errors import CasebookError
from casebook.paths import ROOT
from casebook.runs.headlines import Headline
from casebook.runs.outputs import RunOutputs

CELL = "retrieval_ablation-smoke"


@pytest.fixture
def project(tmp_path, monkeypatch):
    return copy_book(tmp_path, monkeypatch)


def test_an_unchanged_run_is_rendered_once_and_a_changed_page_again(project):
    index = build.build_book("smoke")
    first = index.stat().st_mtime_ns
    assert build.build_book("smoke").stat().st_mtime_ns == first
    page = project / "book" / "index.md"
    page.write_text(page.read_text() + "\nOne more sentence.\n")
    assert build.build_book("smoke").stat().st_mtime_ns > first
    assert "One more sentence." in index.read_text()
    assert not list(index.parents[1].glob("work-*"))


@pytest.mark.slow
def test_a_warning_fails_the_build_and_names_the_page(tmp_path):
    (tmp_path / "stage" / "book").mkdir(parents=True)
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    del config["bibtex_bibfiles"]
    config["sphinx"]["config"]["extensions"].remove("sphinxcontrib.bibtex")
    shutil.copytree(ROOT / "book" / "assets", tmp_path / "stage" / "book" / "assets")
    (tmp_path / "stage" / "_config.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "stage" / "book" / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (tmp_path / "stage" / "book" / "index.md").write_text("# Front\n\n[nowhere](no/such/page.md)\n")
    with pytest.raises(CasebookError, match=r"index\.md.*no/such/page"):
        build.rendered(tmp_path / "stage", tmp_path / "work")
    (tmp_path / "stage" / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nparts: 3\n"
    )
    with pytest.raises(CasebookError, match="'parts' not a non-empty list"):
        build.rendered(tmp_path / "stage", tmp_path / "work")


def test_links_of_a_notebook_lead_to_the_pages_of_the_book(tmp_path):
    path = tmp_path / "run" / "notebooks" / "a.ipynb"
    path.parent.mkdir(parents=True)
    text = "[words](../book/words.md) and [no page](../book/no.md)"
    cells = [nbformat.v4.new_markdown_cell(text)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    build._unlink_absent_pages(tmp_path, {"root": "words"})
    assert nbformat.read(path, 4).cells[0].source == "[words](../../words.md) and no page"


def test_an_experiment_on_several_data_sets_is_one_entry_of_the_sidebar(tmp_path, mine):
    cells = [CELL, "retrieval_ablation-b", "retrieval_ablation-c"]
    for cell in cells[1:]:
        for kind, ending in (("notebooks", ".ipynb"), ("runs", "")):
            copy = shutil.copytree if kind == "runs" else shutil.copy
            copy(mine / kind / f"{CELL}{ending}", mine / kind / f"{cell}{ending}")
    for cell, dataset in ((CELL, "smoke"), (cells[2], "consumer_contracts_qa")):
        RunOutputs("mine", cell).headlines(
            Headline("Helps?", dataset, "Full", "BM25", "nDCG@10", 0.05, 0.02, 0.08, 34)
        )
    seal(mine)
    build._stage("mine", tmp_path / "stage", read_chapters("mine", cells))
    toc = yaml.safe_load((tmp_path / "stage" / "book" / "_toc.yml").read_text())
    leaderboard, items, entry = toc["parts"][0]["chapters"]
    assert leaderboard["file"] == "generated/leaderboard"
    chapter = (tmp_path / "stage" / "book" / f"run/notebooks/{CELL}.ipynb").read_text()
    assert f"generated/leaderboard.html#data={CELL}" in chapter
    assert items["file"] == "generated/items"
    assert (entry["file"], entry["title"]) == (f"run/notebooks/{CELL}", "Does the pipeline help?")
    # Two on one data set are named by their configurations too, the third by its data set.
    assert {below["file"]: below["title"] for below in entry["sections"]} == {
        "run/notebooks/retrieval_ablation-b": "Smoke (b)",
        "run/notebooks/retrieval_ablation-c": "ConsumerContractsQA",
    }


def test_no_link_leads_nowhere(site):
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


def test_a_folded_section_is_closed_below_its_heading(site):
    chapter = site / "run" / "notebooks" / "factcheck_confusion-smoke.html"
    page = BeautifulSoup(chapter.read_text(encoding="utf-8"), "html.parser")
    fold = page.select_one("section#two-classes > details.folded")
    assert fold.summary.h2 and not fold.has_attr("open")
    assert fold.select("table") and not page.select("section#answer details.folded")
    assert "<math" in (site / "methods" / "embedding_shift.html").read_text(encoding="utf-8")
