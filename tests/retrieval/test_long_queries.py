"""The full system against its own parts, on questions and on long queries."""

import pandas as pd
import pytest

from casebook.data import load
from casebook.data.splits import RetrievalDataset
from casebook.frames import contrasts
from casebook.retrieval.ablation import run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever

PARTS = ["bm25", "bm25_stemmed", "bm25_chunked", "dense", "dense_chunked", "rrf"]
PARTS += ["rrf_chunked", "reranker_only"]


def scores(data, names):
    index = CorpusIndex(data.documents, remember_scores=True)
    systems = {name: HybridRetriever(index, mode=name) for name in names}
    return run_ablation(data, systems, ["nDCG@10"]).scores["nDCG@10"]


def halves(key):
    """The first half of each document asks for its second half."""
    split = [(text.split(), len(text.split()) // 2) for text in load(key).documents["text"]]
    documents = [(f"d{row}", " ".join(words[half:])) for row, (words, half) in enumerate(split)]
    queries = [(f"q{row}", " ".join(words[:half])) for row, (words, half) in enumerate(split) if half >= 30]
    return RetrievalDataset(
        f"{key} halves",
        "all",
        pd.DataFrame(documents, columns=["doc_id", "text"]),
        pd.DataFrame(queries, columns=["query_id", "text"]),
        {query: {query.replace("q", "d"): 1} for query, _ in queries},
    )


@pytest.mark.parametrize("read", [load, halves], ids=["questions", "long queries"])
def test_full_is_not_significantly_below_any_part(read):
    data = read("smoke")
    frame = scores(data, ["full", *PARTS])
    groups = data.groups and [data.groups[query] for query in frame.index]
    found = pd.concat([contrasts(frame, [("full", part)], groups) for part in PARTS])
    assert not ((found["p"] <= 0.05) & (found["difference"] < 0)).any()
