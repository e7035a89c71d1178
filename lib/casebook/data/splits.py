"""Splits of datasets: what they hold, their fingerprints, and how halves are drawn.

Every kind of split has a `key`, a `split`, a `card` or None, a `name`, `counts` and a
`fingerprint`; treat all of them as read-only.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.errors import InputError

VOTES = [
    "rater",
    "row",
    "item",
    "rag_side",
    "preferred",
    "factuality_s1",
    "usefulness_s1",
    "factuality_s2",
    "usefulness_s2",
]


class DataSplit:
    """What every split has beside its data."""

    whole = "all"  # split whose name is the key alone where there is no card

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        if self.card:
            return self.card.name_of(self.split)
        return self.key if self.split == self.whole else f"{self.key}_{self.split}"

    @cached_property
    def fingerprint(self):
        """SHA-256 (64 hexadecimal digits) of everything a number depends on, in its order."""
        digest = hashlib.sha256()
        for part in self._content():
            digest.update(part)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class RetrievalDataset(DataSplit):
    """Documents, questions and judgements of one split."""

    key: str
    split: str
    documents: pd.DataFrame  # doc_id, title, text and the collection's own columns
    queries: pd.DataFrame  # query_id, text and the collection's own columns
    qrels: dict  # {query: {document: grade}}
    card: object = field(default=None, repr=False)
    candidates: dict | None = field(
        default=None, repr=False
    )  # documents that may be ranked, by query
    groups: dict | None = field(
        default=None, repr=False
    )  # label that dependent queries share, by query
    lacking: frozenset = field(
        default=frozenset(), repr=False
    )  # judged documents that are not here
    unasked: dict = field(default_factory=dict, repr=False)  # judgements of queries without a text
    cluster: str = field(default="groups", repr=False)  # what a group is, for readers: "contracts"

    whole = "test"

    def __post_init__(self):
        documents = _unique_ids(self.documents, "doc_id", self.key)
        queries = _unique_ids(self.queries, "query_id", self.key)
        for mapping in (self.qrels, self.candidates or {}, self.groups or {}):
            _refuse_unknown(mapping, queries, "query", self.key)
        for judged in self.qrels.values():
            _refuse_unknown(judged, documents | self.lacking, "document", self.key)
        for ranked in (self.candidates or {}).values():
            _refuse_unknown(ranked, documents, "document", self.key)

    def subset(self, query_ids, split):
        """Some of the queries, with what belongs to them."""
        chosen = set(query_ids)

        def only(table):
            return table and {query: row for query, row in table.items() if query in chosen}

        return replace(
            self,
            split=split,
            queries=self.queries[self.queries["query_id"].isin(chosen)].reset_index(drop=True),
            qrels=only(self.qrels),
            candidates=only(self.candidates),
            groups=only(self.groups),
            lacking=self.lacking & {d for q in chosen for d in self.qrels.get(q, ())},
        )

    @property
    def counts(self):
        """Numbers of documents, queries and judgements."""
        judgements = sum(len(judged) for judged in self.qrels.values())
        return {
            "documents": len(self.documents),
            "queries": len(self.queries),
            "judgements": judgements,
        }

    @property
    def missing(self):
        """What the files lack or hold twice, with counts, in words; empty if nothing."""
        about = sum(d in self.lacking for row in self.qrels.values() for d in row)
        parts = []
        if about:
            total = self.counts["judgements"]
            parts.append(
                f"{about} of {total} judgements ({about / total:.1%}) name "
                f"{len(self.lacking)} document(s) that the collection lacks, "
                "which count as not found"
            )
        if self.unasked:
            count = sum(self.unasked.values())
            parts.append(
                f"{count} judgements of {len(self.unasked)} query id(s) without a text are left out"
            )
        if copies := self.documents.attrs.get("copies"):
            parts.append(f"{len(copies)} document(s) stand twice, and are read once")
        return "; ".join(parts)

    def _content(self):
        for frame in (self.documents, self.queries):
            columns = sorted(frame.columns)
            yield _canonical(columns)
            for row in zip(*(frame[column].tolist() for column in columns), strict=True):
                yield _canonical([_plain(value) for value in row])
        for query in sorted(self.qrels):
            yield _canonical([query, sorted(self.qrels[query].items())])
        for query in sorted(self.candidates or {}):
            yield _canonical([query, sorted(self.candidates[query])])


@dataclass(frozen=True, eq=False)
class StudySet(DataSplit):
    """What people annotated, rated or voted on; frames that a study has not are None."""

    key: str
    split: str
    counts: dict
    content: list = field(repr=False)  # what the fingerprint is taken of
    card: object = field(default=None, repr=False)
    records: pd.DataFrame | None = None  # annotated, one a row
    ratings: pd.DataFrame | None = (
        None  # items in rows, raters in columns, NaN where there is no rating
    )
    votes: pd.DataFrame | None = None  # VOTES and comment, one row a vote
    items: pd.DataFrame | None = None  # what was rated, or item, prompt, rag and base

    def _content(self):
        return (text.encode() for text in self.content)


def halve(groups, seed):
    """Divide queries, {query: group}, into halves ``dev`` and ``test`` that share no group."""
    halves = {"dev": set(), "test": set()}
    for members in largest_first(groups, seed):
        min(halves.values(), key=len).update(members)
    return {name: [query for query in groups if query in chosen] for name, chosen in halves.items()}


def largest_first(groups, seed):
    """Give the members of each group, the largest group first, equals in a drawn order."""
    members = defaultdict(list)
    for member, label in groups.items():
        members[label].append(member)

    def order(label):
        return -len(members[label]), hashlib.sha256(f"{seed}:{label}".encode()).hexdigest()

    return [members[label] for label in sorted(members, key=order)]


def connected_components(judged):
    """Label queries as ``g1``, ``g2``, ...: two that share a document have one label."""
    from scipy.sparse import coo_array, csgraph

    links = pd.Series(judged).map(list).explode().dropna()
    queries = pd.Index(judged).get_indexer(links.index)
    documents = len(judged) + pd.factorize(links)[0]
    nodes = len(judged) + len(links)
    graph = coo_array((np.ones(len(links)), (queries, documents)), shape=(nodes, nodes))
    labels = csgraph.connected_components(graph, directed=False)[1][: len(judged)]
    return {
        query: f"g{number + 1}"
        for query, number in zip(judged, pd.factorize(labels)[0], strict=True)
    }


def _unique_ids(frame, column, key):
    for value, n in Counter(frame[column].tolist()).items():
        if n > 1 or not isinstance(value, str):
            raise InputError(
                f"{key}: {column} {value!r} {'occurs more than once' if n > 1 else 'is not text'}"
            )
    return set(frame[column])


def _refuse_unknown(ids, known, kind, key):
    unknown = [value for value in ids if value not in known]
    if unknown:
        raise InputError(
            f"{key}: the judgements name {len(unknown)} unknown {kind} id(s), "
            f"for example {unknown[0]!r}"
        )


def _canonical(value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _plain(value):
    """None for every spelling of a missing cell."""
    if value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value
