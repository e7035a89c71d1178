"""The site is rendered strictly, once, and says what it was made from."""

import json
import shutil

import pytest
import yaml

from casebook import paths
from casebook.book import build
from casebook.book.titles import titles
from casebook.errors import CasebookError, InputError
from casebook.files import write_text
from casebook.paths import ROOT, run_dir
from casebook.runs.headlines import Headline
from casebook.runs.outputs import RunOutputs

CELL = "retrieval_ablation-smoke"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Give a copy of the prose, to be changed; rendering it writes each page as it was staged."""
    shutil.copytree(ROOT / "book", tmp_path / "book")
    shutil.copy(ROOT / "_config.yml", tmp_path)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "OUTPUT", tmp_path)

    def rendered(stage, target):
        for page in (stage / "book").rglob("*.md"):
            write_text((target / "html" / page.relative_to(stage / "book")).with_suffix(".html"), page.read_text())
        return target / "html"

    monkeypatch.setattr(build, "rendered", rendered)
    return tmp_path


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
    shutil.copytree(ROOT / "book" / "_ext", tmp_path / "stage" / "book" / "_ext")
    shutil.copytree(ROOT / "book" / "assets", tmp_path / "stage" / "book" / "assets")
    (tmp_path / "stage" / "_config.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "stage" / "book" / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (tmp_path / "stage" / "book" / "index.md").write_text("# Front\n\n[nowhere](no/such/page.md)\n")
    with pytest.raises(CasebookError, match=r"index\.md.*no/such/page"):
        build.rendered(tmp_path / "stage", tmp_path / "work")


def test_a_run_without_notebooks_is_refused():
    with pytest.raises(InputError, match="nothing to render"):
        build.build_book("never-made")


def test_chapters_are_named_by_experiment_and_data_set_and_no_two_alike(tmp_path, monkeypatch):
    for name in (CELL, "retrieval_ablation-again", "audits-smoke"):
        source = "audits-smoke" if name.startswith("audits") else CELL
        shutil.copytree(run_dir("smoke") / "runs" / source, tmp_path / "mine" / "runs" / name)
        (tmp_path / "mine" / "notebooks").mkdir(exist_ok=True)
        cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# Retrieval\n\nText"}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / "mine" / "notebooks" / f"{name}.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    assert titles("mine", [CELL, "audits-smoke"]) == {CELL: "Retrieval: Smoke", "audits-smoke": "Retrieval"}
    assert titles("mine", [CELL, "retrieval_ablation-again"])["retrieval_ablation-again"] == "Retrieval: Smoke (again)"


def test_no_entry_of_the_sidebar_is_longer_than_four_words(tmp_path):
    cells = sorted(path.stem for path in (run_dir("smoke") / "notebooks").glob("*.ipynb"))
    build._stage("smoke", tmp_path / "stage", cells, None)
    toc = yaml.safe_load((tmp_path / "stage" / "book" / "_toc.yml").read_text())
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    entries += [below for entry in entries for below in entry.get("sections", [])]
    assert [e for e in entries if not 1 <= len(e["title"].split()) <= 4 or e["title"].endswith("…")] == []
    files = {entry["file"] for entry in entries}
    assert {f"run/notebooks/{cell}" for cell in cells} | {"documents/countercase", "grid"} <= files
    card = (tmp_path / "stage" / "book" / "generated" / "cards" / "smoke.md").read_text()
    assert f"](../../run/notebooks/{CELL}.ipynb)" in card


def test_an_experiment_on_several_data_sets_is_one_entry_with_its_answers(tmp_path, monkeypatch):
    shutil.copytree(run_dir("smoke"), tmp_path / "mine")
    for kind, ending in (("notebooks", ".ipynb"), ("runs", "")):
        copy = shutil.copytree if kind == "runs" else shutil.copy
        copy(tmp_path / "mine" / kind / f"{CELL}{ending}", tmp_path / "mine" / kind / f"retrieval_ablation-b{ending}")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    RunOutputs("mine", CELL).headlines(Headline("Helps?", "smoke", "Full", "BM25", "nDCG@10", 0.05, 0.02, 0.08, 34))
    cells = [CELL, "retrieval_ablation-b"]
    build._stage("mine", tmp_path / "stage", cells, None)
    toc = yaml.safe_load((tmp_path / "stage" / "book" / "_toc.yml").read_text())
    (entry,) = toc["parts"][0]["chapters"]
    assert [below["file"] for below in entry["sections"]] == [f"run/notebooks/{cell}" for cell in cells]
    page = (tmp_path / "stage" / "book" / f"{entry['file']}.md").read_text()
    assert "Helps?" in page and f'href="../../run/notebooks/{CELL}.html"' in page
