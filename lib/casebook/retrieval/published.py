"""Figures that others published, and what this library gets on the same data."""

from dataclasses import dataclass, field

import pandas as pd

from casebook.data import load
from casebook.inference.bootstrap import bootstrap_mean
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.scoring import retrieve, score

_MTEB = "embeddings-benchmark/results, LegalBenchConsumerContractsQA"
_STUDY = "PDPABench repository, stored retrieval report"
_BASELINES = "PDPABench, baselines with bm25s and MiniLM, ties by corpus order"
_CUT = {"mode": "rrf", "top_k": 10, "mmr_pool": 10}


@dataclass(frozen=True)
class Published:
    """One system's published means on one split."""

    source: str
    system: str
    split: str
    values: dict
    settings: dict = field(default_factory=dict)
    reproduces: bool = True


def _row(source, system, split, settings, ndcg, rr, recall):
    values = {"nDCG@10": ndcg, "RR@10": rr, "R@10": recall}
    return Published(source, system, split, values, settings)


_CONTRACTS = [
    Published(
        _MTEB,
        "all-MiniLM-L6-v2",
        "all",
        {"nDCG@10": 0.656, "AP@10": 0.58825, "RR@10": 0.58825, "P@1": 0.45455},
        {"mode": "dense"},
    ),
    Published(_MTEB, "baseline-bm25s", "all", {"nDCG@10": 0.711}, {"mode": "bm25_stemmed"}),
    Published(
        _MTEB, "best of 167: 8 billion parameters", "all", {"nDCG@10": 0.878}, {"mode": "full"}, reproduces=False
    ),
]

_OKAPI = {"mode": "bm25", "bm25_preset": "okapi_porter"}
_PDPA = [
    _row(_STUDY, "BM25 k1 1.2 b 0.3", "test_single", _OKAPI, 0.557156, 0.507578, 0.711538),
    _row(_BASELINES, "BM25", "test", {"mode": "bm25"}, 0.504960, 0.462073, 0.653846),
    _row(_BASELINES, "MiniLM", "test", {"mode": "dense"}, 0.622885, 0.566583, 0.807692),
    _row(_BASELINES, "RRF k 60", "test", {"mode": "rrf", "rrf_k": 60, "pool": 100}, 0.579567, 0.521016, 0.775641),
    _row(_BASELINES, "RRF k 20", "test", {"mode": "rrf", "rrf_k": 20, "pool": 100}, 0.586165, 0.522917, 0.791667),
    _row(
        _BASELINES, "RRF k 60, lists cut at 20", "test", {**_CUT, "rrf_k": 60, "pool": 20}, 0.586384, 0.515209, 0.820513
    ),
    _row(
        _BASELINES, "RRF k 20, lists cut at 20", "test", {**_CUT, "rrf_k": 20, "pool": 20}, 0.586384, 0.515209, 0.820513
    ),
    _row(_BASELINES, "BM25 Okapi, Porter, k1 1.2 b 0.3", "test", _OKAPI, 0.559224, 0.511424, 0.724359),
    _row(
        _BASELINES,
        "BM25 Okapi, Porter, k1 1.5 b 0.75",
        "test",
        {"mode": "bm25", "bm25_preset": "okapi_porter_untuned"},
        0.564653,
        0.520696,
        0.730769,
    ),
]

#: Published figures by dataset key.
FIGURES = {"consumer_contracts_qa": _CONTRACTS, "pdpabench": _PDPA}


def published_table(key, index, **options):
    """Put published figures beside ours."""
    rows = []
    for figure in FIGURES.get(key, []):
        dataset = load(key, figure.split)
        results = {"ours": retrieve(dataset, HybridRetriever(index, **figure.settings))}
        scores = score(dataset, results, list(figure.values))
        asked = next(iter(scores.values())).index
        groups = dataset.groups and [dataset.groups[query] for query in asked]
        kind = "reproduced" if figure.reproduces else "reference"
        for measure, value in figure.values.items():
            values = scores[measure]["ours"].to_numpy()
            found = bootstrap_mean(values, clusters=groups, **options)
            where = (figure.source, figure.system, figure.split, measure, value)
            ours = (found.estimate, found.low, found.high, found.n)
            rows.append((*where, *ours, found.estimate - value, kind))
    columns = ["source", "system", "split", "measure", "published"]
    columns += ["ours", "ours low", "ours high", "n", "difference", "kind"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"ours low": float, "ours high": float})
