"""Small datasets with known defects, cards for them, and a cache of their own."""

import pytest
from beir_folders import write_beir
from toy_card import toy_card

from casebook.data import cards


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Give an empty cache, and no mirror."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CASEBOOK_CACHE", str(folder))
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    return folder / "datasets"


@pytest.fixture
def make_card():
    """Give a function that writes a card for files of known content."""

    def make(contents, sources, **changes):
        return cards.Card.model_validate(toy_card(contents, sources, **changes))

    return make


@pytest.fixture
def toy(tmp_path):
    """Give a sound BEIR folder of three documents and two judged queries."""
    documents = [
        {"_id": "d1", "title": "One", "text": "rent", "metadata": {"year": 2020}},
        {"_id": "d2", "text": "deposit", "metadata": {"section": "4"}},
        {"_id": "d3", "title": "Three", "text": "", "url": "x"},
    ]
    queries = [
        {"_id": "q1", "text": "rent?", "metadata": {"group": "g"}},
        {"_id": "q2", "text": "deposit?"},
        {"_id": "q3", "text": "never judged"},
    ]
    judged = {"test": [("q2", "d2", 2), ("q1", "d1", 1), ("q1", "d3", 0)]}
    return write_beir(tmp_path / "toy", documents, queries, judged)
