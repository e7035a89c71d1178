"""A dataset with its vectors: what a shift is learned from and judged on, and how its queries are divided."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.data.splits import connected_components, largest_first
from casebook.errors import InputError
from casebook.measures.ranking import evaluate, random_order
from casebook.models.encoders import load_encoder
from casebook.runs.record import PER_QUERY_FIELDS
from casebook.stats.samples import check_choice, check_count

MEASURES = ("nDCG@10", "RR", "P@1", "original:map@1", "original:ndcg@3")
KEYS = ("original:map@1", "original:ndcg@3")  # Ap1 and Ndcg3 of the per-query records
SHARES = {"train": 0.5, "dev": 0.2, "test": 0.3}
BY = ("group", "document", "query")
SMALLEST_NORM = 1e-12
TIE_DECIMALS = 12  # cosines that differ by less differ by rounding only


@dataclass(frozen=True, eq=False)
class EmbeddedDataset:
    """Vectors of the effective queries [Q, D] and of all documents [N, D]; ties go to the higher document id."""

    dataset: object
    query_ids: list
    queries: np.ndarray
    documents: np.ndarray
    pools: list = field(repr=False)  # of each query: the documents it ranks, by descending id
    relevant: list = field(repr=False)  # of each query: which of its pool are relevant
    dropped: dict = field(default_factory=dict)

    def __len__(self):
        return len(self.query_ids)

    @cached_property
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
        return {
            "n_total": len(self) + len(self.dropped),
            "n_effective": len(self),
            "n_dropped": len(self.dropped),
            "reasons": dict(Counter(self.dropped.values()).most_common()),
        }

    def scores(self, vectors):
        """Cosines of each query vector with the documents of its pool."""
        table = np.round(cosines(vectors, self.documents), TIE_DECIMALS)
        return [line[pool] for pool, line in zip(self.pools, table, strict=True)]

    def run(self, vectors):
        """Cosines by query id and document id."""
        return {
            query: dict(zip(self.doc_ids[pool], scores.tolist(), strict=True))
            for query, pool, scores in zip(
                self.query_ids, self.pools, self.scores(vectors), strict=True
            )
        }

    def qrels(self):
        """Judgements of the queries."""
        return {query: self.dataset.qrels[query] for query in self.query_ids}

    def score(self, vectors, measures=MEASURES):
        """Measure the rankings that query vectors give: a frame, queries x measures."""
        return evaluate(self.qrels(), self.run(vectors), list(measures)).frame()

    def chance(self, measures=MEASURES):
        """Expected value of a random order of each query's pool, computed and not drawn."""
        pools = zip(self.query_ids, self.pools, strict=True)
        run = {query: dict.fromkeys(self.doc_ids[pool], 0.0) for query, pool in pools}
        return random_order(self.qrels(), run, list(measures)).frame()


def embed(dataset, encoder="minilm"):
    """Embed a dataset, by an encoder or its name, and find its effective queries: those with a relevant document."""
    if isinstance(encoder, str):
        encoder = load_encoder(encoder)
    places = {doc: n for n, doc in enumerate(dataset.documents["doc_id"])}
    everything = sorted(places, reverse=True)
    kept, pools, relevant, dropped = [], [], [], {}
    for query in dataset.queries["query_id"]:
        pool = everything
        if dataset.candidates is not None:
            pool = sorted(dataset.candidates.get(query, ()), reverse=True)
        judged = dataset.qrels.get(query, {})
        hits = np.array([judged.get(doc, 0) > 0 for doc in pool])
        if not hits.any():
            dropped[query] = "no_relevant" if query in dataset.qrels else "no_judgement"
            continue
        kept.append(query)
        pools.append(np.array([places[doc] for doc in pool]))
        relevant.append(hits)
    if not kept:
        raise InputError(f"{dataset.key}: no query has a relevant document to be found")
    asked = dataset.queries.set_index("query_id")["text"].loc[kept].tolist()
    queries, documents = (
        encoder.encode_queries(asked),
        encoder.encode_documents(dataset.documents["text"].tolist()),
    )
    queries, documents = (
        np.asarray(queries, dtype=np.float64),
        np.asarray(documents, dtype=np.float64),
    )
    for kind, vectors in (("query", queries), ("document", documents)):
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(wrong):
            raise InputError(f"{len(wrong)} {kind} vectors are not finite (first: row {wrong[0]})")
    return EmbeddedDataset(dataset, kept, queries, documents, pools, relevant, dropped)


