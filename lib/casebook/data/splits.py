"""Splits of datasets: what they hold, their fingerprints, and how halves are drawn.

Every kind of split has a `key`, a `split`, a `card` or None, a `name` and `counts`; treat all of
them as read-only.
"""

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import pandas as pd

from casebook.errors import InputError


class DataSplit:
    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        default = self.card.default_split if self.card else "test"
        return self.key if self.split == default else f"{self.key}_{self.split}"


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
    # What a group is, for readers: "contracts".
    cluster: str = field(default="groups", repr=False)
    # What its reader left out.
    note: str = field(default="", repr=False)

    def __post_init__(self):
        for ids in (self.documents["doc_id"], self.queries["query_id"]):
            for name in ids[ids.duplicated()]:
                raise InputError(
                    f"{self.key}: {ids.name} {name!r} occurs more than once"
                )
        for name in self.qrels.keys() - set(self.queries["query_id"]):
            raise InputError(
                f"{self.key}: the judgements name {name!r}, which is unknown"
            )

    def subset(self, query_ids, split):
        parts = {
            "qrels": self.qrels,
            "candidates": self.candidates,
            "groups": self.groups,
        }
        for name, mapping in parts.items():
            if mapping is not None:
                parts[name] = {key: mapping[key] for key in mapping if key in query_ids}
        queries = self.queries[self.queries["query_id"].isin(query_ids)]
        return replace(
            self, split=split, queries=queries.reset_index(drop=True), **parts
        )

    @property
    def counts(self):
        return {
            "documents": len(self.documents),
            "queries": len(self.queries),
            "judgements": sum(map(len, self.qrels.values())),
        }

    @cached_property
    def lacking(self):
        """Judged documents that are not here."""
        return set().union(*self.qrels.values()).difference(self.documents["doc_id"])

    @property
    def missing(self):
        """What the files lack or hold twice, with counts, in words; empty if nothing."""
        n = sum(len(self.lacking & grades.keys()) for grades in self.qrels.values())
        of = self.counts["judgements"]
        lacking = (
            f"{n} of {of} judgements name documents that the collection lacks"
            if n
            else ""
        )
        return "; ".join(filter(None, [lacking, self.note]))

    @cached_property
    def fingerprint(self):
        """SHA-256 (64 hexadecimal digits) of everything a number depends on, in its order."""
        content = []
        for frame in (self.documents, self.queries):
            columns = sorted(frame.columns)
            cells = frame[columns].astype(object)
            cells = cells.where(cells.notna(), None)
            content += [columns, *cells.to_numpy().tolist()]
        judged = {query: grades.items() for query, grades in self.qrels.items()}
        for mapping in (judged, self.candidates or {}):
            content += [[query, sorted(mapping[query])] for query in sorted(mapping)]
        as_written = partial(
            json.dumps, ensure_ascii=False, sort_keys=True, default=str
        )
        text = "".join(f"{line}\n" for line in map(as_written, content))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class StudySet(DataSplit):
    """Claims or votes with what they are about; frames that a study has not are None."""

    key: str
    split: str
    counts: dict
    card: object = field(default=None, repr=False)
    # claim_id, claim, label (of GOLD_LABELS or None), original_label and more
    claims: pd.DataFrame | None = None
    # claim_id, source and text of passages
    evidence: pd.DataFrame | None = None
    votes: pd.DataFrame | None = None  # one row a vote
    items: pd.DataFrame | None = None  # item, prompt, rag and base


def halve(groups, seed):
    """Divide queries, {query: group}, into halves ``dev`` and ``test`` that share no group."""
    halves = {"dev": set(), "test": set()}
    for members in largest_first(groups, seed):
        min(halves.values(), key=len).update(members)
    return {
        name: [query for query in groups if query in chosen]
        for name, chosen in halves.items()
    }


def largest_first(groups, seed):
    """Members of each group, the largest group first, equals in a drawn order."""
    members = defaultdict(list)
    for member, label in groups.items():
        members[label].append(member)
    drawn = {
        label: hashlib.sha256(f"{seed}:{label}".encode()).hexdigest()
        for label in members
    }
    in_drawn_order = [members[label] for label in sorted(members, key=drawn.get)]
    return sorted(in_drawn_order, key=len, reverse=True)


def connected_components(shared):
    """Label queries as ``g1``, ``g2``, ...: two that share a document have one label."""
    from scipy.sparse import coo_array, csgraph

    links = pd.Series([[*documents] for documents in shared.values()], dtype=object)
    links = links.explode().dropna()
    document, names = pd.factorize(links.to_numpy())
    n = len(shared) + len(names)
    graph = coo_array((document >= 0, (links.index, document + len(shared))), (n, n))
    _, labels = csgraph.connected_components(graph, directed=False)
    return {
        query: f"g{label + 1}" for query, label in zip(shared, labels, strict=False)
    }
