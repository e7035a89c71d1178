"""Rows of tables in any usual file, and the columns in them by the names that tools give them."""

import json
from pathlib import Path

from casebook.errors import InputError
from casebook.readers import (
    csv_rows,
    json_lines,
    named_rows,
    parse_json,
    read_lines,
    read_text,
    read_yaml,
    spelling,
    suffix_of,
)
from casebook.sheets import BOOKS, workbook_records

LAYOUTS = read_yaml(Path(__file__).with_name("layouts.yml"))
COLUMN_NAMES = LAYOUTS["columns"]
"""Part to role to the names of its column, as `spelling` gives them, by priority."""
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", *BOOKS, ".parquet", ".arrow")


def column_of(columns, part, role):
    """Give the column that has a role, or None: of several the first by priority."""
    by_spelling = {}
    for name in columns:
        by_spelling.setdefault(spelling(name), name)
    for alias in COLUMN_NAMES[part][role]:
        if alias in by_spelling:
            return by_spelling[alias]
    return None


def field_text(value):
    """Give a cell as text: a whole number has no decimal point, an empty cell is no text."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def read_table(path, *, rows_of=None, plain_tabs=False, tolerate_truncation=False):
    """Yield (line, row or position, record) of a table, whatever its format.

    ``rows_of`` gives the list of records of a JSON file that is one object, ``plain_tabs`` reads
    rows with tabs whose quotes mean nothing, and ``tolerate_truncation`` leaves out a last line of
    JSON that breaks off.
    """
    path = Path(path)
    kind = suffix_of(path)
    if kind in (".jsonl", ".ndjson"):
        records = json_lines(path, tolerate_truncation)
    elif kind == ".json":
        records = _json_records(path, rows_of)
    elif kind in (".csv", ".tsv"):
        records = delimited_rows(path, plain_tabs)
    elif kind in (*BOOKS, ".xls"):
        records = workbook_records(path)
    elif kind in (".parquet", ".arrow"):
        records = arrow_records(path)
    else:
        raise InputError(f"{path}: is no table: name a {', '.join(TABLES)} file")
    record = None
    for record in records:
        yield record
    if record is None:
        raise InputError(f"{path}: holds no records")


def json_content(path):
    """Content of a JSON file, plain or compressed."""
    try:
        return parse_json(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError.at(path, error.lineno, f"is not JSON: {error}") from error


def _json_records(path, rows_of):
    content = json_content(path)
    if isinstance(content, dict) and rows_of:
        content = rows_of(content)
    return numbered_objects(path, content)


def numbered_objects(path, content):
    """Number the objects of a list from 1, or refuse what is none."""
    if not isinstance(content, list):
        raise InputError(f"{path}: is not a list of objects")
    for number, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: element {number} is not an object")
    return list(enumerate(content, 1))


def rows_by_id(content):
    """Give the records of an object that holds texts or objects by their ids."""
    return [_with_id(name, value) for name, value in content.items()]


def _with_id(name, value):
    if isinstance(value, str):
        return {"_id": name, "text": value}
    return {"_id": name} | value if isinstance(value, dict) else value


def delimited_rows(path, plain_tabs=False):
    """Rows under a header; tab in a .tsv, else comma, semicolon or tab, as the header has most."""
    lines = list(read_lines(path))
    has_tabs = suffix_of(path) == ".tsv" and lines and "\t" in lines[0][1]
    delimiters = "\t" if has_tabs else ",;\t"
    try:
        rows = csv_rows(path, "\n".join(line for _, line in lines), delimiters)
    except InputError:
        if not plain_tabs or not lines or "\t" not in lines[0][1]:
            raise
        rows = [(number, line.split("\t")) for number, line in lines]
    names, rows = named_rows(path, [(line, cells) for line, cells in rows if any(cells)])
    for line, cells in rows:
        yield line, dict(zip(names, cells, strict=True))


def arrow_records(path):
    """Yield (number, record) of a parquet file, or of an Arrow file as `datasets` saves them."""
    kind = suffix_of(path)
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: {kind[1:]} needs the package pyarrow: pip install 'casebook[logs]', or write "
            "JSON lines"
        ) from None
    number = 0
    try:
        if kind == ".parquet":
            batches = pyarrow.parquet.ParquetFile(path).iter_batches()
        else:
            batches = pyarrow.ipc.open_stream(pyarrow.memory_map(str(path)))
        for batch in batches:
            for record in batch.to_pylist():
                number += 1
                yield number, record
    except (pyarrow.ArrowException, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is no {kind[1:]} file, or is damaged: {why}") from error
