"""Sentences, words and passages of legal text."""

import hashlib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import casebook.text
from casebook.readers import read_yaml
from casebook.text import (
    STOP_LIST,
    content_words,
    passages,
    sentence_texts,
    token_spans,
    tokens,
)

few = settings(max_examples=40, deadline=None)
text = st.text(st.sampled_from("abcdeé 0123456789.!?,;()[]'’\"“”—\n\u00a0§₹"), max_size=120)


def test_sentences_end_where_a_reader_would_end_them():
    wanted = [
        "Donoghue v. Stevenson is good law.|It is.",
        "He paid Rs. 500 under Sec. 302 of the I.P.C. the same day.",
        "Hon'ble Mr. J. S. Khehar agreed with Ors. and Anr. on Art. 21.",
        "See [2019] UKSC 41, at [50].|It followed [2018] AC 61 at para. 42.",
        "The answer is no.|The court agreed.",
        "Cr.P.C. s. 482 applies vs. the State.",
        "Kesavananda Bharati v. State of Kerala, (1973) 4 SCC 225 is cited.",
        "Cl. 4 applies at 8 a.m. on Mondays.|It costs 2.5 euros.|Done.",
    ]
    texts = [wish.replace("|", " ") for wish in wanted]
    assert ["|".join(sentence_texts(passage)) for passage in texts] == wanted
    of_lines = {
        "First paragraph\n\nsecond paragraph": ["First paragraph", "second paragraph"],
        "The term is\nfive years under Art.\n21.\nIt ends": [
            "The term is\nfive years under Art.\n21.",
            "It ends",
        ],
        "Covered:\n- Fire\n- Hail": ["Covered:", "- Fire", "- Hail"],
        "这是法律。它有效。": ["这是法律。", "它有效。"],
        "": [],
        " \n\n ": [],
    }
    assert {passage: sentence_texts(passage) for passage in of_lines} == of_lines


def test_tokens_of_legal_text():
    wanted = {
        "Section 26C(3)(a), Rs. 1,50,000": "section 26c(3)(a) rs 150000",
        "3.5% of the PM’s 302-IPC [2019]": "3.5 of the pm 302 ipc 2019",
        "on 1.2.2020, the 20th: §7 isn't a_b": "on 1.2.2020 the 20th 7 isn't a b",
        "法律 of Écija": "法 律 of écija",
    }
    assert {passage: " ".join(tokens(passage)) for passage in wanted} == wanted
    places = [(start, end) for _, start, end in token_spans("The PM’s 1,000.")]
    assert places == [(0, 3), (4, 8), (9, 14)]


def test_word_lists_are_those_that_published_numbers_rest_on():
    # one stop word or abbreviation more or less changes every chapter on texts
    lists = read_yaml(Path(casebook.text.__file__).with_name("text.yml"))
    words = [" ".join(sorted(lists[name].split())) for name in sorted(lists)]
    digest = hashlib.sha256("|".join(words).encode()).hexdigest()
    assert (len(STOP_LIST), digest[:16]) == (150, "423e9a4629bd09c7")
    assert content_words("the 7 x of Law") == {"7", "law"}
    assert content_words("the x of it") == frozenset()


@few
@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=40), st.integers(1, 9))
def test_passages_are_bounded_and_overlap_by_half(words, most):
    whole = " ".join(words)
    found = passages(whole, most)
    assert all(len(p.split()) <= most for p in found)
    assert set(whole.split()) == {w for p in found for w in p.split()}
    half = max(1, most // 2)
    for start in range(len(words) - half + 1):
        assert any(" ".join(words[start : start + half]) in p for p in found)
    assert len(passages(whole, None)) == bool(words)
