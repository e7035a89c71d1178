"""Records of a CSV, JSON or JSONL file, each with the row it stands in."""

import csv
import json
from contextlib import contextmanager
from pathlib import Path

from casebook.errors import InputError
from casebook.readers import parse_json, read_lines

LONGEST_FIELD = 2**24  # characters; csv's own limit would refuse a long claim


def read_records(path, *, tolerate_truncation=False):
    """Read objects from a file, whatever its format."""
    path = Path(path)
    kind = path.with_suffix("") if path.suffix in (".gz", ".xz") else path
    readers = {".csv": _csv, ".json": _json, ".jsonl": _jsonl}
    if kind.suffix.lower() not in readers:
        raise InputError(f"{path}: name a .csv, .json or .jsonl file")
    lines = list(read_lines(path))
    rows, truncated = readers[kind.suffix.lower()](path, lines, tolerate_truncation)
    if not rows:
        raise InputError(f"{path}: holds no records")
    return rows, truncated


@contextmanager
def long_fields(most=LONGEST_FIELD):
    """Let csv read fields of up to `most` characters, and no longer than needed."""
    previous = csv.field_size_limit(most)
    try:
        yield
    finally:
        csv.field_size_limit(previous)


@long_fields()
def _csv(path, lines, _):
    try:
        reader = csv.DictReader((text + "\n" for _, text in lines), strict=True)
        names = reader.fieldnames or []
        if len(set(names)) < len(names):
            raise InputError.at(path, 1, "a column stands twice in the header")
        rows = []
        for record in reader:
            if None in record or None in record.values():
                problem = f"has not the {len(names)} fields of the header"
                raise InputError.at(path, reader.line_num, problem)
            rows.append((reader.line_num, record))
    except csv.Error as error:
        raise InputError.at(path, reader.line_num, f"is not CSV: {error}") from error
    return rows, 0


def read_json(path):
    """Read what a JSON file holds."""
    return _parsed(path, read_lines(path))


def _parsed(path, lines):
    try:
        return parse_json("\n".join(text for _, text in lines))
    except json.JSONDecodeError as error:
        raise InputError.at(path, error.lineno, f"is not JSON: {error}") from error


def _json(path, lines, _):
    content = _parsed(path, lines)
    if not isinstance(content, list):
        raise InputError(f"{path}: is not a list of objects")
    for number, record in enumerate(content, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: element {number} is not an object")
    return list(enumerate(content, start=1)), 0


def _jsonl(path, lines, tolerate):
    filled = [(number, text) for number, text in lines if text.strip()]
    rows = []
    for number, text in filled:
        try:
            record = parse_json(text)
        except json.JSONDecodeError as error:
            if tolerate and number == filled[-1][0]:
                return rows, 1
            last = number == filled[-1][0]
            hint = ": the last line breaks off" if last else ""
            raise InputError.at(path, number, f"is not JSON{hint}: {error}") from error
        if not isinstance(record, dict):
            raise InputError.at(path, number, "is not a JSON object")
        rows.append((number, record))
    return rows, 0
