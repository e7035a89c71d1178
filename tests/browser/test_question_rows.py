"""Rows of the front page with several cases: on a phone, by touch and keyboard, under axe."""

import re
import shutil

import pytest
from tabs import SIZES
from test_accessibility import AXE
from toy_records import seal

from casebook import paths
from casebook.book.answers import answers
from casebook.book.results import read_chapters
from casebook.paths import run_dir
from casebook.runs.headlines import Headline
from casebook.runs.outputs import RunOutputs

CELL = "retrieval_ablation-smoke"
N_CASES = 8


@pytest.fixture(scope="module")
def page_of_rows(site, tmp_path_factory):
    """Give the address of a front page with a row of eight cases, and one that is not measured."""
    run = tmp_path_factory.mktemp("results") / "mine"
    shutil.copytree(run_dir("smoke"), run)
    common = {"system": "Full pipeline", "against": "BM25", "n": 34}
    common |= {"measure": "nDCG@10", "margin": 0.01, "level": 0.8, "baseline": 0.75}
    meaning = "A right document comes first for 77 % of the questions; BM25, 65 %."
    cases = [
        Headline(
            f"Question {k}?",
            f"set {k}",
            value=0.02 * k - 0.06,
            low=0.02 * k - 0.09,
            high=0.02 * k - 0.03,
            topic="shift",
            label=f"learned shift of a long name, scale {k}",
            meaning=meaning,
            **common,
        )
        for k in range(N_CASES)
    ]
    unmeasured = Headline("Is it fast?", "smoke", value=None, reason="no times were kept", **common)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "RESULTS", run.parent)
        RunOutputs("mine", CELL).headlines(*cases, unmeasured)
        seal(run)
        rows = answers(read_chapters("mine", [CELL]))
    page = (site / "index.html").read_text(encoding="utf-8")
    page = page.replace("<head>", f'<head><base href="{site.as_uri()}/">', 1)
    rows_of_page = re.compile(
        r'<p class="about">.*</li>\s*</ul>(?=\s*(<p class="further"|</))', re.DOTALL
    )
    assert rows_of_page.search(page)
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(rows_of_page.sub(lambda _: rows, page), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("size", SIZES)
def test_rows_of_many_cases_are_accessible_and_fit(page_of_rows, tab, axe, size):
    tab.open(page_of_rows, size=size)
    assert tab.page.locator("li.question-row").count() == 2
    assert tab.page.locator("a.case").count() == N_CASES + 1
    assert tab.faults_of_layout() == []
    heights = tab.page.evaluate(
        "[...document.querySelectorAll('li.question-row')].map((e) => e.offsetHeight)"
    )
    assert heights[0] < 150 and heights[1] < SIZES[size]["height"] / 2
    tab.page.evaluate(axe)
    rules = ["color-contrast", "link-name", "list", "aria-allowed-attr", "nested-interactive"]
    rules += ["target-size"] if size == "phone" else []
    assert tab.page.evaluate(AXE, {"runOnly": rules}) == {}


def test_every_dot_is_reached_by_keyboard_and_says_its_numbers(page_of_rows, tab):
    tab.open(page_of_rows, size="phone")
    dots = tab.page.locator(".question-row", has_text="learned shift").locator("a.case")
    dots.first.focus()
    for k in range(N_CASES):
        name = tab.page.evaluate("document.activeElement.ariaLabel")
        assert f"scale {k}: " in name and "0.800 against 0.750 (34 questions)" in name
        tab.page.keyboard.press("Tab")
    words = tab.page.locator("a.case .verdict").all_inner_texts()
    assert words.count("hurts") == 2 and "cannot be measured" in words
