"""Sentences, words and passages of legal text."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.text import STOP_LIST, content_words, fold, passages, sentences, tokens

few = settings(max_examples=40, deadline=None)
text = st.text(st.sampled_from("abcdeé 0123456789.!?,;()[]'’\"“”—\n\u00a0§₹"), max_size=120)


@pytest.mark.parametrize(
    ("passage", "count"),
    [
        ("Donoghue v. Stevenson is good law. It is.", 2),
        ("He paid Rs. 500 under Sec. 302 of the I.P.C. the same day.", 1),
        ("Hon'ble Mr. J. S. Khehar agreed with Ors. and Anr. on Art. 21.", 1),
        ("See [2019] UKSC 41, at [50]. It followed [2018] AC 61 at para. 42.", 2),
        ("The answer is no. The court agreed.", 2),
        ("Cr.P.C. s. 482 applies vs. the State.", 1),
        ("First paragraph\n\nSecond paragraph", 2),
        ("Kesavananda Bharati v. State of Kerala, (1973) 4 SCC 225 is cited.", 1),
        ("", 0),
        (" \n\n ", 0),
    ],
)
def test_legal_abbreviations_end_no_sentence(passage, count):
    assert len(sentences(passage)) == count


@few
@given(text)
def test_sentences_lose_no_character_but_space(passage):
    spans = sentences(passage)
    assert all(a < b for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in pairwise(spans))
    covered = {i for a, b in spans for i in range(a, b)}
    left = [c for i, c in enumerate(passage) if i not in covered and c.isalnum()]
    assert left == []
    assert len(fold(passage)) == len(passage)


def test_tokens_of_legal_text():
    found = tokens("Section 26C(3)(a), Rs. 1,50,000, 3.5% of the PM’s 302-IPC [2019]")
    assert found == (
        "section",
        "26c(3)(a)",
        "rs",
        "150000",
        "3.5",
        "of",
        "the",
        "pm",
        "302",
        "ipc",
        "2019",
    )
    assert "not" in STOP_LIST and "7" in content_words("the 7 x")
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
