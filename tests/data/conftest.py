"""Small datasets with known defects, cards for them, and a cache of their own."""

import json

import pytest
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


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def toy(tmp_path):
    """Give a sound BEIR folder of three documents and two judged queries."""
    folder = tmp_path / "toy"
    (folder / "qrels").mkdir(parents=True)
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
    (folder / "corpus.jsonl").write_text(json_lines(documents))
    (folder / "queries.jsonl").write_text(json_lines(queries))
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq2\td2\t2\nq1\td1\t1\nq1\td3\t0\n"
    )
    return folder
