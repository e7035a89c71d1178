"""Checks of what users hand to the pipeline, each with one clear line."""

import pandas as pd

from casebook.errors import InputError
from casebook.models.texts import checked_texts


def whole_number(name, value, least):
    """Check a whole number.

    Parameters
    ----------
    name : str
        What it is, for the error.
    value : int
        The number.
    least : int
        Smallest value allowed.

    Raises
    ------
    InputError
        If it is no whole number or too small.
    """
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not valid:
        raise InputError(f"{name} must be a whole number >= {least}, got {value!r}")


def between(name, value, low, high):
    """Check a number in a closed range.

    Parameters
    ----------
    name : str
        What it is, for the error.
    value : float
        The number; NaN is in no range.
    low, high : float
        Ends of the range.

    Raises
    ------
    InputError
        If it lies outside.
    """
    if not low <= value <= high:
        raise InputError(f"{name} must be in [{low}, {high}], got {value}")


def checked_queries(queries):
    """Check queries.

    Parameters
    ----------
    queries : sequence of str
        Query texts.

    Returns
    -------
    list of str
        The queries.

    Raises
    ------
    InputError
        If they are no list of texts, or one is blank.
    """
    queries = checked_texts(queries)
    for row, query in enumerate(queries):
        if not query.strip():
            raise InputError(f"query {row} is blank: give it text or leave it out")
    return queries


def checked_documents(documents):
    """Check the frame of a collection.

    Parameters
    ----------
    documents : pandas.DataFrame
        Columns ``doc_id`` and ``text`` and any metadata.

    Returns
    -------
    pandas.DataFrame
        The same rows numbered from 0.

    Raises
    ------
    InputError
        As :class:`CorpusIndex` says.
    """
    missing = {"doc_id", "text"} - set(documents.columns)
    if missing:
        raise InputError(f"documents lack the column {min(missing)!r}")
    if documents.empty:
        raise InputError("a collection needs at least one document")
    documents = pd.DataFrame(documents).reset_index(drop=True)
    repeated = documents["doc_id"].duplicated()
    if repeated.any():
        raise InputError(
            f"document id {documents['doc_id'][repeated.idxmax()]!r} occurs twice"
        )
    for row, text in enumerate(documents["text"]):
        if not isinstance(text, str):
            doc_id = documents["doc_id"][row]
            raise InputError(f"document {doc_id!r} has no text: expected a string")
    return documents
