import itertools
import re

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from casebook.errors import InputError
from casebook.retrieval.index import chunk_documents

texts = st.lists(st.text(st.sampled_from("ab.é \n\t"), max_size=60), min_size=0, max_size=4)
settings = st.tuples(st.integers(1, 6), st.integers(0, 5)).filter(lambda s: s[1] < s[0])


def letters(text):
    """Stand in for a tokeniser: every character but white space is a token."""
    return len(re.sub(r"\s", "", text))


def sentence_ends(text):
    return [match.end() for match in re.finditer(r"\.", text)]


@given(texts, settings, st.none() | st.integers(1, 9), st.booleans())
def test_spans_are_exact_ordered_and_cover_everything(texts, words, limit, sentences):
    chunks = chunk_documents(
        texts,
        max_words=words[0],
        overlap=words[1],
        token_counter=letters if limit else None,
        max_tokens=limit,
        sentence_ends=sentence_ends if sentences else None,
    )
    assert sorted(set(chunks.owner.tolist())) == list(range(len(texts)))
    assert (np.diff(chunks.owner) >= 0).all()
    covered = [np.zeros(len(text), dtype=bool) for text in texts]
    for text, owner, start, end in zip(chunks.texts, chunks.owner, chunks.start, chunks.end, strict=True):
        assert text == texts[owner][start:end]
        assert len(text.split()) <= words[0]
        assert limit is None or letters(text) <= limit
        covered[owner][start:end] = True
    for text, seen in zip(texts, covered, strict=True):
        assert seen[[not letter.isspace() for letter in text]].all()
    same = np.diff(chunks.owner) == 0
    assert (np.diff(chunks.start)[same] > 0).all()
    assert (np.diff(chunks.end)[same] > 0).all()


@given(st.integers(0, 60), settings)
def test_windows_are_full_and_overlap_as_asked(n_words, words):
    text = " ".join(f"w{number}" for number in range(n_words))
    chunks = chunk_documents([text], max_words=words[0], overlap=words[1])
    split = [chunk.split() for chunk in chunks.texts]
    assert all(len(chunk) == words[0] for chunk in split[:-1])
    for before, after in itertools.pairwise(split):
        assert before[len(before) - words[1] :] == after[: words[1]]
        assert after[words[1] :]


def test_chunks_end_with_a_sentence_where_one_ends_in_the_second_half():
    text = "one. two three four. five six seven eight nine ten"
    chunks = chunk_documents([text], max_words=5, overlap=0, sentence_ends=sentence_ends)
    assert chunks.texts == ["one. two three four.", "five six seven eight nine", "ten"]


def test_a_word_longer_than_the_limit_is_cut():
    chunks = chunk_documents(["ab " + "_" * 10], max_words=5, overlap=0, token_counter=letters, max_tokens=4)
    assert "".join(chunks.texts) == "ab" + "_" * 10
    assert max(map(letters, chunks.texts)) <= 4


def test_documents_without_words_stay_in_the_collection():
    chunks = chunk_documents(["", " \n", "word"])
    assert chunks.texts == ["", " \n", "word"]
    assert chunks.owner.tolist() == [0, 1, 2]
    assert len(chunk_documents([])) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_words": 0}, "max_words >= 1"),
        ({"max_words": 5, "overlap": 5}, "overlap < max_words"),
        ({"max_tokens": 5}, "both token_counter and max_tokens"),
        ({"token_counter": lambda text: 9, "max_tokens": 5}, "one character exceeds"),
    ],
)
def test_wrong_settings_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        chunk_documents(["some words"], **arguments)


def test_the_range_of_both_settings():
    words = "a b c"
    assert chunk_documents([words], max_words=1, overlap=0).texts == ["a", "b", "c"]
    assert chunk_documents([words], max_words=2, overlap=1).texts == ["a b", "b c"]
    for max_words, overlap in ((0, 0), (2, 2), (2, -1)):
        with pytest.raises(InputError, match="0 <= overlap < max_words"):
            chunk_documents([words], max_words=max_words, overlap=overlap)


def test_a_chunk_of_exactly_the_limit_fits():
    limit = {"token_counter": letters, "max_tokens": 4, "max_words": 9, "overlap": 0}
    assert chunk_documents(["aa bb cc"], **limit).texts == ["aa bb", "cc"]
    assert chunk_documents(["aa bbb"], **limit).texts == ["aa", "bbb"]
    # A word of two characters can be halved, one character cannot.
    least = limit | {"max_tokens": 1}
    assert chunk_documents(["ab"], **least).texts == ["a", "b"]
    with pytest.raises(InputError, match="one character exceeds"):
        chunk_documents(["a"], **limit | {"token_counter": lambda text: 5})


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a b c. d e f g h", "a b c. d e f"),  # ends in the first half: no break
        ("a b c d. e f g h", "a b c d."),
        ("a b c d. e. f g h", "a b c d. e."),  # the last of two
        ("a b c d e f. g h", "a b c d e f."),
    ],
)
def test_the_second_half_begins_after_the_middle_word(text, first):
    chunks = chunk_documents([text], max_words=6, overlap=0, sentence_ends=sentence_ends)
    assert chunks.texts[0] == first
    assert " ".join(chunks.texts) == text


def test_a_chunk_cut_short_shares_proportionally_less():
    text = "a b c d. e f g h i j k"
    chunks = chunk_documents([text], max_words=6, overlap=3, sentence_ends=sentence_ends)
    # Four of six words: two of the three shared ones.
    assert chunks.texts[:2] == ["a b c d.", "c d. e f g h"]
