"""A dataset with its vectors, which shifts are learned from and evaluated on, and its divisions."""

import itertools
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from casebook.data.splits import connected_components, largest_first
from casebook.errors import InputError
from casebook.measures.ranking import evaluate
from casebook.models.cache import unit_rows
from casebook.models.encoders import load_encoder
from casebook.runs.record import PER_QUERY_FIELDS
from casebook.stats.samples import check_choice, check_count

SHIFT_MEASURES = ("nDCG@10", "RR", "P@1", "original:map@1", "original:ndcg@3")
# Ap1 and Ndcg3 of the per-query records.
DOCUMENTED_MEASURES = ("original:map@1", "original:ndcg@3")
SPLIT_SHARES = {"train": 0.5, "dev": 0.2, "test": 0.3}
_TOP_FIELDS = PER_QUERY_FIELDS[5:]  # names and cosines of the best three
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
    # of each query: the documents it ranks, by descending id
    pools: list = field(repr=False)
    relevant: list = field(repr=False)  # of each query: which of its pool are relevant
    dropped: dict = field(default_factory=dict)

    def __len__(self):
        return len(self.query_ids)

    @property
    def doc_ids(self):
        return self.dataset.documents["doc_id"].to_numpy(dtype=object)

    def take(self, rows):
        return replace(
            self,
            query_ids=[self.query_ids[row] for row in rows],
            queries=self.queries[list(rows)],
            pools=[self.pools[row] for row in rows],
            relevant=[self.relevant[row] for row in rows],
            dropped={},
        )

    def account(self):
        return {
            "n_total": len(self) + len(self.dropped),
            "n_effective": len(self),
            "n_dropped": len(self.dropped),
            "reasons": dict(Counter(self.dropped.values()).most_common()),
        }

    def scores(self, vectors):
        """Cosines of each query vector with the documents of its pool."""
        queries = unit_rows(np.nan_to_num(vectors))
        cosines = np.round(queries @ unit_rows(self.documents).T, TIE_DECIMALS)
        return [row[pool] for pool, row in zip(self.pools, cosines, strict=True)]

    def rankings(self, vectors):
        """Of each query, best first: its documents, their cosines, and which are relevant."""
        for row, scores in enumerate(self.scores(vectors)):
            order = np.argsort(-scores, kind="stable")
            yield self.pools[row][order], scores[order], self.relevant[row][order]

    def run(self, vectors):
        found = {}
        for query, ranking in zip(self.query_ids, self.rankings(vectors), strict=True):
            pool, cosines, _ = ranking
            found[query] = dict(zip(self.doc_ids[pool], cosines.tolist(), strict=True))
        return found

    def qrels(self):
        return {query: self.dataset.qrels[query] for query in self.query_ids}

    def score(self, vectors, measures=SHIFT_MEASURES):
        """Measure the rankings that query vectors give: a frame, queries x measures."""
        return evaluate(self.qrels(), self.run(vectors), list(measures)).frame()


def embed(dataset, encoder="minilm"):
    """Embed a dataset, by an encoder or its name; effective queries have a relevant document."""
    if isinstance(encoder, str):
        encoder = load_encoder(encoder)
    rows = {doc: row for row, doc in enumerate(dataset.documents["doc_id"])}
    candidates = dataset.candidates or dict.fromkeys(dataset.queries["query_id"], rows)
    pools = {}
    relevant = {}
    dropped = {}
    for query in dataset.queries["query_id"]:
        pool = sorted(candidates.get(query, ()), reverse=True)
        grades = dataset.qrels.get(query, {})
        is_relevant = np.array([grades.get(doc, 0) > 0 for doc in pool])
        if not is_relevant.any():
            dropped[query] = "no_relevant" if query in dataset.qrels else "no_judgement"
            continue
        pools[query] = np.array([rows[doc] for doc in pool])
        relevant[query] = is_relevant
    if not pools:
        raise InputError(f"{dataset.key}: no query has a relevant document to be found")
    texts = dataset.queries.set_index("query_id")["text"]
    return EmbeddedDataset(
        dataset,
        list(pools),
        np.asarray(encoder.encode_queries(texts[list(pools)].tolist()), dtype=float),
        np.asarray(
            encoder.encode_documents(dataset.documents["text"].tolist()), dtype=float
        ),
        list(pools.values()),
        list(relevant.values()),
        dropped,
    )


def per_query(data, vectors):
    """One documented record per query: its first relevant document, and the top three."""
    records = []
    for pool, cosines, relevant in data.rankings(vectors):
        documents = data.doc_ids[pool]
        first = int(relevant.argmax())
        best = itertools.chain.from_iterable(zip(documents, cosines, strict=True))
        record = dict(zip(_TOP_FIELDS, best, strict=False))
        records.append(record | {"RelevantDocId": documents[first], "Rank": first + 1})
    frame = pd.DataFrame(records, columns=list(PER_QUERY_FIELDS)).assign(
        QueryId=data.query_ids
    )
    scores = data.score(vectors, DOCUMENTED_MEASURES)
    frame[["Ap1", "Ndcg3"]] = scores.to_numpy()
    return frame


def group_labels(data, by="group"):
    """Label queries; those of one group, else of one document, or of equal text share a label."""
    check_choice("grouping", by, ("group", "document", "query"))
    if by == "query":
        return list(data.query_ids)
    texts = data.dataset.queries.set_index("query_id")["text"]
    links = {}
    for query, grades in data.qrels().items():
        linked = [doc for doc, grade in grades.items() if grade]
        if by == "group" and data.dataset.groups is not None:
            linked = [("group", data.dataset.groups[query])]
        links[query] = [("text", *texts[query].lstrip("\ufeff").split()), *linked]
    return list(connected_components(links).values())


def divide(data, *, by="group", seed=0):
    """Rows of queries for train, dev and test (`SPLIT_SHARES`), which share no group."""
    groups = largest_first(dict(enumerate(group_labels(data, by))), seed)
    parts = _filled(groups, [len(data) * share for share in SPLIT_SHARES.values()])
    if not all(parts):
        raise InputError(
            f"{data.dataset.key}: {len(groups)} groups of queries are too few"
        )
    return dict(zip(SPLIT_SHARES, parts, strict=True))


def folds(data, k=5, *, by="group", seed=0, rows=None):
    """Folds of queries that share no group: GroupKFold with equal groups in a drawn order."""
    check_count("k", k, least=2)
    labels = group_labels(data, by)
    rows = range(len(labels)) if rows is None else rows
    groups = largest_first({row: labels[row] for row in rows}, seed)
    return _filled(groups, [0] * min(k, len(groups)))


def _filled(groups, sizes):
    """Groups of rows, the largest first, each for the part that lacks most of its size."""
    parts = [[] for _ in sizes]
    for rows in groups:
        lacking = np.subtract(sizes, [len(part) for part in parts])
        parts[lacking.argmax()] += rows
    return [sorted(part) for part in parts]
