"""Rows of tables in any usual file."""

from pathlib import Path

from casebook.errors import InputError
from casebook.readers import delimited_rows, json_lines, json_records, suffix_of
from casebook.sheets import BOOKS, workbook_records

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", *BOOKS, ".parquet")


def field_text(value):
    """Give a cell as text: a whole number has no decimal point, an empty cell is no text."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def read_table(path, *, plain_tabs=False, tolerate_truncation=False):
    """Yield (line, row or position, record) of a table, whatever its format.

    ``plain_tabs`` reads rows with tabs whose quotes mean nothing, and ``tolerate_truncation``
    leaves out a last line of JSON that breaks off.
    """
    path = Path(path)
    kind = suffix_of(path)
    if kind in (".jsonl", ".ndjson"):
        records = json_lines(path, tolerate_truncation)
    elif kind == ".json":
        records = json_records(path)
    elif kind in (".csv", ".tsv"):
        records = delimited_rows(path, plain_tabs)
    elif kind in (*BOOKS, ".xls"):
        records = workbook_records(path)
    elif kind == ".parquet":
        records = parquet_records(path)
    else:
        raise InputError(f"{path}: is no table: name a {', '.join(TABLES)} file")
    record = None
    for record in records:
        yield record
    if record is None:
        raise InputError(f"{path}: holds no records")


def parquet_records(path):
    """Yield (number, record) of a parquet file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: parquet needs the package pyarrow: pip install pyarrow, or write JSON lines"
        ) from None
    number = 0
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            for record in batch.to_pylist():
                number += 1
                yield number, record
    except (pyarrow.ArrowException, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is no parquet file, or is damaged: {why}") from error
