"""Rows of tables in any usual file, and the columns in them by the names that tools give them."""

import json
from pathlib import Path

from casebook.errors import InputError
from casebook.readers import (
    arrow_records,
    csv_rows,
    parse_json,
    read_jsonl,
    read_lines,
    read_yaml,
    spelling,
    suffix_of,
)

LAYOUTS = read_yaml(Path(__file__).with_name("layouts.yml"))
COLUMN_NAMES = LAYOUTS["columns"]
"""Part to role to the names of its column, as `spelling` gives them, by priority."""
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".parquet", ".arrow")


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


def read_table(path):
    """Yield (line, row or position, record) of a table, whatever its format."""
    path = Path(path)
    kind = suffix_of(path)
    if kind in (".jsonl", ".ndjson"):
        yield from read_jsonl(path, {})
    elif kind == ".json":
        yield from _json_rows(path)
    elif kind in (".csv", ".tsv"):
        yield from delimited_rows(path)
    elif kind == ".xlsx":
        from casebook.sheets import workbook_records

        yield from workbook_records(path)
    elif kind in (".parquet", ".arrow"):
        yield from arrow_records(path)
    else:
        raise InputError(f"{path}: is no table: name a {', '.join(TABLES)} file")


def _json_rows(path):
    """Rows of a list of objects, or of one object of texts or objects by their ids."""
    try:
        content = parse_json("\n".join(line for _, line in read_lines(path)))
    except json.JSONDecodeError as error:
        raise InputError.at(path, error.lineno, f"is not JSON: {error}") from error
    if isinstance(content, dict):
        content = [_with_id(name, value) for name, value in content.items()]
    if not isinstance(content, list):
        raise InputError(f"{path}: is no list of objects")
    for number, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: element {number} is not an object")
        yield number, record


def _with_id(name, value):
    if isinstance(value, str):
        return {"_id": name, "text": value}
    return {"_id": name} | value if isinstance(value, dict) else value


def delimited_rows(path):
    """Rows under a header; comma, semicolon or tab, whichever the header has most of."""
    lines = list(read_lines(path))
    try:
        rows = csv_rows(path, "\n".join(line for _, line in lines), ",;\t")
    except InputError:
        if not lines or "\t" not in lines[0][1]:
            raise
        rows = [(number, line.split("\t")) for number, line in lines]  # quotes mean nothing
    rows = [(number, cells) for number, cells in rows if any(cells)]
    if not rows:
        raise InputError(f"{path}: is empty")
    (_, names), *rows = rows
    if len(set(names)) < len(names):
        raise InputError.at(path, 1, "a column stands twice in the header")
    for line, cells in rows:
        if len(cells) != len(names):
            problem = f"has {len(cells)} fields, the header has {len(names)}"
            raise InputError.at(path, line, problem)
        yield line, dict(zip(names, cells, strict=True))
