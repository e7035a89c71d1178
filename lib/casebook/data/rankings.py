"""Runs and judgements in tables, and in JSON objects; TREC's own text is for `casebook.trec`."""

from pathlib import Path

import pandas as pd

from casebook.data.tables import (
    ENDINGS,
    Reading,
    cell_text,
    read_roles,
    read_table,
    refusal,
    short,
)
from casebook.readers import parse_cells, read_json, read_lines, suffix_of
from casebook.trec import LAYOUTS, number_of

ROLES = ["query", "document", "value"]


def is_table(path, kind):
    """Whether a file is a table or JSON: by its ending, unless its first line is one of TREC."""
    if suffix_of(path) not in (".csv", ".tsv"):
        return suffix_of(path) in ENDINGS
    fields = next((line.split() for _, line in read_lines(path) if line.strip()), [])
    try:
        number_of(fields[LAYOUTS[kind].value], kind)
    except (ValueError, IndexError):
        return True
    return False


def read_rankings(path, kind, columns=None, prefix=""):
    """Scores of a run, or grades of judgements, of a table or a JSON object.

    Parameters
    ----------
    path : path-like
        Table with a row for each query and document; or ``{query: {document: score}}`` in a .json.
    kind : {"run", "qrels"}
        Scores are finite numbers, grades whole ones.
    columns : dict, optional
        Role (query, document, value) to the name of its column.
    prefix : str
        What is typed before a role, ``qrels.``.

    Returns
    -------
    dict of str to dict, Reading

    Raises
    ------
    InputError
        If a query has a document twice, an id is empty, or a value is no such number.
    """
    path = Path(path)
    content = read_json(path, parse=parse_cells) if suffix_of(path) == ".json" else []
    if isinstance(content, list):
        reading = read_roles(read_table(path), kind, ROLES, columns, prefix=prefix)
    else:
        reading = _of_object(path, content)
    keys = zip(reading.texts("query"), reading.texts("document"), strict=True)
    reading.refuse_repeats("query", "document")
    values = reading.texts("value", may_be_empty=True)
    rankings = {}
    for (query, document), (row, text) in zip(keys, values.items(), strict=True):
        try:
            rankings.setdefault(query, {})[document] = number_of(text, kind)
        except ValueError as error:
            reading.refuse(row, str(error))
    reading.notes.append(f"{len(rankings)} queries")
    return rankings, reading


def _of_object(path, content):
    """Rows of ``{query: {document: value}}``."""
    form = "give {query: {document: score}}, or a list of rows"
    rows = []
    for query, values in content.items():
        if not isinstance(values, dict):
            raise refusal(path, f"query {short(query)} has no documents with scores: {form}")
        rows += [(query, document, cell_text(value)) for document, value in values.items()]
    if not rows:
        raise refusal(path, f"holds no document for any query: {form}")
    table = pd.DataFrame(rows, range(1, len(rows) + 1), ROLES, dtype=object)
    return Reading(path, table, dict.fromkeys(ROLES, "JSON"), [])
