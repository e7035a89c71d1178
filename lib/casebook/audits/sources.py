"""Relevance labels of any origin, in the one form that the checks read, in their stored order."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from casebook.data.records import read_table
from casebook.errors import InputError
from casebook.trec import judgements

LINK_COLUMNS = {  # columns of citations, with COUNTERCASE's names
    "year": "citation_year",
    "target": "mapped_doc_position_in_sorted_corpus",
    "target_year": "mapped_doc_year",
}
QUERY_COLUMN = "query_position"
RELEVANT_COLUMN = "relevant_positions"
SPLITS = ("train", "dev", "val", "validation", "test")
LARGEST_POSITION = 10_000_000  # every position up to the largest one is a document


@dataclass(frozen=True, eq=False)
class Labels:
    """Which documents are relevant to which questions, and how they were found.

    `splits` maps a split to its questions, and these to their relevant documents. `complete` says
    whether `documents` are the whole collection. `links` (columns year, target, target_year) are
    citations without questions; `groups` are wordings of one question; `candidates` limit what is
    ranked for a question.
    """

    name: str
    splits: dict
    documents: list
    complete: bool = True
    links: pd.DataFrame | None = None
    query_texts: dict = field(default_factory=dict)
    document_texts: dict = field(default_factory=dict)
    query_years: dict = field(default_factory=dict)
    document_years: dict = field(default_factory=dict)
    groups: dict = field(default_factory=dict)
    candidates: dict = field(default_factory=dict)
    repeated: tuple = ()
    copies: tuple = ()

    @property
    def relevant(self):
        """Relevant documents of the questions of all splits; a question without any is left out."""
        relevant = {}
        for questions in self.splits.values():
            for query, documents in questions.items():
                if documents:
                    relevant[query] = documents
        return relevant

    @cached_property
    def position(self):
        """Position of each document in the collection."""
        return {document: i for i, document in enumerate(self.documents)}

    @property
    def pairs(self):
        """Each question with each of its relevant documents."""
        return [
            (query, document)
            for query, documents in self.relevant.items()
            for document in documents
        ]

    def group(self, query):
        """Give the label of a question's group: its own id without one."""
        return self.groups.get(query, query)


def read_labels(source):
    """Read labels by dataset name, or from a file or folder."""
    path = Path(source)
    if str(source) and path.is_dir():
        if any(path.glob("corpus.jsonl*")) or (path / "policies").is_dir():
            return _folder(path)
        return _position_tables(path.name, sorted(path.glob("*.csv")), path)
    if path.is_file() and path.suffix == ".csv":
        return _position_tables(path.stem, [path], path)
    if path.is_file():
        return _trec(path)
    if path.parent != Path() or path.suffix:
        raise InputError(f"{path}: no such file or folder, and no data set's name")
    return _dataset(str(source))


def _dataset(name):
    """Load the splits of a dataset that were made to be apart, else its default."""
    from casebook.data import registry

    card, split = registry.resolve(name)
    apart = [name for name in card.splits if name in SPLITS]
    if split:
        splits = [split]
    elif len(apart) > 1:
        splits = apart
    else:
        splits = [card.default_split]
    return labels_of([registry.load(card.key, split) for split in splits], name)


def _folder(path):
    from casebook.data.folders import load_beir, read_mini_insurance

    if (path / "policies").is_dir():
        return labels_of([read_mini_insurance(path)], path.name)
    present = [file.stem for file in sorted((path / "qrels").glob("*.tsv"))]
    splits = [split for split in SPLITS if split in present] or present or ["test"]
    # What is audited need not be sound: any share of judgements may lack a document.
    return labels_of([load_beir(path, split, max_missing=1.0) for split in splits], path.name)


