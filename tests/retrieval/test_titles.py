"""Titles belong to the text that every stage reads, and can be left out."""

import pytest
from beir_folders import write_beir

from casebook.data import load
from casebook.retrieval.pipeline import HybridRetriever

WORDS = ["flood", "theft", "storm", "delay", "cancel", "refund", "court", "arbiter"]


@pytest.fixture
def titled(tmp_path):
    """Give a BEIR folder in which the words of a query stand in a title alone."""
    texts = [
        {"_id": f"d{n}", "title": word, "text": f"common words about clause {n}"}
        for n, word in enumerate(WORDS)
    ]
    queries = [{"_id": f"q{n}", "text": word} for n, word in enumerate(WORDS)]
    judged = {"test": [(f"q{n}", f"d{n}", 1) for n in range(len(WORDS))]}
    return write_beir(tmp_path / "titled", texts, queries, judged)


@pytest.mark.parametrize("mode", ["bm25", "dense", "dense_chunked", "full"])
def test_words_of_titles_are_found_by_every_list(titled, hashing, mode):
    retriever = HybridRetriever(load(titled).documents, hashing, mode=mode)
    first = [retriever.retrieve(query)[0] for query in WORDS]
    assert [hit.doc_id for hit in first] == [f"d{n}" for n in range(len(WORDS))]
    assert [hit.text.split()[0] for hit in first] == WORDS
