"""A small collection and an encoder without a network, for pipeline tests."""

import numpy as np
import pandas as pd
import pytest
from small_retrieval import HashingEncoder

from casebook.retrieval.index import CorpusIndex

TOPICS = ["cancel refund", "court sue", "privacy data", "renew price", "content copy"]
FILLER = "the parties agree that under this clause a user may or may not"


@pytest.fixture(scope="session")
def hashing():
    """Give the encoder."""
    return HashingEncoder()


@pytest.fixture(scope="session")
def collection():
    """Give 40 documents of 5 to 120 words: two alike, one empty, with metadata."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(40):
        words = [*FILLER.split(), *TOPICS[number % 5].split(), f"term{number}"]
        size = int(rng.integers(5, 120))
        text = " ".join(rng.choice(words, size)) + f" {TOPICS[number % 5]}"
        year, source = 2000 + number, ("act", "policy", None)[number % 3]
        rows.append({"doc_id": f"d{number}", "text": text, "year": year, "src": source})
    rows[7]["text"] = rows[3]["text"]
    rows[11]["text"] = ""
    rows[13]["text"] = "Vertragsänderung § 5: “gekündigt” 契約解除 🙂"
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def index(collection, hashing):
    """Give an index of the collection, which a module fills as it goes."""
    return CorpusIndex(collection, hashing)
