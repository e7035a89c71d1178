"""The retrieval ablation: the same queries through many systems, query by query."""

from dataclasses import dataclass

import pandas as pd

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.comparison import compare_systems
from casebook.retrieval.config import MODES
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.scoring import retrieve, score

MEASURES = ("nDCG@10", "RR@10", "AP", "P@1", "R@10", "R@100")
CONTROLS = ("random", "constant")
CONTROL = "random"  # whose score stands beside every number

# Names that the documented systems print, and the standard measure beside each.
PARITY = {
    "MRR@10": "RR@10",
    "NDCG@10": "nDCG@10",
    "Recall@10": "R@10",
    "map@1": "RR",
    "ndcg@3": "nDCG@3",
}


@dataclass(frozen=True)
class Ablation:
    """What each system returned for each query of one dataset.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        Documents, queries and judgements.
    results : dict
        System key to `casebook.retrieval.pipeline.RetrievalResult`.
    scores : dict
        Measure name to DataFrame of queries x systems.
    """

    dataset: object
    results: dict
    scores: dict

    @property
    def systems(self):
        """System keys, in the order they were run."""
        return list(self.results)

    def rows(self):
        """Give the tidy rows: one per query and system.

        Returns
        -------
        pandas.DataFrame
            Columns query_id, group, system and one per measure.
        """
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

    def compare(self, measure, **options):
        """Compare all pairs of systems on one measure, the controls left out.

        Controls differ from every system by far; as members of the family they would
        only make its corrections harder to pass.

        Parameters
        ----------
        measure : str
            One of the measures that were computed.
        **options
            Passed to `casebook.inference.comparison.compare_systems`.

        Returns
        -------
        casebook.inference.comparison.Comparison
            Intervals, tie classes, corrected tests and effect sizes.
        """
        frame = self.scores[measure]
        tested = [name for name in frame if name not in CONTROLS]
        return compare_systems(frame[tested], **options)

    def clustered(self, measure, **options):
        """Give intervals that resample groups of queries instead of queries.

        Parameters
        ----------
        measure : str
            One of the measures that were computed.
        **options
            Passed to `casebook.inference.bootstrap.bootstrap_mean`.

        Returns
        -------
        pandas.DataFrame
            Columns system, mean, ci_low, ci_high, groups; empty without groups.
        """
        groups = self.dataset.groups
        if groups is None:
            return pd.DataFrame(columns=["system", "mean", "ci_low", "ci_high"])
        frame = self.scores[measure]
        labels = [groups[query] for query in frame.index]
        found = bootstrap_mean(frame, clusters=labels, **options)
        rows = [
            (name, i.estimate, i.low, i.high, len(set(labels)))
            for name, i in zip(frame.columns, found, strict=True)
        ]
        columns = ["system", "mean", "ci_low", "ci_high", "groups"]
        frame = pd.DataFrame(rows, columns=columns)
        return frame.astype({"ci_low": float, "ci_high": float})  # None: no interval

    def attrition(self, system="full"):
        """Count the relevant documents that are still there after each stage.

        Parameters
        ----------
        system : str
            Which system to follow.

        Returns
        -------
        pandas.DataFrame
            Columns stage, relevant (documents still there) and share of all.
        """
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
        """Give what each stage cost.

        Parameters
        ----------
        system : str
            Which system.

        Returns
        -------
        pandas.DataFrame
            Columns stage, wall_s, cpu_s, peak_mb and milliseconds (processor time
            per query).
        """
        result = self.results[system]
        costs = result.costs.reset_index()
        return costs.assign(milliseconds=1000 * costs["cpu_s"] / len(result.queries))

    def rescore(self, system, measures):
        """Score one system's results on further measures.

        Parameters
        ----------
        system : str
            The system.
        measures : sequence of str
            Measure names.

        Returns
        -------
        dict
            Measure name to mean.
        """
        result = {system: self.results[system]}
        frames = score(self.dataset, result, measures)
        return {name: float(frame[system].mean()) for name, frame in frames.items()}

    def numbers(self, **options):
        """Give every mean with interval, n and control, for ``numbers.json``.

        Parameters
        ----------
        **options
            Passed to `casebook.inference.bootstrap.bootstrap_mean`.

        Returns
        -------
        dict
            {system: {measure: {"value", "ci", "n", "control", "reason"}}}.
        """
        table = {system: {} for system in self.systems}
        for measure, frame in self.scores.items():
            found = bootstrap_mean(frame, **options)
            for system, interval in zip(frame.columns, found, strict=True):
                control = frame[CONTROL].mean() if CONTROL in frame else None
                table[system][measure] = {
                    "value": interval.estimate,
                    "ci": [interval.low, interval.high],
                    "n": interval.n,
                    "control": None if control is None else float(control),
                    "reason": interval.reason,
                }
        return table


def run_ablation(dataset, systems=None, index=None, measures=MEASURES, **settings):
    """Run every system on every query and score it.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        Documents, queries and judgements.
    systems : sequence of str, optional
        Keys of `casebook.retrieval.config.MODES`; all by default. The control
        ``random`` is always added, because no number stands without a control.
    index : casebook.retrieval.index.CorpusIndex, optional
        Shared index; built from the documents if not given.
    measures : sequence of str
        Measures to compute.
    **settings
        Settings of the pipeline, and ``encoder`` for a new index.

    Returns
    -------
    Ablation
        Results and per-query scores.

    Raises
    ------
    InputError
        If a system or a setting is unknown, or the dataset has no judged query.
    """
    if not dataset.qrels:
        raise InputError(f"{dataset.key}: no judgements, so nothing can be measured")
    index = index or CorpusIndex(dataset.documents, settings.pop("encoder", None))
    names = list(dict.fromkeys([*(systems or MODES), CONTROL]))
    results = {
        name: retrieve(dataset, HybridRetriever(index, mode=name, **settings))
        for name in names
    }
    return Ablation(dataset, results, score(dataset, results, measures))


def _relevant(dataset):
    """Give all pairs of a query and a document judged relevant to it."""
    return {(q, d) for q, row in dataset.qrels.items() for d, g in row.items() if g > 0}
