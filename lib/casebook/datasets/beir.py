"""Folders in the BEIR layout, and documents with TREC judgements."""

import math
from dataclasses import replace
from pathlib import Path

from casebook.datasets.corpus import MAX_MISSING, RetrievalDataset, halve, with_titles
from casebook.errors import InputError
from casebook.readers import read_frame, read_lines
from casebook.trec import read_beir_qrels, read_qrels


def load_beir(folder, split="test", *, key=None, card=None, titles=True, max_missing=MAX_MISSING):
    """Read one split of a folder in the BEIR layout."""
    folder = Path(folder)
    corpus, questions = _one_of(folder, "corpus"), _one_of(folder, "queries")
    judged = folder / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        splits = sorted(path.stem for path in folder.glob("qrels/*.tsv")) or ["none"]
        raise InputError(f"{judged}: no such file; splits here: {', '.join(splits)}")
    documents = _read_documents(corpus, "_id")
    return _assemble(
        key or folder.resolve().name,
        split,
        with_titles(documents) if titles else documents,
        read_frame(questions, "_id", "query_id"),
        judged,
        read_beir_qrels(judged),
        card,
        max_missing,
    )


def read_collection(folder, titles=True):
    """Read the documents of a BEIR folder, without questions and judgements."""
    documents = _read_documents(_one_of(Path(folder), "corpus"), "_id")
    return with_titles(documents) if titles else documents


def read_questions(path):
    """Read questions without judgements."""
    path = Path(path)
    path = _one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def load_trec(documents, queries, qrels, *, key, split="all", id_field="id", card=None, titles=True):
    """Read documents and queries in JSON lines with judgements in TREC format."""
    documents = _read_documents(documents, id_field)
    return _assemble(
        key,
        split,
        with_titles(documents) if titles else documents,
        read_frame(queries, id_field, "query_id"),
        Path(qrels),
        read_qrels(qrels),
        card,
    )


def shipped(card, files, split):
    """Read one split of a BEIR folder that has a card."""
    folder = files["corpus.jsonl"].parent
    return load_beir(folder, split, key=card.key, card=card, titles=False)


def shipped_halves(card, files, split):
    """Read a BEIR folder that has a card and one set of judgements, in two halves."""
    whole = replace(shipped(card, files, "test"), split=split)
    if split == "all":
        return whole
    return whole.subset(halve(whole.groups, seed=0)[split], split)


def _one_of(folder, stem):
    for suffix in (".jsonl", ".jsonl.gz"):
        if (folder / f"{stem}{suffix}").is_file():
            return folder / f"{stem}{suffix}"
    raise InputError(f"{folder}: is no BEIR folder: it has no {stem}.jsonl")


def _read_documents(path, id_field):
    return read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)


def _assemble(key, split, documents, queries, path, qrels, card, most=MAX_MISSING):
    """Join the three parts and account for judgements about what is not there."""
    asked = queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True)
    ordered = {query: dict(qrels[query]) for query in asked["query_id"]}
    known = set(documents["doc_id"])
    lacking = frozenset(d for row in qrels.values() for d in row if d not in known)
    unasked = {query: row for query, row in qrels.items() if query not in ordered}
    about = sum(d in lacking for row in ordered.values() for d in row)
    count = about + sum(map(len, unasked.values()))
    total = sum(map(len, qrels.values()))
    if count > most * total:
        where = _first_about(path, unasked, lacking)
        raise InputError.at(path, *_missing(where, count, total, most))
    groups = None
    if "group" in asked:
        groups = dict(zip(asked["query_id"], asked["group"], strict=True))
    return RetrievalDataset(
        key,
        split,
        documents,
        asked,
        ordered,
        card,
        groups=groups,
        lacking=lacking & {d for row in ordered.values() for d in row},
        unasked={query: len(row) for query, row in unasked.items()},
    )


def _first_about(path, queries, documents):
    """Give number, kind and id of the first judgement about something unknown."""
    for number, line in read_lines(path):
        fields = [field.strip() for field in line.split("\t")]
        fields = fields if len(fields) > 1 else line.split()
        if fields and fields[0] in queries:
            return number, "query", fields[0]
        named = documents.intersection(fields[1:3])
        if named:
            return number, "document", min(named)
    raise AssertionError("the judgements read name what their file does not")


def _missing(where, count, total, most):
    number, kind, name = where
    enough = math.ceil(100 * count / total) / 100
    return number, (
        f"judges the {kind} {name!r}, which does not exist; {count} of {total} "
        f"judgements name such ids ({count / total:.1%}), max_missing is {most:.0%}: "
        f"correct the files, or allow them with max_missing={enough:.2f} or more"
    )
