"""Strict line-by-line TREC parser: the right table, or the file and line at fault."""

import io

from casebook.errors import InputError
from casebook.formats.trec_words import PAD


def parse_lines(path, raw, layout, *, header=False, separator=None):
    """Parse every line of a TREC-like file."""
    table = {}
    lines = io.BytesIO(memoryview(raw)[PAD:-PAD])
    for number, line in enumerate(lines, 1):
        if line.startswith(b"#") or not line.strip():
            continue
        fields = line.rstrip(b"\n").split(separator)
        if header:
            _check_header(path, number, fields, layout)
            header = False
            continue
        query, document, value = _parse_fields(path, number, fields, layout)
        documents = table.setdefault(query, {})
        if document in documents:
            raise InputError.at(path, number, f"document {document!r} appears twice for query {query!r}: keep one")
        documents[document] = value
    if not table:
        expected = " ".join(layout.fields)
        raise InputError(f"{path}: no data line: expected '{expected}' on each line")
    return table


def _check_header(path, number, fields, layout):
    names = tuple(field.strip().decode(errors="replace") for field in fields)
    if names != layout.fields:
        raise InputError.at(path, number, f"expected the header line {' '.join(layout.fields)!r}")


def _parse_fields(path, number, fields, layout):
    expected = len(layout.fields)
    if len(fields) < expected or (len(fields) > expected and not layout.open_ended):
        names = " ".join(layout.fields)
        raise InputError.at(path, number, f"expected {expected} fields ({names}), found {len(fields)}")
    try:
        query, document = fields[0].decode(), fields[layout.document].decode()
    except UnicodeDecodeError as error:
        raise InputError.at(path, number, "an id is not valid UTF-8: re-encode the file") from error
    text = fields[layout.value]
    if not query or not document:
        raise InputError.at(path, number, "an id is empty")
    try:
        return query, document, layout.parse(text)
    except ValueError as error:
        shown = repr(text.decode(errors="replace"))
        raise InputError.at(path, number, layout.number.format(shown)) from error
