"""Bad requests, collections and models are one clear line."""

import pandas as pd
import pytest
from small_retrieval import retriever

from casebook.errors import InputError
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.retrieve(""), "query 0 is blank"),
        (lambda r: r.retrieve_many(["sue", "  "]), "query 1 is blank"),
        (lambda r: r.retrieve_many("sue"), "expected a list of texts"),
        (lambda r: r.retrieve("sue", top_k=0), "at least 1, got 0"),
        (lambda r: r.retrieve("sue", filters={"judge": "x"}), "no column 'judge'"),
        (lambda r: r.retrieve_many(["sue"], candidates=[["d0", "e"]]), "first is 'e'"),
        (lambda r: r.retrieve_many(["sue"], candidates=[]), "0 candidate pools for 1"),
    ],
)
def test_bad_requests_are_one_clear_line(index, call, message):
    with pytest.raises(InputError, match=message):
        call(retriever(index))


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


def test_models_that_do_not_exist_are_one_clear_line(collection, index):
    with pytest.raises(InputError, match="model folder '/no/model' does not exist"):
        HybridRetriever(collection, "/no/model").retrieve("sue")
    with pytest.raises(InputError, match="model folder '/no/model' does not exist"):
        retriever(index, reranker="cross-encoder:/no/model").retrieve("sue")
    with pytest.raises(InputError, match="the index has its encoders already"):
        HybridRetriever(index, "minilm")
