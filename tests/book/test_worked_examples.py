"""Worked examples say what the library computes; the word list comes from one file."""

import doctest
import json
import re

import pytest

from casebook import verdicts
from casebook.book import words
from casebook.paths import ROOT

WORDS = [word for group in words.word_groups() for word in group["words"]]


def test_no_spelling_means_two_words():
    names = [name.lower() for word in WORDS for name in words.spellings(word)]
    assert sorted(names) == sorted({*names})


def test_verdicts_are_in_the_list():
    assert set(verdicts.EFFECTS) <= {name for word in WORDS for name in words.spellings(word)}


def test_page_and_links_say_the_same():
    data = json.loads(words.link_data().removeprefix("const WORDS = ").rstrip(";\n"))
    page = words.words_page()
    for word in data["words"]:
        assert f"\n{word['means']}\n" in page
    quiet = {word["term"] for word in WORDS if word.get("quiet")}
    assert quiet and not quiet & {name for word in data["words"] for name in word["spellings"]}


PAGES = {page.stem: page for page in sorted((ROOT / "book/methods").glob("*.md"))}
PAGES |= {"run_registry": ROOT / "docs" / "run_registry.md", "measures": ROOT / "book" / "words.md"}


def text_of(page):
    """Read a page; a fence ends what an example prints, as an empty line does."""
    return re.sub(r"(?m)^```.*$", "", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_examples_print_what_the_page_says(name):
    page = PAGES[name]
    parsed = doctest.DocTestParser().get_doctest(text_of(page), {}, name, str(page), 0)
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed)
    assert not failed, f"{failed} examples of {name}.md print something else, see above"
