"""Relevance labels of any origin, in the one form that the checks read, in the order in which they are stored."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.readers import read_records
from casebook.trec import judgements

LINKS = {  # columns of citations, with COUNTERCASE's names
    "year": "citation_year",
    "target": "mapped_doc_position_in_sorted_corpus",
    "target_year": "mapped_doc_year",
}
POSITION_COLUMNS = ("query_position", "relevant_positions")
SPLITS = ("train", "dev", "val", "validation", "test")
LARGEST = 10_000_000  # every position up to the largest one is a document


@dataclass(frozen=True, eq=False)
class Labels:
    """Which documents are relevant to which questions, and how they were found.

    `splits` maps a split to its questions, and these to their relevant documents. `links` (columns year, target,
    target_year) are citations without questions; `groups` are wordings of one question; `candidates` limit what is
    ranked for a question.
    """

    name: str
    splits: dict
    documents: list
    whole: bool = True
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
        """Question to relevant documents of all splits; without any it is left out."""
        return {
            query: found
            for questions in self.splits.values()
            for query, found in questions.items()
            if found
        }

    @cached_property
    def place(self):
        """Document to its place in the collection."""
        return {document: i for i, document in enumerate(self.documents)}

    @property
    def pairs(self):
        """Questions with their relevant documents, one by one."""
        return [(query, document) for query, found in self.relevant.items() for document in found]

    def group(self, query):
        """Give the label of a question's group: its own id without one."""
        return self.groups.get(query, query)


def read_labels(source):
    """Read labels by dataset name, or from a file or folder."""
    path = Path(source)
    if str(source) and path.is_dir():
        if any(path.glob("corpus.jsonl*")) or (path / "policies").is_dir():
            return _folder(path)
        return _tables(path.name, sorted(path.glob("*.csv")), path)
    if path.is_file():
        return _tables(path.stem, [path], path) if path.suffix == ".csv" else _trec(path)
    if path.parent != Path() or path.suffix:
        raise InputError(f"{path}: no such file or folder, and no data set's name")
    return _dataset(str(source))


def _dataset(name):
    """Load the splits of a dataset that were made to be apart, else its default."""
    from casebook.data import registry

    card, split = registry.resolve(name)
    apart = [s for s in card.splits if s in SPLITS]
    chosen = [split] if split else apart if len(apart) > 1 else [card.default_split]
    return labels_of([registry.load(card.key, s) for s in chosen], name)


def _folder(path):
    from casebook.data.folders import load_beir, read_mini_insurance

    if (path / "policies").is_dir():
        return labels_of([read_mini_insurance(path)], path.name)
    present = [file.stem for file in sorted((path / "qrels").glob("*.tsv"))]
    chosen = [split for split in SPLITS if split in present] or present or ["test"]
    # What is audited need not be sound: any share of judgements may lack a document.
    return labels_of([load_beir(path, split, max_missing=1.0) for split in chosen], path.name)


def labels_of(datasets, name=None):
    """Take the labels of one or more splits of a dataset."""
    first = datasets[0]
    documents, queries = (
        first.documents,
        pd.concat([dataset.queries for dataset in datasets], ignore_index=True),
    )
    splits = {
        dataset.split: {
            query: [
                doc for doc, grade in judged.items() if grade >= 1 and doc not in dataset.lacking
            ]
            for query, judged in dataset.qrels.items()
        }
        for dataset in datasets
    }
    return Labels(
        name or first.key,
        splits,
        list(documents["doc_id"]),
        query_texts=dict(zip(queries["query_id"], queries["text"], strict=True)),
        document_texts=dict(zip(documents["doc_id"], documents["text"], strict=True)),
        query_years=_years(queries, "query_id"),
        document_years=_years(documents, "doc_id"),
        groups={
            query: group for dataset in datasets for query, group in (dataset.groups or {}).items()
        },
        candidates={
            query: found
            for dataset in datasets
            for query, found in (dataset.candidates or {}).items()
        },
        copies=tuple(documents.attrs.get("copies", ())),
    )


def _years(frame, key):
    if "year" not in frame:
        return {}
    years = pd.to_numeric(frame["year"], errors="coerce").set_axis(frame[key]).dropna()
    return years.astype(int).to_dict()


def _trec(path):
    """Read TREC judgements, repeated lines included."""
    questions, seen, repeated = {}, set(), []
    for number, query, document, grade in judgements(path):
        if (query, document) in seen:
            repeated.append(f"line {number}: {query} {document}")
        elif grade >= 1:
            questions.setdefault(query, []).append(document)
        seen.add((query, document))
    if not questions:
        raise InputError(f"{path}: no relevant document; TREC judgements are expected")
    documents = sorted({d for found in questions.values() for d in found}, key=natural)
    return Labels(path.name, {"all": questions}, documents, whole=False, repeated=tuple(repeated))


def natural(name):
    """Give the key that sorts ids by their numbers, ``case_9`` before ``case_10``."""
    return [
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)
    ]


def _tables(name, paths, origin):
    """Read CSV of positions in a collection, and of citations with years."""
    links, questions = None, {}
    for path in paths:
        rows, _ = read_records(path)
        known = {
            ours: next((c for c in (ours, theirs) if c in rows[0][1]), None)
            for ours, theirs in LINKS.items()
        }
        if set(POSITION_COLUMNS) <= set(rows[0][1]):
            for line, row in rows:
                (asked, *_), places = (
                    _places(path, line, column, row[column]) for column in POSITION_COLUMNS
                )
                questions[str(asked)] = [str(place) for place in places]
        elif all(known.values()):
            found = [
                {ours: _places(path, line, c, row[c])[0] for ours, c in known.items()}
                for line, row in rows
            ]
            links = pd.DataFrame(found)
    positions = {int(d) for asked, found in questions.items() for d in (asked, *found)}
    positions |= set() if links is None else set(links["target"])
    if not positions:
        wanted = (
            f"a dataset, a BEIR folder, TREC judgements, or CSV with {', '.join(POSITION_COLUMNS)}"
        )
        raise InputError(f"{origin}: nothing to audit; give {wanted}")
    documents = [str(place) for place in range(max(positions) + 1)]
    return Labels(name, {"all": questions} if questions else {}, documents, links=links)


def _places(path, line, column, text):
    """Whole numbers of a cell."""
    found = text.split() if column == POSITION_COLUMNS[1] else [text.strip()]
    for digits in found:
        if not re.fullmatch(r"[0-9]{1,8}", digits) or int(digits) > LARGEST:
            problem = f"{column} must be a whole number up to {LARGEST:,}, not {digits[:40]!r}"
            raise InputError.at(path, line, problem)
    return [int(digits) for digits in found]
