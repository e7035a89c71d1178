"""Sections tagged ``folded``, as Sphinx renders them: no script is needed to open one."""

import subprocess
import sys

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

FOLDED = {"tags": ["folded"]}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Give the page of a notebook, built with the extensions of the book."""
    folder = tmp_path_factory.mktemp("source")
    shown = new_output("execute_result", {"text/html": "<b>shown</b>"}, execution_count=1)
    cells = [
        new_markdown_cell("# Chapter"),
        new_markdown_cell("## Answer\n\nVisible words."),
        new_code_cell("answer()", outputs=[shown], metadata={"tags": ["hide-input"]}),
        new_markdown_cell("## Other *pairs*\n\nFolded words.\n\n### Below it", metadata=FOLDED),
        new_markdown_cell("Deeper words."),
        new_markdown_cell("## Heading alone", metadata=FOLDED),
        new_markdown_cell("## After\n\nWords after it."),
    ]
    language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    nbformat.write(new_notebook(cells=cells, metadata=language), folder / "index.ipynb")
    (folder / "conf.py").write_text(
        'extensions = ["myst_nb", "casebook.book.theme"]\nnb_execution_mode = "off"\n'
        'html_sidebars = {"**": ["localtoc.html"]}\n'
    )
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", folder, folder / "html"]
    subprocess.run(command, check=True)
    return BeautifulSoup(
        (folder / "html" / "index.html").read_text(encoding="utf-8"), "html.parser"
    )


def test_a_tagged_section_is_a_closed_disclosure_under_its_heading(page):
    folds = page.select("details.folded")
    assert [fold.summary.h2.find(string=True) for fold in folds] == ["Other ", "Heading alone"]
    first = folds[0]
    assert not first.has_attr("open")
    assert first.parent["id"] == "other-pairs"
    assert "Folded words." in first.text and "Deeper words." in first.text
    assert first.select_one("section#below-it h3")
    outside = page.select_one("section#answer").text + page.select_one("section#after").text
    assert "Visible words." in outside and "Words after it." in outside
    assert not page.select("section#after details.folded, section#answer details.folded")