def cosines(queries, documents):
    """Cosine of every query with every document; 0 where a vector has no length."""
    return _unit(np.asarray(queries, dtype=np.float64)) @ _unit(documents).T


def _unit(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > SMALLEST_NORM)


def best_first(scores):
    """Order of the scores of one pool."""
    return np.argsort(-scores, kind="stable")


def per_query(data, vectors):
    """One documented record per query: rank of the first relevant document, its scores, the best three documents."""
    measured, records = data.score(vectors, KEYS).to_numpy(), []
    for row, cosine in enumerate(data.scores(vectors)):
        order = best_first(cosine)
        ranked = data.doc_ids[data.pools[row][order]]
        rank = int(data.relevant[row][order].argmax()) + 1
        top = [
            *zip(ranked[:3], cosine[order[:3]].tolist(), strict=True),
            *[(None, math.nan)] * (3 - len(order)),
        ]
        records.append([data.query_ids[row], ranked[rank - 1], rank, *measured[row], *sum(top, ())])
    return pd.DataFrame(records, columns=list(PER_QUERY_FIELDS))


def group_labels(data, by="group"):
    """Label queries so that those with one label are not parted: of one group, else document, or of equal text."""
    check_choice("grouping", by, BY)
    if by == "query":
        return list(data.query_ids)
    groups = data.dataset.groups if by == "group" else None
    texts = data.dataset.queries.set_index("query_id")["text"]
    links = {}
    for query in data.query_ids:
        links[query] = {("text", " ".join(texts[query].lstrip("\ufeff").split()))}
        if groups is not None:
            links[query].add(("group", groups[query]))
        else:
            links[query] |= {
                ("document", doc) for doc, grade in data.dataset.qrels[query].items() if grade
            }
    labels = connected_components(links)
    return [labels[query] for query in data.query_ids]


def divide(data, *, by="group", seed=0):
    """Rows of queries for train, dev and test, of about the shares of `SHARES`, which share no group."""
    groups = largest_first(dict(enumerate(group_labels(data, by))), seed)
    parts = dict(
        zip(SHARES, _dealt(groups, [len(data) * share for share in SHARES.values()]), strict=True)
    )
    empty = [part for part, rows in parts.items() if not rows]
    if empty:
        raise InputError(
            f"{data.dataset.key}: {len(groups)} groups of queries are too few: no query is left for {', '.join(empty)}"
        )
    return parts


def folds(data, k=5, *, by="group", seed=0, rows=None):
    """Divide queries into folds that share no group.

    As scikit-learn's GroupKFold, where ties of groups of equal size depend on a sort; here they depend on the seed.
    """
    check_count("k", k, least=2)
    labels = group_labels(data, by)
    groups = largest_first(
        {row: labels[row] for row in (range(len(data)) if rows is None else rows)}, seed
    )
    if len(groups) < 2:
        raise InputError(f"{data.dataset.key}: all queries are linked, so nothing can be held out")
    return _dealt(groups, [0] * min(k, len(groups)))


def _dealt(groups, sizes):
    """Deal groups of rows, the largest first, to the part that lacks most of its size."""
    parts = [[] for _ in sizes]
    for rows in groups:
        neediest = max(range(len(parts)), key=lambda n: sizes[n] - len(parts[n]))
        parts[neediest] += rows
    return [sorted(part) for part in parts]
