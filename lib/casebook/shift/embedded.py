"""A dataset with its vectors: what a shift is learned from and judged on."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.ranking import evaluate, tie_bounds
from casebook.shift.vectors import TIE_DECIMALS, cosines

MEASURES = ("nDCG@10", "RR", "P@1", "original:map@1", "original:ndcg@3")


@dataclass(frozen=True, eq=False)
class EmbeddedDataset:
    """Vectors of the effective queries and of all documents of a dataset."""

    dataset: object
    query_ids: list
    queries: np.ndarray
    documents: np.ndarray
    pools: list = field(repr=False)
    relevant: list = field(repr=False)
    dropped: dict = field(default_factory=dict)

    def __len__(self):
        """Count the effective queries."""
        return len(self.query_ids)

    @property
    def doc_ids(self):
        """Ids of the documents, in the order of their vectors."""
        return self.dataset.documents["doc_id"].to_numpy(dtype=object)

    def take(self, rows):
        """Keep some queries and all documents."""
        return replace(
            self,
            query_ids=[self.query_ids[row] for row in rows],
            queries=self.queries[list(rows)],
            pools=[self.pools[row] for row in rows],
            relevant=[self.relevant[row] for row in rows],
            dropped={},
        )

    def account(self):
        """Count the queries: in all, effective, and dropped by reason."""
        reasons = pd.Series(list(self.dropped.values()), dtype=object).value_counts()
        dropped = len(self.dropped)
        return {
            "n_total": len(self) + dropped,
            "n_effective": len(self),
            "n_dropped": dropped,
            "reasons": {reason: int(count) for reason, count in reasons.items()},
        }

    def scores(self, vectors, rows=None):
        """Give the cosine of each query vector with the documents of its pool."""
        rows = range(len(self)) if rows is None else rows
        table = np.round(cosines(vectors, self.documents), TIE_DECIMALS)
        return [line[self.pools[row]] for row, line in zip(rows, table, strict=True)]

    def run(self, vectors, rows=None):
        """Score documents for queries."""
        rows = range(len(self)) if rows is None else rows
        names = self.doc_ids
        return {
            self.query_ids[row]: dict(zip(names[self.pools[row]], scores.tolist(), strict=True))
            for row, scores in zip(rows, self.scores(vectors, rows), strict=True)
        }

    def qrels(self, rows=None):
        """Give the judgements of some queries, all by default, as a dict of dict."""
        rows = range(len(self)) if rows is None else rows
        asked = [self.query_ids[row] for row in rows]
        return {query: self.dataset.qrels[query] for query in asked}

    def tied(self):
        """Count the queries whose judged documents tie, unshifted, int."""
        found = tie_bounds(self.qrels(), self.run(self.queries), ["RR"])
        return int((found.tie_mass > 0).sum())

    def score(self, vectors, rows=None, measures=MEASURES):
        """Measure the rankings that query vectors give."""
        run, judged = self.run(vectors, rows), self.qrels(rows)
        return evaluate(judged, run, list(measures)).frame()

    def chance(self, measures=MEASURES):
        """Give the expected value of a random order of each query's pool."""
        names = self.doc_ids
        run = {query: dict.fromkeys(names[pool], 0.0) for query, pool in zip(self.query_ids, self.pools, strict=True)}
        found = tie_bounds(self.qrels(), run, list(measures))
        index = pd.Index(found.query_ids, name="query_id")
        return pd.DataFrame(found.expected, index=index, columns=list(measures))


def embed(dataset, embedder):
    """Embed a dataset and find its effective queries."""
    places = {doc: n for n, doc in enumerate(dataset.documents["doc_id"])}
    everything = sorted(places, reverse=True)
    kept, pools, relevant, dropped = [], [], [], {}
    for query in dataset.queries["query_id"]:
        judged = dataset.qrels.get(query)
        pool = everything
        if dataset.candidates is not None:
            pool = sorted(dataset.candidates.get(query, ()), reverse=True)
        grades = np.array([(judged or {}).get(doc, 0) for doc in pool])
        if judged is None or not (grades > 0).any():
            dropped[query] = "no_judgement" if judged is None else "no_relevant"
            continue
        kept.append(query)
        pools.append(np.array([places[doc] for doc in pool]))
        relevant.append(grades > 0)
    if not kept:
        raise InputError(f"{dataset.key}: no query has a relevant document to be found")
    asked = dataset.queries.set_index("query_id")["text"].loc[kept].tolist()
    texts = dataset.documents["text"].tolist()
    return EmbeddedDataset(
        dataset,
        kept,
        _finite(embedder.encode_queries(asked), "query"),
        _finite(embedder.encode_documents(texts), "document"),
        pools,
        relevant,
        dropped,
    )


def _finite(vectors, kind):
    vectors = np.asarray(vectors, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise InputError(f"{len(wrong)} {kind} vectors are not finite (first: row {wrong[0]})")
    return vectors