def labels_of(datasets, name=None):
    """Take the labels of one or more splits of a dataset."""
    documents = datasets[0].documents
    queries = pd.concat([dataset.queries for dataset in datasets], ignore_index=True)
    splits = {}
    groups = {}
    candidates = {}
    for dataset in datasets:
        splits[dataset.split] = _relevant_documents(dataset)
        groups |= dataset.groups or {}
        candidates |= dataset.candidates or {}
    return Labels(
        name or datasets[0].key,
        splits,
        list(documents["doc_id"]),
        query_texts=dict(zip(queries["query_id"], queries["text"], strict=True)),
        document_texts=dict(zip(documents["doc_id"], documents["text"], strict=True)),
        query_years=_years(queries, "query_id"),
        document_years=_years(documents, "doc_id"),
        groups=groups,
        candidates=candidates,
        copies=tuple(documents.attrs.get("copies", ())),
    )


def _relevant_documents(dataset):
    relevant = {}
    for query, grades in dataset.qrels.items():
        relevant[query] = [
            document
            for document, grade in grades.items()
            if grade >= 1 and document not in dataset.lacking
        ]
    return relevant


def _years(frame, key):
    if "year" not in frame:
        return {}
    years = pd.to_numeric(frame["year"], errors="coerce").set_axis(frame[key]).dropna()
    return years.astype(int).to_dict()


def _trec(path):
    """Read TREC judgements, repeated lines included."""
    questions = {}
    pairs = set()
    repeated = []
    for number, query, document, grade in judgements(path):
        if (query, document) in pairs:
            repeated.append(f"line {number}: {query} {document}")
        elif grade >= 1:
            questions.setdefault(query, []).append(document)
        pairs.add((query, document))
    if not questions:
        raise InputError(f"{path}: no relevant document; TREC judgements are expected")
    documents = {document for relevant in questions.values() for document in relevant}
    return Labels(
        path.name,
        {"all": questions},
        sorted(documents, key=natural),
        complete=False,
        repeated=tuple(repeated),
    )


def natural(name):
    """Give the key that sorts ids by their numbers, ``case_9`` before ``case_10``."""
    return [
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)
    ]


def _position_tables(name, paths, origin):
    """Read CSV of positions in a collection, and of citations with years."""
    links = None
    questions = {}
    positions = set()
    for path in paths:
        rows = list(read_table(path))
        columns = set(rows[0][1])
        link_columns = _link_columns(columns)
        if {QUERY_COLUMN, RELEVANT_COLUMN} <= columns:
            for line, row in rows:
                query = _position(path, line, QUERY_COLUMN, row[QUERY_COLUMN].strip())
                relevant = [
                    _position(path, line, RELEVANT_COLUMN, digits)
                    for digits in row[RELEVANT_COLUMN].split()
                ]
                questions[str(query)] = [str(position) for position in relevant]
        elif link_columns:
            links = _links(path, rows, link_columns)
    for query, relevant in questions.items():
        positions.update([int(query), *map(int, relevant)])
    if links is not None:
        positions.update(links["target"])
    if not positions:
        raise InputError(
            f"{origin}: nothing to audit; give a dataset, a BEIR folder, TREC judgements, or CSV "
            f"with {QUERY_COLUMN}, {RELEVANT_COLUMN}"
        )
    documents = [str(position) for position in range(max(positions) + 1)]
    return Labels(name, {"all": questions} if questions else {}, documents, links=links)


def _link_columns(columns):
    """Give each column of citations the name that a file has for it; none if one is missing."""
    names = {}
    for column, original in LINK_COLUMNS.items():
        if column in columns:
            names[column] = column
        elif original in columns:
            names[column] = original
    return names if len(names) == len(LINK_COLUMNS) else {}


def _links(path, rows, names):
    links = []
    for line, row in rows:
        link = {}
        for column, name in names.items():
            link[column] = _position(path, line, name, row[name].strip())
        links.append(link)
    return pd.DataFrame(links)


def _position(path, line, column, digits):
    """Read a whole number, which may be a year too."""
    if not re.fullmatch(r"[0-9]{1,8}", digits) or int(digits) > LARGEST_POSITION:
        raise InputError.at(
            path,
            line,
            f"{column} must be a whole number up to {LARGEST_POSITION:,}, not {digits[:40]!r}",
        )
    return int(digits)
