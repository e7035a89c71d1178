"""The word list: page, links and index come from one file."""

import json
import re
from types import SimpleNamespace

import pytest

from casebook import verdicts
from casebook.book import words
from casebook.book.levels import levels_section
from casebook.runs.headlines import Headline

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


FULL = Headline(
    "Is it better?",
    dataset="mine",
    system="New & better",
    against="BM25, chosen before",
    measure="nDCG@10",
    value=0.13,
    low=0.05,
    high=0.21,
    n=40,
    level=0.83,
    baseline=0.7,
    chance=-0.66,
    decision="better",
)


def levels_of(headline):
    chapter = SimpleNamespace(cell="cell-1", headlines=[headline])
    return levels_section("mine", [chapter])


def test_a_level_stands_beside_control_and_baseline():
    text = levels_of(FULL)
    cells = re.findall(r'<data value="([^"]+)"|<td[^>]*>([\d.]+)</td>', text)
    assert {"0.04", "0.70", "0.83"} <= {value or plain for value, plain in cells}
    assert "better: +0.13 [+0.05, +0.21]" in text and "n = 40" in text
    assert "New &amp; better" in text and 'href="run/notebooks/cell-1.html"' in text


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.05, 0.21, "better"), (-0.1, 0.3, "undecided")]
)
def test_without_a_contrast_the_interval_gives_the_verdict(low, high, verdict):
    headline = Headline(**{**vars(FULL), "decision": None, "low": low, "high": high})
    assert f"{verdict}: +0.13 [" in levels_of(headline)


_INCOMPLETE = [
    {"level": None},
    {"chance": None},
    {"level": 3.4},
    {"decision": verdicts.NOT_MEASURED},
]


@pytest.mark.parametrize("change", _INCOMPLETE)
def test_what_has_no_control_no_best_score_or_no_result_is_not_shown(change):
    headline = Headline(**{**vars(FULL), **change})
    text = levels_of(headline)
    assert "best possible" in text and "<table" not in text
