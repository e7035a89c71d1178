"""The word list: page, links and index come from one file."""

import json

from casebook import verdicts
from casebook.book import words

WORDS = [word for group in words.word_groups() for word in group["words"]]


def test_no_spelling_means_two_words():
    names = [name.lower() for word in WORDS for name in words.spellings(word)]
    assert sorted(names) == sorted({*names})


def test_verdicts_are_in_the_list():
    names = {name for word in WORDS for name in words.spellings(word)}
    assert set(verdicts.EFFECTS) <= names


def test_page_and_links_say_the_same():
    data = json.loads(words.link_data().removeprefix("const WORDS = ").rstrip(";\n"))
    page = words.words_page()
    for word in data["words"]:
        assert f"\n{word['means']}\n" in page
    quiet = {word["term"] for word in WORDS if word.get("quiet")}
    assert quiet and not quiet & {name for word in data["words"] for name in word["spellings"]}
