"""Put queries through systems, score what comes back, and compare the systems."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.estimates import BETTER, WORSE, estimates
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.comparison import compare_systems
from casebook.inference.tie_classes import tie_classes
from casebook.measures.ranking import evaluate


def retrieve(dataset, retriever):
    """Put all queries of a dataset through one system.

    Parameters
    ----------
    dataset : casebook.data.splits.RetrievalDataset
        Queries, and the candidates of each where only judged documents are ranked.
    retriever : casebook.retrieval.pipeline.HybridRetriever
        The system.

    Returns
    -------
    casebook.retrieval.pipeline.RetrievalResult
        Ranked documents, stage by stage.
    """
    queries, pools = dataset.queries, None
    if dataset.candidates is not None:
        pools = [dataset.candidates[query] for query in queries["query_id"]]
    return retriever.retrieve_many(queries["text"].tolist(), candidates=pools)


def score(dataset, results, measures):
    """Score results against the judgements."""
    queries = dataset.queries["query_id"]
    frames = {
        system: evaluate(dataset.qrels, result.run(queries), list(measures)).frame()
        for system, result in results.items()
    }
    return {name: pd.DataFrame({system: frame[name] for system, frame in frames.items()}) for name in measures}


class ScoredSystems:
    """What an experiment that scores systems on queries offers to its chapter."""

    control = ""
    controls = ()

    @property
    def clusters(self):
        """Group of each query, list of str; None where queries are independent."""
        groups = self.dataset.groups
        queries = next(iter(self.scores.values())).index
        return None if groups is None else [groups[query] for query in queries]

    def rows(self):
        """Give the tidy rows: one per query and system."""
        rows = pd.concat(
            [
                frame.rename_axis("query_id")
                .reset_index()
                .melt("query_id", var_name="system", value_name=measure)
                .set_index(["query_id", "system"])
                for measure, frame in self.scores.items()
            ],
            axis=1,
        ).reset_index()
        groups = self.dataset.groups
        labels = rows["query_id"] if groups is None else rows["query_id"].map(groups)
        rows.insert(1, "group", labels)
        return rows

    def compare(self, measure, focus, n_boot=10_000, seed=0):
        """Compare all pairs of systems on one measure, the controls left out."""
        frame = self.scores[measure]
        rest = [n for n in frame if n not in self.controls and n != focus]
        frame = frame[[focus, *rest]]
        families = {"planned": [(focus, name) for name in rest], "other": list(itertools.combinations(rest, 2))}
        options = {"clusters": self.clusters, "n_boot": n_boot, "seed": seed}
        parts = {
            name: compare_systems(frame, pairs=pairs, n_resamples=n_boot, **options) for name, pairs in families.items()
        }
        found = [c.pairs.assign(family=name) for name, c in parts.items()]
        pairs = pd.concat([f for f in found if len(f)] or found[:1], ignore_index=True)
        systems = parts["planned"].systems
        place = {name: k for k, name in enumerate(systems["system"])}
        apart = np.zeros((len(place), len(place)), dtype=bool)
        for a, b, word in pairs[["system_a", "system_b", "verdict"]].to_numpy():
            both = [place[a], place[b]]
            apart[both, both[::-1]] = word in (BETTER, WORSE)
        systems = systems.assign(tie_class=tie_classes(apart))
        return replace(parts["planned"], systems=systems, pairs=pairs)

    def by_questions(self, measure, n_boot=10_000, seed=0):
        """Show what taking dependent queries for independent ones would promise."""
        frame, options = self.scores[measure], {"n_boot": n_boot, "seed": seed}
        found = estimates(frame, self.clusters, **options)
        alone = estimates(frame, **options)
        return pd.DataFrame(
            {
                "system": found["system"],
                "n": found["n"],
                "groups": found["groups"],
                "over groups": found["value"],
                "over groups low": found["low"],
                "over groups high": found["high"],
                "no interval because": found["reason"],
                "over queries": alone["value"],
                "over queries low": alone["low"],
                "over queries high": alone["high"],
            }
        )

    def numbers(self, **options):
        """Give every mean with interval, n and control, for ``numbers.json``."""
        table = {system: {} for system in next(iter(self.scores.values()))}
        options = {"clusters": self.clusters, **options}
        for measure, frame in self.scores.items():
            found = bootstrap_mean(frame, **options)
            for system, interval in zip(frame.columns, found, strict=True):
                control = frame[self.control].mean() if self.control in frame else None
                table[system][measure] = interval.number(control)
        return table
