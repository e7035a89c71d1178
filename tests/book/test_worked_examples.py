"""The worked examples of the methods pages say what the library computes."""

import doctest
import re

import pytest

from casebook.paths import ROOT

PAGES = {page.stem: page for page in sorted((ROOT / "book/methods").glob("*.md"))}
PAGES |= {"run_registry": ROOT / "docs" / "run_registry.md", "measures": ROOT / "book" / "words.md"}
# What the examples of a page must call or name: every measure of ranking, and what documents state.


def text_of(page):
    """Read a page; a fence ends what an example prints, as an empty line does."""
    return re.sub(r"(?m)^```.*$", "", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_examples_print_what_the_page_says(name):
    page = PAGES[name]
    parsed = doctest.DocTestParser().get_doctest(text_of(page), {}, name, str(page), 0)
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed)
    assert not failed, f"{failed} examples of {name}.md print something else, see above"
