"""Checks of what users hand to the pipeline, each with one clear line."""

import pandas as pd

from casebook.errors import InputError
from casebook.models.tokens import checked_texts


def whole_number(name, value, least):
    """Check a whole number."""
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not valid:
        raise InputError(f"{name} must be a whole number >= {least}, got {value!r}")


def between(name, value, low, high):
    """Check a number in a closed range."""
    if not low <= value <= high:
        raise InputError(f"{name} must be in [{low}, {high}], got {value}")


def checked_queries(queries):
    """Check queries."""
    queries = checked_texts(queries)
    for row, query in enumerate(queries):
        if not query.strip():
            raise InputError(f"query {row} is blank: give it text or leave it out")
    return queries


def checked_documents(documents):
    """Check the frame of a collection."""
    missing = {"doc_id", "text"} - set(documents.columns)
    if missing:
        raise InputError(f"documents lack the column {min(missing)!r}")
    if documents.empty:
        raise InputError("a collection needs at least one document")
    documents = pd.DataFrame(documents).reset_index(drop=True)
    repeated = documents["doc_id"].duplicated()
    if repeated.any():
        raise InputError(f"document id {documents['doc_id'][repeated.idxmax()]!r} occurs twice")
    for row, text in enumerate(documents["text"]):
        if not isinstance(text, str):
            doc_id = documents["doc_id"][row]
            raise InputError(f"document {doc_id!r} has no text: expected a string")
    return documents
