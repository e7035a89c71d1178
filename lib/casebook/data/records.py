"""Rows of tables in any usual file, and the columns in them by the names that tools give them."""

from pathlib import Path

from casebook.errors import InputError
from casebook.readers import (
    delimited_rows,
    json_lines,
    json_records,
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
        records = json_records(path, rows_of)
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


def rows_by_id(content):
    """Give the records of an object that holds texts or objects by their ids."""
    return [_with_id(name, value) for name, value in content.items()]


def _with_id(name, value):
    if isinstance(value, str):
        return {"_id": name, "text": value}
    return {"_id": name} | value if isinstance(value, dict) else value


def arrow_records(path):
    """Yield (number, record) of a parquet file, or of an Arrow file as `datasets` saves them."""
    kind = suffix_of(path)
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: {kind[1:]} needs the package pyarrow: pip install pyarrow, or write JSON lines"
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
