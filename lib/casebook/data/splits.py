"""Splits of datasets: what they hold, their fingerprints, and how halves are drawn.

Every kind of split has a `key`, a `split`, a `card` or None, a `name`, `counts` and a
`fingerprint`; treat all of them as read-only.
"""

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.errors import InputError

VOTE_SCORE_COLUMNS = ["factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2"]
VOTE_COLUMNS = ["rater", "row", "item", "rag_side", "preferred", *VOTE_SCORE_COLUMNS]


class DataSplit:
    default_split = "all"  # split whose name is the key alone where there is no card

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        default = self.card.default_split if self.card else self.default_split
        return self.key if self.split == default else f"{self.key}_{self.split}"

    @cached_property
    def fingerprint(self):
        """SHA-256 (64 hexadecimal digits) of everything a number depends on, in its order."""
        return hashlib.sha256(b"".join(self._content())).hexdigest()


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
        for ids in (self.documents["doc_id"], self.queries["query_id"]):
            if not ids.is_unique:
                twice = ids[ids.duplicated()].iloc[0]
                raise InputError(f"{self.key}: {ids.name} {twice!r} occurs more than once")
        judged = set().union(*self.qrels.values()) - self.lacking
        unknown = set(self.qrels).difference(self.queries["query_id"])
        unknown |= judged.difference(self.documents["doc_id"])
        if unknown:
            raise InputError(f"{self.key}: the judgements name {min(unknown)!r}, which is unknown")

    def subset(self, query_ids, split):
        chosen = set(query_ids)
        parts = {}
        for name in ("qrels", "candidates", "groups"):
            mapping = getattr(self, name)
            parts[name] = mapping and {key: mapping[key] for key in mapping if key in chosen}
        queries = self.queries[self.queries["query_id"].isin(chosen)].reset_index(drop=True)
        lacking = self.lacking.intersection(set().union(*parts["qrels"].values()))
        return replace(self, split=split, queries=queries, lacking=lacking, **parts)

    @property
    def counts(self):
        return {
            "documents": len(self.documents),
            "queries": len(self.queries),
            "judgements": sum(map(len, self.qrels.values())),
        }

    @property
    def missing(self):
        """What the files lack or hold twice, with counts, in words; empty if nothing."""
        lacking = sum(len(self.lacking & grades.keys()) for grades in self.qrels.values())
        counts = {
            f"of {self.counts['judgements']} judgements name documents that the collection lacks, "
            "which count as not found": lacking,
            "judgements of queries without a text are left out": sum(self.unasked.values()),
            "documents occur twice and are read once": len(self.documents.attrs.get("copies", ())),
        }
        return "; ".join(f"{count} {what}" for what, count in counts.items() if count)

    def _content(self):
        for frame in (self.documents, self.queries):
            columns = sorted(frame.columns)
            yield _canonical(columns)
            cells = frame[columns].astype(object)
            for row in cells.where(cells.notna(), None).to_numpy().tolist():
                yield _canonical(row)
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
        return [text.encode() for text in self.content]


def halve(groups, seed):
    """Divide queries, {query: group}, into halves ``dev`` and ``test`` that share no group."""
    halves = {"dev": set(), "test": set()}
    for members in largest_first(groups, seed):
        min(halves.values(), key=len).update(members)
    return {name: [query for query in groups if query in chosen] for name, chosen in halves.items()}


def largest_first(groups, seed):
    """Members of each group, the largest group first, equals in a drawn order."""
    members = defaultdict(list)
    for member, label in groups.items():
        members[label].append(member)
    drawn = {label: hashlib.sha256(f"{seed}:{label}".encode()).hexdigest() for label in members}
    return [members[label] for label in sorted(members, key=lambda k: (-len(members[k]), drawn[k]))]


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


def _canonical(value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text.encode("utf-8", "surrogatepass") + b"\n"
