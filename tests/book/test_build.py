"""The site is rendered strictly, once, and says what it was made from."""

import json
import shutil

import pandas as pd
import pytest

from casebook.book import build, pages
from casebook.book.pages import claims_table, scorecard
from casebook.errors import CasebookError, InputError
from casebook.paths import ROOT, run_dir
from casebook.runs.outputs import headlines

CELL = "retrieval_ablation-smoke"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Give a copy of the prose, to be broken."""
    shutil.copytree(ROOT / "book", tmp_path / "book")
    shutil.copy(ROOT / "_config.yml", tmp_path)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "OUTPUT", tmp_path)
    return tmp_path


def sources(path):
    return [cell["source"] for cell in json.loads(path.read_text())["cells"]]


@pytest.mark.slow
def test_an_unchanged_run_is_rendered_once_and_a_changed_page_again(project):
    index = build.build_book("smoke")
    first = index.stat().st_mtime_ns
    download = index.parent / "_sources" / "run" / "notebooks" / f"{CELL}.ipynb"
    executed = run_dir("smoke") / "notebooks" / f"{CELL}.ipynb"
    assert sources(download) == sources(executed)
    assert build.build_book("smoke").stat().st_mtime_ns == first
    page = project / "book" / "index.md"
    page.write_text(page.read_text() + "\nOne more sentence.\n")
    assert build.build_book("smoke").stat().st_mtime_ns > first
    assert "One more sentence." in index.read_text()


@pytest.mark.slow
def test_a_warning_fails_the_build_and_names_the_page(project):
    page = project / "book" / "index.md"
    page.write_text(page.read_text() + "\n[nowhere](no/such/page.md)\n")
    with pytest.raises(CasebookError, match=r"index\.md.*no/such/page"):
        build.build_book("smoke")
    assert not (project / "_build" / "smoke" / "html").exists()


def test_a_run_without_notebooks_is_refused():
    with pytest.raises(InputError, match="nothing to render"):
        build.build_book("never-made")


def test_scorecard_quotes_numbers_json_with_interval_n_and_control():
    numbers = json.loads((run_dir("smoke") / "numbers.json").read_text())
    number = numbers["retrieval_ablation"]["smoke"]["full"]["nDCG@10"]
    markup = scorecard("smoke", {CELL: "A chapter"})
    low, high = number["ci"]
    for text in (f"{number['value']:.3f}", f"[{low:.3f}, {high:.3f}]", "A chapter"):
        assert text in markup
    assert f">{number['control']:.3f}</td>" in markup
    assert f">{number['n']}</td>" in markup


def test_the_run_comparison_holds_every_row_of_the_scorecard():
    """It runs after all other cells of its run, so that none of them is missing."""
    names = ["experiment", "dataset", "system", "measure"]
    path = run_dir("smoke") / "tables" / "run_comparison-smoke.headlines.csv"
    table = pd.read_csv(path).set_index(names).sort_index()
    cells = sorted(path.stem for path in run_dir("smoke").glob("notebooks/*.ipynb"))
    stated = {
        tuple(row): [number["value"], *number["ci"], number["n"], number["control"]]
        for cell in cells
        for *row, number in headlines("smoke", cell)
    }
    assert set(table.index) == set(stated)
    for row, values in table.iterrows():
        assert values.tolist() == pytest.approx([float("nan") if v is None else v for v in stated[row]], nan_ok=True)
    markup = scorecard("smoke", {cell: cell for cell in cells})
    assert markup.count("<tr") == 1 + len(table)


def test_a_run_without_headline_says_so():
    assert "yet" in scorecard("never-made", {"cell": "Title"})


def test_chapters_are_named_by_experiment_and_dataset():
    title = "Retrieval ablation: Smoke, contract and insurance clauses"
    assert pages.chapters("smoke", [CELL]) == {CELL: title}


def test_claims_quote_the_run_and_say_what_it_does_not_hold(tmp_path):
    path = tmp_path / "claims.yml"
    claim = {
        "system": "S",
        "stated": "better",
        "value": ".9",
        "measured": ["retrieval_ablation", ["none", "smoke"], "full", "nDCG@10"],
        "name": "the score",
        "finding": "<b>",
    }
    lost = claim | {"measured": ["retrieval_ablation", ["none"], "full", "nDCG@10"]}
    path.write_text(json.dumps([claim, lost]))
    markup = claims_table("smoke", path)
    numbers = json.loads((run_dir("smoke") / "numbers.json").read_text())
    number = numbers["retrieval_ablation"]["smoke"]["full"]["nDCG@10"]
    assert f"{number['value']:.3f}" in markup and "not in this run" in markup
    assert f"n = {number['n']}" in markup and "<b>" not in markup
    path.write_text('[{"system": "S"}]')
    with pytest.raises(InputError, match="claim 1: give"):
        claims_table("smoke", path)
