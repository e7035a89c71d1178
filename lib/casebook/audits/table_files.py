"""Reading reported tables from CSV or JSON."""

from pathlib import Path

import pandas as pd

from casebook.audits.table_rows import MEASURES
from casebook.errors import InputError
from casebook.readers import read_json, read_records

_POSITIVES = ("positives", "n_positive", "n_supported")
_NAMES = ("config", "system", "name")
_ADDED = {"table", "n", "positives", "file", "line"}
COLUMNS = {"row", *_ADDED, *MEASURES}


def read_tables(path, n=None, positives=None):
    """Read reported rows."""
    path = Path(path)
    whole = read_json(path) if path.suffix == ".json" else None
    if isinstance(whole, dict):
        rows = _from_object(path, whole)
    else:
        rows = [record | {"line": line} for line, record in read_records(path)[0]]
    frame = pd.DataFrame(rows).astype(object).assign(file=str(path))
    for name, default in (("table", path.stem), ("n", n), ("positives", positives)):
        given = frame[name] if name in frame else pd.Series(None, frame.index, object)
        blank = given.isna() | (given == "")
        frame[name] = given.where(~blank, default)
    return _complete(path, frame)


def _complete(path, frame):
    if "row" not in frame:
        first = next((name for name in _NAMES if name in frame), None)
        if first is None:
            found = [name for name in frame if name not in _ADDED]
            raise InputError(f"{path}: no column 'row': it has {', '.join(found)}")
        frame = frame.rename(columns={first: "row"})
    if not set(MEASURES) & set(frame):
        raise InputError(f"{path}: none of the columns {', '.join(MEASURES)}")
    for name in ("n", "positives"):
        without = frame["row"][frame[name].isna()]
        if len(without):
            raise InputError(f"{path}: row {without.iloc[0]!r} has no {name}: add a column, or give --{name}")
    return frame


def _from_object(path, content):
    tables = content.get("tables")
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: has no object 'tables' of named tables")
    columns = content.get("table_columns", ["row", *MEASURES])
    shared = {"n": content.get("n")}
    shared["positives"] = next((content[p] for p in _POSITIVES if p in content), None)
    rows = []
    for name, lines in tables.items():
        for number, line in enumerate(lines, start=1):
            if not isinstance(line, list) or len(line) != len(columns):
                raise InputError(
                    f"{path}: table {name!r}, row {number} has not the {len(columns)} values {', '.join(columns)}"
                )
            rows.append(dict(zip(columns, line, strict=True)) | shared | {"table": name})
    return rows
