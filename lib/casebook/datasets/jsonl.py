"""Reading JSON lines, plain or compressed, with every defect at its file and line."""

import gzip
import json
import lzma
import zlib
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.readers import parse_json

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}
_NAMES = {str: "text", dict: "an object", list: "a list"}


def read_lines(path):
    """Read the lines of a file in UTF-8."""
    path = Path(path)
    number = 0
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as stream:
            for line in stream:
                ends = b"\r" in line  # of which a file may have no other
                for part in line.splitlines() if ends else (line.rstrip(b"\n"),):
                    number += 1
                    yield number, part.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError.at(path, number, "is not UTF-8 text") from error
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        problem = "the compressed file ends early or is damaged after this line"
        raise InputError.at(path, number, problem) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def read_jsonl(path, required):
    """Read the objects of a file, one a line; blank lines are skipped."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, _record(path, number, line, required)


def _record(path, number, line, required):
    try:
        record = parse_json(line)
    except json.JSONDecodeError as error:
        raise InputError.at(path, number, f"is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError.at(path, number, "is not a JSON object")
    for name, kind in required.items():
        if name not in record:
            raise InputError.at(path, number, f"has no field {name!r}")
        if not isinstance(record[name], kind):
            raise InputError.at(path, number, f"field {name!r} is not {_NAMES[kind]}")
    return record


def read_frame(path, id_field, id_column, fields=("text",), blank=False):
    """Read documents or queries: an id, text fields, metadata."""
    rows, lines, copies = [], {}, []
    for number, record in read_jsonl(path, {id_field: str, "text": str}):
        name = record.pop(id_field)
        if not name.strip():
            raise InputError.at(path, number, f"field {id_field!r} is empty")
        if not blank and not record["text"].strip():
            raise InputError.at(path, number, f"{name!r} has no text")
        texts = {field: record.pop(field, None) or "" for field in fields}
        extra = _metadata(path, number, record, texts, (id_column, *fields))
        row = {id_column: name, **texts, **extra}
        place, first = lines.setdefault(name, (len(rows), number))
        if place == len(rows):
            rows.append(row)
        elif row == rows[place]:
            copies.append(f"line {number}: {name}, as in line {first}")
        else:
            problem = f"id {name!r} stood already in line {first}, with other content"
            raise InputError.at(path, number, problem)
    if not rows:
        raise InputError(f"{path}: holds no records")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    frame = pd.DataFrame({name: [row.get(name) for row in rows] for name in columns})
    frame.attrs["copies"] = copies
    return frame


def _metadata(path, number, record, texts, taken):
    """Give all other fields of a record, those under ``metadata`` included."""
    wrong = [field for field, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise InputError.at(path, number, f"field {wrong[0]!r} is not text")
    nested = record.pop("metadata", None) or {}
    if not isinstance(nested, dict):
        raise InputError.at(path, number, "field 'metadata' is not an object")
    clash = {*taken} & {*record, *nested} or record.keys() & nested.keys()
    if clash:
        problem = f"metadata field {min(clash)!r} has the name of another column"
        raise InputError.at(path, number, problem)
    return record | nested
