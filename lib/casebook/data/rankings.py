"""The door for runs and judgements: tables, JSON objects, and TREC's own text."""

from pathlib import Path

import pandas as pd

from casebook.data.tables import ENDINGS, read_roles, read_table, refusal
from casebook.readers import parse_cells, read_json, suffix_of
from casebook.trec import number_of, read_rows

ROLES = ["query", "document", "value"]


def read_rankings(path, kind, columns=None, prefix=""):
    """Scores of a run, or grades of judgements.

    Parameters
    ----------
    path : path-like
        Table with a row for each query and document; ``{query: {document: score}}`` in a .json;
        or, by any other ending, a TREC file.
    kind : {"run", "qrels"}
        Scores are finite numbers, grades whole ones.
    columns : dict, optional
        Role (query, document, value) to the name of its column.
    prefix : str
        What is typed before a role, ``qrels.``.

    Returns
    -------
    dict of str to dict, Reading or None
        The numbers, and what was read of a table.

    Raises
    ------
    InputError
        If a query has a document twice, an id is empty, or a value is no such number.
    """
    path = Path(path)
    if suffix_of(path) not in ENDINGS:
        return read_rows(path, kind), None
    table = _of_object(path) if suffix_of(path) == ".json" else read_table(path)
    reading = read_roles(table, kind, ROLES, columns, prefix=prefix)
    for role in ("query", "document"):
        reading.texts(role)
    reading.refuse_repeats("query", "document")
    values = reading.texts("value", may_be_empty=True)
    rankings = {}
    for row, query, document in reading.table[["query", "document"]].itertuples():
        try:
            rankings.setdefault(query, {})[document] = number_of(values[row], kind)
        except ValueError as error:
            reading.refuse(row, str(error))
    reading.notes.append(f"{len(rankings)} queries")
    return rankings, reading


def _of_object(path):
    """Table of ``{query: {document: value}}``, or of a list of rows."""
    content = read_json(path, parse=parse_cells)
    if not isinstance(content, dict):
        return read_table(path)
    try:
        rows = [
            (query, *pair) for query, row in content.items() for pair in row.items()
        ]
    except AttributeError:  # of no object
        rows = []
    if not rows:
        raise refusal(
            path, "has no documents with scores: give {query: {document: score}}"
        )
    table = pd.DataFrame(
        rows, range(1, len(rows) + 1), ["query", "document", "score"], object
    )
    table.attrs["path"] = path
    return table
