"""The word list: page, links and index come from one file."""

import json
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

from casebook import verdicts
from casebook.book import words
from casebook.book.levels import levels_section
from casebook.paths import ROOT
from casebook.runs.headlines import Headline

WORDS = [word for group in words.word_groups() for word in group["words"]]
PAGES = {
    path.relative_to(ROOT / "book").with_suffix("").as_posix()
    for path in (ROOT / "book").rglob("*.md")
}


def test_a_word_has_a_sentence_an_example_and_a_page_that_exists():
    wrong = []
    for word in WORDS:
        is_sentence = re.fullmatch(r"[A-Z].{20,160}\.", word["means"])
        has_end = word["example"].rstrip('"').endswith((".", "%"))
        page = word.get("more", "words.md").partition("#")[0].removesuffix(".md")
        is_drawn = ("picture" in word) == ("alt" in word)
        if not (is_sentence and has_end and page in PAGES and is_drawn):
            wrong.append(word["term"])
    assert wrong == []


def test_no_spelling_means_two_words():
    names = [name.lower() for word in WORDS for name in words.spellings(word)]
    assert sorted(names) == sorted({*names})


def test_verdicts_are_in_the_list():
    names = {name for word in WORDS for name in words.spellings(word)}
    assert set(verdicts.VERDICTS) <= names


def test_pictures_are_used_and_take_their_colours_from_the_theme():
    used = {word["picture"] for word in WORDS if "picture" in word}
    files = {path.stem: path for path in (words.FOLDER / "words").glob("*.svg")}
    assert used == set(files)
    for path in files.values():
        ElementTree.parse(path)
        assert not re.search(r"#[0-9a-f]{3,6}\b|fill=\"(?!none)|style=", path.read_text())


def test_a_picture_says_what_it_shows():
    text = words.picture("interval", 'A "bar" & a dot')
    assert ElementTree.fromstring(text).attrib["aria-label"] == 'A "bar" & a dot'


def test_page_and_links_say_the_same():
    data = json.loads(words.link_data().removeprefix("const WORDS = ").rstrip(";\n"))
    page = words.words_page()
    for word in data["words"]:
        assert f"\n{word['means']}\n" in page
    quiet = {word["term"] for word in WORDS if word.get("quiet")}
    assert quiet and not quiet & {name for word in data["words"] for name in word["spellings"]}


def test_task_words_lead_to_pages_that_exist():
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text())
    chapters = [chapter for part in toc["parts"] for chapter in part.get("chapters", [])]
    pages = {toc["root"], *(chapter["file"] for chapter in chapters)}
    for page in words.task_words():
        assert page in pages or page.startswith(("run/notebooks/", "generated/")), page


def test_a_page_has_its_task_words_and_the_list_its_terms():
    assert ("single", "GDPR", "", "main", None) in words.index_entries("data_cards")
    assert ("single", "held-out", "held-out", "main", None) in words.index_entries("words")
    assert words.index_entries("no/such/page") == []


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
