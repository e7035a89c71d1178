"""Small data for the tests of shifts: the documented samples and planted vectors."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from casebook.data.splits import RetrievalDataset
from casebook.readers import read_json
from casebook.shift.embedded import embed


@pytest.fixture(scope="session")
def expected(mirror):
    """Give the values derived from the documented rules."""
    return read_json(mirror / "embeddingshift" / "derived-expected.json")


@pytest.fixture(scope="session")
def samples(mirror):
    """Give the built-in samples: three policies, five queries."""
    folder = mirror / "embeddingshift" / "samples" / "insurance"
    policies = sorted((folder / "policies").glob("*.txt"))
    # With its last line end, on which embeddings by hash depend.
    texts = [path.read_text(encoding="utf-8-sig") for path in policies]
    names = [path.stem for path in policies]
    documents = pd.DataFrame({"doc_id": names, "title": "", "text": texts})
    asked = pd.read_json(folder / "queries" / "queries.json", encoding="utf-8-sig").rename(
        columns={"id": "query_id"}
    )
    qrels = {row.query_id: {row.relevantDocId: 1} for row in asked.itertuples()}
    queries = asked[["query_id", "text"]]
    return RetrievalDataset("insurance", "test", documents, queries, qrels)


@pytest.fixture
def planted():
    """Give a maker of embedded datasets from vectors and judgements."""

    def make(queries, documents, qrels, groups=None, candidates=None):
        frames = [
            pd.DataFrame({name: list(part), "text": list(part)})
            for name, part in (("doc_id", documents), ("query_id", queries))
        ]
        dataset = RetrievalDataset(
            "planted", "test", *frames, qrels, groups=groups, candidates=candidates
        )
        vectors = {**queries, **documents}

        def encode(texts):
            return np.array([vectors[text] for text in texts], dtype=float)

        return embed(dataset, SimpleNamespace(encode_queries=encode, encode_documents=encode))

    return make


@pytest.fixture
def decoys(planted):
    """Give 24 queries that prefer a decoy to its twin, the relevant document.

    Relevant documents have a positive first dimension, decoys a negative one, and so
    have the queries: adding to that dimension is what helps.
    """
    contents = np.random.default_rng(7).normal(size=(24, 12))
    contents[:, 0] = 0
    first = np.eye(12)[0]
    documents, queries, qrels = {}, {}, {}
    for i, content in enumerate(contents):
        documents[f"a{i:02d}"] = content + first
        documents[f"b{i:02d}"] = content - first
        queries[f"q{i:02d}"] = content - 0.5 * first
        qrels[f"q{i:02d}"] = {f"a{i:02d}": 1}
    return planted(queries, documents, qrels)
