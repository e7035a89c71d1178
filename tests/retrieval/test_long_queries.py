"""The full system against its parts; more collections: tests/validation/retrieval_default.py."""

import pandas as pd

from casebook.data import load
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


def test_full_is_not_significantly_below_any_part():
    data = load("smoke")
    frame = scores(data, ["full", *PARTS])
    groups = [data.groups[query] for query in frame.index]
    found = pd.concat([contrasts(frame, [("full", part)], groups) for part in PARTS])
    assert not ((found["p"] <= 0.05) & (found["difference"] < 0)).any()
