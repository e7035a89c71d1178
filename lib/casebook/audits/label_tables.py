"""Relevance labels of any origin, in the one form that the checks read."""

import re
from collections import Counter
from pathlib import Path

import pandas as pd

from casebook.audits.label_set import Labels, labels_of
from casebook.errors import InputError
from casebook.formats.trec_text import read_bytes
from casebook.readers import read_records

LINK_COLUMNS = {
    "citation_year": "year",
    "mapped_doc_position_in_sorted_corpus": "target",
    "mapped_doc_year": "target_year",
    "year": "year",
    "target": "target",
    "target_year": "target_year",
}
POSITION_COLUMNS = ("query_position", "relevant_positions")
SPLITS = ("train", "dev", "val", "validation", "test")
LARGEST = 10_000_000  # every position up to the largest one is a document


def read_labels(source):
    """Read labels by dataset name, or from a file or folder."""
    path = Path(source)
    if str(source) and path.is_dir():
        if any(path.glob("corpus.jsonl*")):
            return _folder(path)
        return _tables(path.name, sorted(path.glob("*.csv")), path)
    if path.is_file():
        if path.suffix == ".csv":
            return _tables(path.stem, [path], path)
        return _trec(path)
    if path.parent != Path() or path.suffix:
        raise InputError(f"{path}: no such file or folder, and no data set's name")
    return _dataset(str(source))


def _dataset(name):
    """Load the splits of a dataset that were made to be apart, else its default."""
    from casebook.data import registry

    card, split = registry.resolve(name)
    apart = [s for s in card.splits if s in SPLITS] if split is None else [split]
    chosen = apart if split or len(apart) > 1 else [card.default_split]
    return labels_of([registry.load(card.key, s) for s in chosen], name)


def _folder(path):
    from casebook.data.folders import load_beir

    present = [f.stem for f in sorted((path / "qrels").glob("*.tsv"))]
    chosen = [s for s in SPLITS if s in present] or present
    if not chosen:
        raise InputError(f"{path}: no qrels/<split>.tsv to audit")
    # What is audited need not be sound: any share of judgements may lack a document.
    found = [load_beir(path, split, max_missing=1.0) for split in chosen]
    return labels_of(found, path.name)


def _trec(path):
    """Read TREC judgements, repeated lines included."""
    questions, seen, repeated = {}, Counter(), []
    for number, line in enumerate(_text(path).split("\n"), 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) != 4 or not re.fullmatch(r"-?\d+", fields[3]):
            problem = "judgements have four fields: query, iteration, document, grade"
            raise InputError.at(path, number, problem)
        query, _, document, grade = fields
        seen[query, document] += 1
        if seen[query, document] > 1:
            repeated.append(f"line {number}: {query} {document}")
        elif int(grade) >= 1:
            questions.setdefault(query, []).append(document)
    if not questions:
        raise InputError(f"{path}: no relevant document; TREC judgements are expected")
    documents = sorted({d for found in questions.values() for d in found}, key=natural)
    return Labels(path.name, {"all": questions}, documents, whole=False, repeated=tuple(repeated))


def natural(name):
    """Give the key that sorts ids by their numbers, ``case_9`` before ``case_10``."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def _tables(name, paths, origin):
    links, questions, positions = None, {}, set()
    for path in paths:
        rows, _ = read_records(path)
        header = set(rows[0][1])
        if set(POSITION_COLUMNS) <= header:
            questions |= _positions(path, rows)
        elif set(LINK_COLUMNS.values()) <= {LINK_COLUMNS.get(h) for h in header}:
            links = _links(path, rows)
    if links is not None:
        positions |= set(links["target"])
    positions |= {int(d) for found in questions.values() for d in found}
    positions |= {int(query) for query in questions}
    if not positions:
        raise InputError(
            f"{origin}: nothing to audit; give a dataset, a BEIR folder, TREC "
            f"judgements, or CSV with {', '.join(POSITION_COLUMNS)}"
        )
    documents = [str(place) for place in range(max(positions) + 1)]
    splits = {"all": questions} if questions else {}
    return Labels(name, splits, documents, links=links)


def _text(path):
    """Read a text file, plain or compressed by gzip."""
    try:
        return bytes(read_bytes(path)).strip(b"\0").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None


def _links(path, rows):
    found = [
        {
            LINK_COLUMNS[column]: _whole(path, line, column, value)
            for column, value in row.items()
            if column in LINK_COLUMNS
        }
        for line, row in rows
    ]
    return pd.DataFrame(found, columns=["year", "target", "target_year"])


def _positions(path, rows):
    query, relevant = POSITION_COLUMNS
    return {
        str(_whole(path, line, query, row[query])): [
            str(_whole(path, line, relevant, place)) for place in row[relevant].split()
        ]
        for line, row in rows
    }


def _whole(path, line, column, value):
    digits = value.strip()
    short = len(digits) <= len(str(LARGEST))
    if re.fullmatch(r"[0-9]+", digits) and short and int(digits) <= LARGEST:
        return int(digits)
    shown = repr(value if len(value) <= 40 else f"{value[:40]}...")
    problem = f"{column} must be a whole number up to {LARGEST:,}, not {shown}"
    raise InputError.at(path, line, problem)
