"""A dataset with its vectors, which shifts are learned from and evaluated on, and its divisions."""

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

SHIFT_MEASURES = ("nDCG@10", "RR", "P@1", "original:map@1", "original:ndcg@3")
# Ap1 and Ndcg3 of the per-query records.
DOCUMENTED_MEASURES = ("original:map@1", "original:ndcg@3")
SPLIT_SHARES = {"train": 0.5, "dev": 0.2, "test": 0.3}
GROUPINGS = ("group", "document", "query")
SMALLEST_NORM = 1e-12
TIE_DECIMALS = 12  # cosines that differ by less differ by rounding only


@dataclass(frozen=True, eq=False)
class EmbeddedDataset:
    """Vectors of the effective queries [Q, D] and of all documents [N, D].

    Ties go to the higher document id.
    """

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
        rounded = np.round(cosines(vectors, self.documents), TIE_DECIMALS)
        return [row[pool] for pool, row in zip(self.pools, rounded, strict=True)]

    def run(self, vectors):
        """Cosines by query id and document id."""
        run = {}
        pools = zip(self.query_ids, self.pools, self.scores(vectors), strict=True)
        for query, pool, scores in pools:
            run[query] = dict(zip(self.doc_ids[pool], scores.tolist(), strict=True))
        return run

    def qrels(self):
        """Judgements of the queries."""
        return {query: self.dataset.qrels[query] for query in self.query_ids}

    def score(self, vectors, measures=SHIFT_MEASURES):
        """Measure the rankings that query vectors give: a frame, queries x measures."""
        return evaluate(self.qrels(), self.run(vectors), list(measures)).frame()

    def chance(self, measures=SHIFT_MEASURES):
        """Expected value of a random order of each query's pool, computed and not drawn."""
        pools = zip(self.query_ids, self.pools, strict=True)
        run = {query: dict.fromkeys(self.doc_ids[pool], 0.0) for query, pool in pools}
        return random_order(self.qrels(), run, list(measures))


def embed(dataset, encoder="minilm"):
    """Embed a dataset, by an encoder or its name; effective queries have a relevant document."""
    if isinstance(encoder, str):
        encoder = load_encoder(encoder)
    rows = {doc: row for row, doc in enumerate(dataset.documents["doc_id"])}
    all_documents = sorted(rows, reverse=True)
    query_ids = []
    pools = []
    relevant = []
    dropped = {}
    for query in dataset.queries["query_id"]:
        pool = all_documents
        if dataset.candidates is not None:
            pool = sorted(dataset.candidates.get(query, ()), reverse=True)
        grades = dataset.qrels.get(query, {})
        is_relevant = np.array([grades.get(doc, 0) > 0 for doc in pool])
        if not is_relevant.any():
            dropped[query] = "no_relevant" if query in dataset.qrels else "no_judgement"
            continue
        query_ids.append(query)
        pools.append(np.array([rows[doc] for doc in pool]))
        relevant.append(is_relevant)
    if not query_ids:
        raise InputError(f"{dataset.key}: no query has a relevant document to be found")
    query_texts = dataset.queries.set_index("query_id")["text"].loc[query_ids].tolist()
    queries = _finite(encoder.encode_queries(query_texts), "query")
    document_texts = dataset.documents["text"].tolist()
    documents = _finite(encoder.encode_documents(document_texts), "document")
    return EmbeddedDataset(dataset, query_ids, queries, documents, pools, relevant, dropped)


def _finite(vectors, kind):
    """Refuse vectors that are not finite."""
    vectors = np.asarray(vectors, dtype=np.float64)
    invalid = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(invalid):
        raise InputError(f"{len(invalid)} {kind} vectors are not finite (first: row {invalid[0]})")
    return vectors


def cosines(queries, documents):
    """Cosine of every query with every document; 0 where a vector has no length."""
    return unit(np.asarray(queries, dtype=np.float64)) @ unit(documents).T


def unit(vectors):
    """Give vectors the length 1; one without a length becomes zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > SMALLEST_NORM)


def ranking_order(scores):
    """Order of the scores of one pool."""
    return np.argsort(-scores, kind="stable")


def per_query(data, vectors):
    """One documented record per query: its first relevant document, and the top three."""
    values = data.score(vectors, DOCUMENTED_MEASURES).to_numpy()
    records = []
    for row, cosine in enumerate(data.scores(vectors)):
        order = ranking_order(cosine)
        ranking = data.doc_ids[data.pools[row][order]]
        rank = int(data.relevant[row][order].argmax()) + 1
        record = [data.query_ids[row], ranking[rank - 1], rank, *values[row]]
        for position in range(3):
            if position < len(order):
                record += [ranking[position], float(cosine[order[position]])]
            else:
                record += [None, math.nan]
        records.append(record)
    return pd.DataFrame(records, columns=list(PER_QUERY_FIELDS))


def group_labels(data, by="group"):
    """Label queries; those of one group, else of one document, or of equal text share a label."""
    check_choice("grouping", by, GROUPINGS)
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
    """Rows of queries for train, dev and test (`SPLIT_SHARES`), which share no group."""
    groups = largest_first(dict(enumerate(group_labels(data, by))), seed)
    sizes = [len(data) * share for share in SPLIT_SHARES.values()]
    parts = dict(zip(SPLIT_SHARES, _deal(groups, sizes), strict=True))
    empty = [part for part, rows in parts.items() if not rows]
    if empty:
        raise InputError(
            f"{data.dataset.key}: {len(groups)} groups of queries are too few: "
            f"no query is left for {', '.join(empty)}"
        )
    return parts


def folds(data, k=5, *, by="group", seed=0, rows=None):
    """Divide queries into folds that share no group.

    As scikit-learn's GroupKFold, where the order of groups of equal size depends on a sort; here
    it depends on the seed.
    """
    check_count("k", k, least=2)
    labels = group_labels(data, by)
    if rows is None:
        rows = range(len(data))
    groups = largest_first({row: labels[row] for row in rows}, seed)
    if len(groups) < 2:
        raise InputError(f"{data.dataset.key}: all queries are linked, so nothing can be held out")
    return _deal(groups, [0] * min(k, len(groups)))


def _deal(groups, sizes):
    """Deal groups of rows, the largest first, to the part that lacks most of its size."""
    parts = [[] for _ in sizes]
    for rows in groups:
        lacking = [size - len(part) for size, part in zip(sizes, parts, strict=True)]
        parts[lacking.index(max(lacking))] += rows
    return [sorted(part) for part in parts]
