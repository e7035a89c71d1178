"""One split of a retrieval dataset, its fingerprint, and how splits are drawn."""

import hashlib
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from casebook.datasets.cards import Card
from casebook.errors import InputError

MAX_MISSING = 0.05
"""Share of judgements that may name what a collection lacks: one in twenty takes about
.05 from a recall, which is half the interval of a few hundred queries."""


@dataclass(frozen=True, eq=False)
class RetrievalDataset:
    """Documents, questions and judgements of one split; treat it as read-only."""

    key: str
    split: str
    documents: pd.DataFrame
    queries: pd.DataFrame
    qrels: dict
    card: Card | None = field(default=None, repr=False)
    candidates: dict | None = field(default=None, repr=False)
    groups: dict | None = field(default=None, repr=False)
    lacking: frozenset = field(default=frozenset(), repr=False)
    unasked: dict = field(default_factory=dict, repr=False)

    def __post_init__(self):
        documents = _unique_ids(self.documents, "doc_id", self.key)
        queries = _unique_ids(self.queries, "query_id", self.key)
        for mapping in (self.qrels, self.candidates or {}, self.groups or {}):
            _refuse_unknown(mapping, queries, "query", self.key)
        named = documents | self.lacking
        for judged in self.qrels.values():
            _refuse_unknown(judged, named, "document", self.key)
        for ranked in (self.candidates or {}).values():
            _refuse_unknown(ranked, documents, "document", self.key)

    def subset(self, query_ids, split):
        """Keep some of the queries, with what belongs to them."""
        chosen = set(query_ids)
        kept = self.queries[self.queries["query_id"].isin(chosen)]
        return replace(
            self,
            split=split,
            queries=kept.reset_index(drop=True),
            qrels=_only(self.qrels, chosen),
            candidates=_only(self.candidates, chosen),
            groups=_only(self.groups, chosen),
            lacking=self.lacking & {d for q in chosen for d in self.qrels.get(q, ())},
        )

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        if self.card:
            return self.card.name_of(self.split)
        return self.key if self.split == "test" else f"{self.key}_{self.split}"

    @property
    def counts(self):
        """Numbers of documents, queries and judgements, as a dict."""
        judgements = sum(len(judged) for judged in self.qrels.values())
        return {"documents": len(self.documents), "queries": len(self.queries), "judgements": judgements}

    @property
    def missing(self):
        """Say what the files lack or hold twice, with counts; empty if nothing."""
        about = sum(d in self.lacking for row in self.qrels.values() for d in row)
        parts = []
        if about:
            total = self.counts["judgements"]
            parts.append(
                f"{about} of {total} judgements ({about / total:.1%}) name "
                f"{len(self.lacking)} document(s) that the collection lacks, which "
                "count as not found"
            )
        if self.unasked:
            parts.append(
                f"{sum(self.unasked.values())} judgements of {len(self.unasked)} "
                "query id(s) without a text are left out"
            )
        if copies := self.documents.attrs.get("copies"):
            parts.append(f"{len(copies)} document(s) stand twice, and are read once")
        return "; ".join(parts)

    @cached_property
    def fingerprint(self):
        """SHA-256 (64 hexadecimal digits) of everything a score depends on."""
        digest = hashlib.sha256()
        for frame in (self.documents, self.queries):
            for line in _canonical_rows(frame):
                digest.update(line)
        for query in sorted(self.qrels):
            digest.update(_canonical([query, sorted(self.qrels[query].items())]))
        for query in sorted(self.candidates or {}):
            digest.update(_canonical([query, sorted(self.candidates[query])]))
        return digest.hexdigest()


def with_titles(documents):
    """Let the text of each document begin with its title: title, blank, text."""
    if "title" not in documents:
        return documents
    pairs = zip(documents["title"].fillna(""), documents["text"], strict=True)
    texts = [f"{title} {text}".strip() if title else text for title, text in pairs]
    return documents.assign(text=texts)


def _only(table, chosen):
    """Keep the entries of some queries; None stays None."""
    return table and {query: row for query, row in table.items() if query in chosen}


def _unique_ids(frame, column, key):
    """Give the set of ids of a frame; InputError for doubled or non-text ids."""
    ids = frame[column].tolist()
    wrong = next((value for value in ids if not isinstance(value, str)), None)
    if wrong is not None:
        raise InputError(f"{key}: {column} {wrong!r} is not text")
    known = set(ids)
    if len(known) < len(ids):
        twice = next(value for value, n in Counter(ids).items() if n > 1)
        raise InputError(f"{key}: {column} {twice!r} occurs more than once")
    return known


def _refuse_unknown(ids, known, kind, key):
    """Raise InputError, with a count and one example, for ids that do not exist."""
    unknown = [value for value in ids if value not in known]
    if unknown:
        raise InputError(f"{key}: the judgements name {len(unknown)} unknown {kind} id(s), for example {unknown[0]!r}")


def _canonical_rows(frame):
    """Yield one canonical line for the header and for each row of a frame."""
    columns = sorted(frame.columns)
    yield _canonical(columns)
    for row in zip(*(frame[column].tolist() for column in columns), strict=True):
        yield _canonical([_plain(value) for value in row])


def _canonical(value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _plain(value):
    """Give None for every spelling of a missing cell."""
    if value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value


def halve(groups, seed):
    """Divide queries into two halves that share no group."""
    halves = {"dev": set(), "test": set()}
    for members in largest_first(groups, seed):
        min(halves.values(), key=len).update(members)
    return {name: [query for query in groups if query in chosen] for name, chosen in halves.items()}


def largest_first(groups, seed):
    """List the members of each group, those of the largest group first."""
    members = defaultdict(list)
    for member, label in groups.items():
        members[label].append(member)

    def order(label):
        digest = hashlib.sha256(f"{seed}:{label}".encode()).hexdigest()
        return -len(members[label]), digest

    return [members[label] for label in sorted(members, key=order)]
