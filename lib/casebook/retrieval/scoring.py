"""Put queries through systems, score what comes back, and compare the systems."""

import pandas as pd

from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.comparison import compare_systems
from casebook.measures.ranking import evaluate


def retrieve(dataset, retriever):
    """Put all queries of a dataset through one system.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
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
    """Score results against the judgements.

    Parameters
    ----------
    dataset : casebook.datasets.corpus.RetrievalDataset
        Judgements.
    results : dict
        System key to result.
    measures : sequence of str
        Measures to compute.

    Returns
    -------
    dict
        Measure name to DataFrame of queries x systems.
    """
    queries = dataset.queries["query_id"]
    frames = {
        system: evaluate(dataset.qrels, result.run(queries), list(measures)).frame()
        for system, result in results.items()
    }
    return {
        name: pd.DataFrame({system: frame[name] for system, frame in frames.items()})
        for name in measures
    }


class ScoredSystems:
    """What an experiment that scores systems on queries offers to its chapter.

    A subclass has ``dataset`` (whose ``groups`` may be None) and ``scores``, measure
    name to DataFrame of queries x systems.

    Attributes
    ----------
    control : str
        The system whose score stands beside every number.
    controls : tuple of str
        Systems that are shown but not tested.
    """

    control = ""
    controls = ()

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
        tested = [name for name in frame if name not in self.controls]
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
        table = {system: {} for system in next(iter(self.scores.values()))}
        for measure, frame in self.scores.items():
            found = bootstrap_mean(frame, **options)
            for system, interval in zip(frame.columns, found, strict=True):
                control = frame[self.control].mean() if self.control in frame else None
                table[system][measure] = interval.number(control)
        return table
