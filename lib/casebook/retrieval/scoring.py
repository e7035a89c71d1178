"""Put a dataset's queries through a system, and score what comes back."""

import pandas as pd

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
