"""Passages, long queries and long documents: nothing is cut in silence, nothing costs hours."""

import re
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from casebook.errors import InputError
from casebook.retrieval.index import CorpusIndex, chunk_documents

texts = st.lists(st.text(st.sampled_from("ab.é \n\t"), max_size=60), min_size=0, max_size=4)


settings = st.tuples(st.integers(1, 6), st.integers(0, 5)).filter(lambda s: s[1] < s[0])


def letters(text):
    """Count the characters that are no white space."""
    return len(re.sub(r"\s", "", text))


def letter_reader(most, count=letters):
    """Stand in for an encoder of so many tokens, by default each a letter."""
    return SimpleNamespace(
        max_tokens=most, count_tokens=lambda texts: [count(text) for text in texts]
    )


@given(texts, settings, st.none() | st.integers(1, 9))
def test_spans_are_exact_ordered_and_cover_everything(texts, words, limit):
    chunks = chunk_documents(texts, words[0], words[1], letter_reader(limit) if limit else None)
    assert sorted(set(chunks.owner.tolist())) == list(range(len(texts)))
    assert (np.diff(chunks.owner) >= 0).all()
    covered = [np.zeros(len(text), dtype=bool) for text in texts]
    for text, owner, start, end in zip(
        chunks.texts, chunks.owner, chunks.start, chunks.end, strict=True
    ):
        assert text == texts[owner][start:end]
        assert len(text.split()) <= words[0]
        assert limit is None or letters(text) <= limit
        covered[owner][start:end] = True
    for text, seen in zip(texts, covered, strict=True):
        assert seen[[not letter.isspace() for letter in text]].all()
    same = np.diff(chunks.owner) == 0
    assert (np.diff(chunks.start)[same] > 0).all()
    assert (np.diff(chunks.end)[same] > 0).all()


def test_a_long_document_keeps_its_central_passages(hashing):
    about = "the lessee repudiated the tenancy agreement"
    texts = [
        " ".join(
            [*(f"aside{n}" for n in range(60)), *[about] * 4, *(f"end{n}" for n in range(60))]
        ),
        "short text",
    ]
    index = CorpusIndex(pd.DataFrame({"doc_id": ["a", "b"], "text": texts}), hashing)
    kept = index.passages((10, 0, 3)).chunks
    assert np.bincount(kept.owner).tolist() == [3, 1]
    assert any("tenancy agreement" in text for text in kept.texts)
    assert len(index.passages((10, 0, None))) > len(kept.texts)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"text": ["a"]}, "lack the column 'doc_id'"),
        ({"doc_id": [], "text": []}, "at least one document"),
        ({"doc_id": ["a", "a"], "text": ["x", "y"]}, "'a' occurs twice"),
        ({"doc_id": ["a"], "text": [None]}, "document 'a' has no text"),
    ],
)
def test_bad_collections_are_one_clear_line(frame, message):
    with pytest.raises(InputError, match=message):
        CorpusIndex(pd.DataFrame(frame))
