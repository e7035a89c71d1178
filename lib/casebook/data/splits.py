"""Splits of datasets: what they hold, their fingerprints, and how halves are drawn.

Every kind of split has a `key`, a `split`, a `card` or None, a `name`, `counts` and a
`fingerprint`; treat all of them as read-only.
"""

import hashlib
import json
import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.errors import InputError

VOTE_SCORE_COLUMNS = ["factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2"]
VOTE_COLUMNS = [
    "rater",
    "row",
    "item",
    "rag_side",
    "preferred",
    *VOTE_SCORE_COLUMNS,
]


class DataSplit:
    """What every split has beside its data."""

    default_split = "all"  # split whose name is the key alone where there is no card

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        if self.card:
            return self.card.name_of(self.split)
        return self.key if self.split == self.default_split else f"{self.key}_{self.split}"

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
    # By query: documents that may be ranked.
    candidates: dict | None = field(default=None, repr=False)
    # By query: label that dependent queries share.
    groups: dict | None = field(default=None, repr=False)
    # Judged documents that are not here.
    lacking: frozenset = field(default=frozenset(), repr=False)
    # Number of judgements of each query without a text.
    unasked: dict = field(default_factory=dict, repr=False)
    # What a group is, for readers: "contracts".
    cluster: str = field(default="groups", repr=False)

    default_split = "test"

    def __post_init__(self):
        documents = _unique_ids(self.documents, "doc_id", self.key)
        queries = _unique_ids(self.queries, "query_id", self.key)
        for mapping in (self.qrels, self.candidates or {}, self.groups or {}):
            _refuse_unknown(mapping, queries, "query", self.key)
        for grades in self.qrels.values():
            _refuse_unknown(grades, documents | self.lacking, "document", self.key)
        for ranked in (self.candidates or {}).values():
            _refuse_unknown(ranked, documents, "document", self.key)

    def subset(self, query_ids, split):
        """Some of the queries, with what belongs to them."""
        chosen = set(query_ids)

        def of_chosen(mapping):
            return mapping and {query: value for query, value in mapping.items() if query in chosen}

        documents = {document for query in chosen for document in self.qrels.get(query, ())}
        return replace(
            self,
            split=split,
            queries=self.queries[self.queries["query_id"].isin(chosen)].reset_index(drop=True),
            qrels=of_chosen(self.qrels),
            candidates=of_chosen(self.candidates),
            groups=of_chosen(self.groups),
            lacking=self.lacking & documents,
        )

    @property
    def counts(self):
        """Numbers of documents, queries and judgements."""
        return {
            "documents": len(self.documents),
            "queries": len(self.queries),
            "judgements": sum(map(len, self.qrels.values())),
        }

    @property
    def missing(self):
        """What the files lack or hold twice, with counts, in words; empty if nothing."""
        judged = [document in self.lacking for grades in self.qrels.values() for document in grades]
        parts = []
        if any(judged):
            parts.append(
                f"{sum(judged)} of {len(judged)} judgements ({sum(judged) / len(judged):.1%}) name "
                f"{len(self.lacking)} document(s) that the collection lacks, "
                "which count as not found"
            )
        if self.unasked:
            count = sum(self.unasked.values())
            parts.append(
                f"{count} judgements of {len(self.unasked)} query id(s) without a text are left out"
            )
        copies = self.documents.attrs.get("copies")
        if copies:
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
    ratings: pd.DataFrame | None = None  # items in rows, raters in columns, NaN for no rating
    votes: pd.DataFrame | None = None  # VOTE_COLUMNS and comment, one row a vote
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


def connected_components(qrels):
    """Label queries as ``g1``, ``g2``, ...: two that share a document have one label."""
    from scipy.sparse import coo_array, csgraph

    links = pd.Series(qrels).map(list).explode().dropna()
    queries = pd.Index(qrels).get_indexer(links.index)
    documents = len(qrels) + pd.factorize(links)[0]
    nodes = len(qrels) + len(links)
    graph = coo_array((np.ones(len(links)), (queries, documents)), shape=(nodes, nodes))
    _, components = csgraph.connected_components(graph, directed=False)
    numbers, _ = pd.factorize(components[: len(qrels)])
    return {query: f"g{number + 1}" for query, number in zip(qrels, numbers, strict=True)}


def _unique_ids(frame, column, key):
    ids = frame[column]
    for value in ids[ids.duplicated()]:
        raise InputError(f"{key}: {column} {value!r} occurs more than once")
    for value in ids[~ids.map(lambda name: isinstance(name, str)).astype(bool)]:
        raise InputError(f"{key}: {column} {value!r} is not text")
    return set(ids)


def _refuse_unknown(ids, existing, kind, key):
    unknown = [value for value in ids if value not in existing]
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
