"""The full system against its own parts, on questions and on long queries."""

import pandas as pd
import pytest

from casebook.data import load
from casebook.data.registry import resolve
from casebook.data.sources import Absent, present
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


def losses(data, frame, system):
    """Parts that a system is significantly below."""
    groups = data.groups and [data.groups[query] for query in frame.index]
    rows = [contrasts(frame, [(system, p)], groups).iloc[0] for p in PARTS]
    return [row.against for row in rows if row.p <= 0.05 and row.difference < 0]


def halves(key):
    """The first half of each document asks for its second half."""
    texts = load(key).documents["text"].tolist()
    halves = [(text.split(), len(text.split()) // 2) for text in texts]
    asked = [row for row, (_, half) in enumerate(halves) if half >= 30]
    return RetrievalDataset(
        key=f"{key} halves",
        split="all",
        documents=pd.DataFrame(
            {
                "doc_id": [f"d{row}" for row in range(len(halves))],
                "text": [" ".join(words[half:]) for words, half in halves],
            }
        ),
        queries=pd.DataFrame(
            {
                "query_id": [f"q{row}" for row in asked],
                "text": [" ".join(halves[row][0][: halves[row][1]]) for row in asked],
            }
        ),
        qrels={f"q{row}": {f"d{row}": 1} for row in asked},
    )


def here(key):
    try:
        present(resolve(key)[0])
    except Absent:
        return False
    return True


@pytest.mark.parametrize("read", [load, halves], ids=["questions", "long queries"])
@pytest.mark.parametrize("name", ["smoke", "insurance"])
def test_full_is_not_significantly_below_any_part(name, read):
    data = read(name)
    frame = scores(data, ["full", *PARTS])
    assert losses(data, frame, "full") == []


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not here("consumer_contracts_qa"), reason="the contracts are not here")
def test_the_same_weights_for_every_query_lose_where_full_does_not():
    data = halves("consumer_contracts_qa")
    frame = scores(data, ["full", "constant_weights", *PARTS])
    assert "rrf_chunked" in losses(data, frame, "constant_weights")
    # Short clauses are better read whole, which is another system than the full one.
    assert set(losses(data, frame, "full")) <= {"rrf"}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not here("fire2017_irled"), reason="the judgments are not here")
def test_full_on_whole_judgments_is_bm25_in_seconds():
    data = load("fire2017_irled")
    frame = scores(data, ["full", "bm25"])
    assert (frame["full"] == frame["bm25"]).all()
    assert frame["full"].mean() == pytest.approx(0.318, abs=5e-4)
