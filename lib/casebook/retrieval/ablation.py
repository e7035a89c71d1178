"""The retrieval ablation: the same queries through many systems, query by query."""

from dataclasses import dataclass

import pandas as pd

from casebook.errors import InputError
from casebook.retrieval.config import MODES
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.scoring import ScoredSystems, retrieve, score
from casebook.stats.intervals import bootstrap_mean

MEASURES = ("nDCG@10", "RR@10", "AP", "P@1", "R@10", "R@100")
CONTROLS = ("random", "constant")
FULL = "full"
CONTROL = "random"  # whose score stands beside every number

# Names that the documented systems print, and the standard measure beside each.
PARITY = {
    "original:MRR@10": "RR@10",
    "original:NDCG@10": "nDCG@10",
    "original:Recall@10": "R@10",
    "original:map@1": "RR",
    "original:ndcg@3": "nDCG@3",
}


@dataclass(frozen=True)
class Ablation(ScoredSystems):
    """What each system returned for each query of one dataset."""

    dataset: object
    results: dict
    scores: dict

    control = CONTROL
    controls = CONTROLS

    @property
    def systems(self):
        """System keys, in the order they were run."""
        return list(self.results)

    def attrition(self, system="full"):
        """Count the relevant documents that are still there after each stage."""
        result, queries = self.results[system], self.dataset.queries["query_id"]
        config, wanted = result.config, _relevant(self.dataset)
        cuts = {name: (name, config.pool) for name in config.lists}
        cuts["fused: any list"] = ("fused", None)
        if config.mmr:
            cuts["kept by MMR"] = ("mmr", config.mmr_pool)
        cuts[f"returned: top {result.top_k}"] = ("final", result.top_k)
        rows = [(f"judged relevant: {len(wanted)}", len(wanted))]
        for label, (stage, depth) in cuts.items():
            run = result.run(queries, stage)
            found = {(q, d) for q, row in run.items() for d in list(row)[:depth]}
            rows.append((label, len(wanted & found)))
        frame = pd.DataFrame(rows, columns=["stage", "relevant"])
        return frame.assign(share=frame["relevant"] / len(wanted))

    def times(self, system="full"):
        """Give what each stage cost."""
        result = self.results[system]
        costs = result.costs.reset_index()
        return costs.assign(milliseconds=1000 * costs["cpu_s"] / len(result.queries))

    def rescore(self, system, measures, **options):
        """Score one system's results on further measures."""
        result = {system: self.results[system]}
        frames = score(self.dataset, result, measures)
        return {
            name: bootstrap_mean(frame[system].to_numpy(), clusters=self.clusters, **options)
            for name, frame in frames.items()
        }


def run_ablation(dataset, systems=None, index=None, measures=MEASURES, **settings):
    """Run every system on every query and score it."""
    if not dataset.qrels:
        raise InputError(f"{dataset.key}: no judgements, so nothing can be measured")
    index = index or CorpusIndex(dataset.documents, settings.pop("encoder", None))
    names = list(dict.fromkeys([FULL, *(systems or MODES), CONTROL]))
    results = {name: retrieve(dataset, HybridRetriever(index, mode=name, **settings)) for name in names}
    return Ablation(dataset, results, score(dataset, results, measures))


def _relevant(dataset):
    """Give all pairs of a query and a document judged relevant to it."""
    return {(q, d) for q, row in dataset.qrels.items() for d, g in row.items() if g > 0}
