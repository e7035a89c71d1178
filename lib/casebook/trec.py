"""TREC runs and judgements, and BEIR judgements: strict readers, and writers.

A file is read at once or refused with its name and line; nothing is skipped except
comments (``#`` as the first character of a line), blank lines and, in runs, fields
after the sixth. Scores are exactly ``float(text)``.
"""

import csv
import gzip
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import replacing
from casebook.readers import DAMAGED, unreadable

GRADE_LIMIT = 2**31


class Layout(NamedTuple):
    """What one kind of file holds on each line."""

    fields: tuple[str, ...]
    document: int
    value: int
    parse: Callable
    number: str
    open_ended: bool = False  # more fields may follow, as after the tag of a run
    separator: bytes | None = None


def _score(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _grade(text):
    grade = int(text)
    if abs(grade) >= GRADE_LIMIT:
        raise ValueError(text)
    return grade


_RUN = Layout(
    ("query", "Q0", "document", "rank", "score", "tag"), 2, 4, _score, "score {} is not a finite number", True
)
_QRELS = Layout(("query", "iteration", "document", "grade"), 2, 3, _grade, "grade {} is not an integer")
_BEIR = Layout(("query-id", "corpus-id", "score"), 1, 2, _grade, "grade {} is not an integer", separator=b"\t")


def read_run(path):
    """Read a TREC run: lines of ``query Q0 document rank score tag``.

    Parameters
    ----------
    path : path-like
        Plain or gzip-compressed text in UTF-8.

    Returns
    -------
    dict of str to dict of str to float
        Query id to document id to score, which is exactly ``float(text)``. Ranks and tags
        are not read: evaluation ranks by score.

    Raises
    ------
    InputError
        Names file and line, if a line has not six fields, a score is not a finite number,
        a document stands twice for a query, an id is not UTF-8, or no line holds data.

    Notes
    -----
    Comments (``#`` as first character of a line) and blank lines are skipped, as are
    fields after the sixth, as trec_eval does.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> read_run(write_run(path, {"q": {"a": 1.5, "b": 2}}))
    {'q': {'b': 2.0, 'a': 1.5}}
    """
    raw = read_bytes(path)
    return _table_at_once(raw, _RUN) or _table_by_line(path, raw, _RUN)


def run_table(path):
    """Read a TREC run as `Columns` if it is regular, which is faster, else as `read_run`."""
    raw = read_bytes(path)
    return _columns(raw) or _table_by_line(path, raw, _RUN)


def read_qrels(path):
    r"""Read TREC judgements: lines of ``query iteration document grade``; BEIR's are known by their header.

    Parameters
    ----------
    path : path-like
        Plain or gzip-compressed text in UTF-8.

    Returns
    -------
    dict of str to dict of str to int
        Query id to document id to grade; below 1 is not relevant, below 0 unjudged.

    Raises
    ------
    InputError
        Names file and line, if a line has not four fields, a grade is not an integer
        below 2**31, a document stands twice for a query, or no line holds data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("q 0 a 2\nq 0 b 0\n")
    >>> read_qrels(path)
    {'q': {'a': 2, 'b': 0}}
    """
    raw = read_bytes(path)
    if b"\t".join(name.encode() for name in _BEIR.fields) in raw[:64]:
        return _table_by_line(path, raw, _BEIR)
    return _table_at_once(raw, _QRELS) or _table_by_line(path, raw, _QRELS)


def read_beir_qrels(path):
    """Read BEIR judgements: tab-separated, under a line that names the columns."""
    return _table_by_line(path, read_bytes(path), _BEIR)


def read_bytes(path):
    """Bytes of a plain or gzip-compressed text, without mark of order, lines ended by LF."""
    try:
        raw = Path(path).read_bytes()
        if raw.startswith(b"\x1f\x8b"):
            raw = gzip.decompress(raw)
    except DAMAGED as error:
        raise InputError(f"{path}: damaged gzip file: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw


def _table_at_once(raw, layout):
    """Read a file whose every line has just the expected fields, None for any other: three times as fast."""
    number, digits = (_score, "([-+.0-9eE]+)") if layout is _RUN else (int, r"(-?\d{1,9})")
    fields = {0: r"([^\s#]\S*)", layout.document: r"(\S+)", layout.value: digits}
    pattern = r"[ \t]+".join(fields.get(place, r"\S+") for place in range(len(layout.fields)))
    table = {}
    try:
        text = raw.decode()
        found = re.findall(f"^{pattern}[ \\t]*$", text, re.ASCII | re.MULTILINE)
        for query, document, value in found:
            table.setdefault(query, {})[document] = number(value)
    except ValueError:
        return None
    lines = text.count("\n") + (not text.endswith("\n"))
    whole = len(found) == lines == sum(map(len, table.values()))  # else a line is odd, or a document stands twice
    return table if whole else None


@dataclass(frozen=True)
class Columns:
    """A TREC run as columns, the rows of a query together, document ids left where they stand in the text."""

    text: bytes
    query_ids: list
    offsets: np.ndarray
    start: np.ndarray
    end: np.ndarray
    hash: np.ndarray
    value: np.ndarray

    def document_ids(self, low, high):
        """Ids of some rows."""
        places = zip(self.start[low:high].tolist(), self.end[low:high].tolist(), strict=True)
        return [self.text[a:b].decode() for a, b in places]

    @cached_property
    def by_key(self):
        """Order of the rows by query and hash of the document, and the keys of this order."""
        key = _keys(np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets)), self.hash)
        order = np.argsort(key)
        return order, key[order]

    def find(self, query, ids):
        """Row of each document (-1: absent) of the queries of the given numbers (-1: absent)."""
        order, keys = self.by_key
        names = [name.encode() for name in ids]
        end = np.cumsum(np.fromiter(map(len, names), np.int64, len(names)))
        text = np.frombuffer(b"".join(names) + bytes(8), np.uint8)
        hashes = _hashes(text, np.concatenate([[0], end[:-1]]), end)
        wanted = _keys(query, hashes)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        rows = order[place]
        return np.where((keys[place] == wanted) & (self.hash[rows] == hashes) & (query >= 0), rows, -1)


def _columns(raw):
    """Split a run at once whose every line has just the expected fields; None for any other."""
    raw = raw if raw.endswith(b"\n") else raw + b"\n"
    text = np.frombuffer(raw, np.uint8)
    blocks, codes, low = [], {}, 0
    while low < len(raw):  # what is worked on at once stays in the processor's cache
        high = raw.find(b"\n", min(low + (1 << 18), len(raw) - 1)) + 1
        ends = _field_ends(text[low:high], len(_RUN.fields))
        if ends is None:
            return None
        block = np.concatenate([text[low:high], np.zeros(8, np.uint8)])
        first, last = np.concatenate([[0], ends[:-1, -1] + 1]), ends[:, 0]
        if (block[first] == ord("#")).any():
            return None
        same = _hashes(block, first, last)
        turns = np.concatenate([[0], np.flatnonzero(same[1:] != same[:-1]) + 1])
        places = zip((first[turns] + low).tolist(), (last[turns] + low).tolist(), strict=True)
        numbers = [codes.setdefault(raw[a:b], len(codes)) for a, b in places]
        query = np.repeat(numbers, np.diff(turns, append=len(first)))
        start, end = ends[:, _RUN.document - 1] + 1, ends[:, _RUN.document]
        blocks.append((query, start + low, end + low, _hashes(block, start, end)))
        low = high
    if not blocks:
        return None
    try:
        raw.isascii() or raw.decode()
        options = {"header": None, "quoting": csv.QUOTE_NONE, "na_filter": False, "dtype": float}
        blank = r"\s+" if b"\t" in raw else " "
        value = pd.read_csv(io.BytesIO(raw), sep=blank, usecols=[_RUN.value], **options)[_RUN.value].to_numpy()
    except ValueError:
        return None
    if not np.isfinite(value).all():
        return None
    query, start, end, hashes = map(np.concatenate, zip(*blocks, strict=True))
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        query, start, end, hashes, value = (column[order] for column in (query, start, end, hashes, value))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query))])
    columns = Columns(raw, [name.decode() for name in codes], offsets, start, end, hashes, value)
    keys = columns.by_key[1]
    return None if (keys[1:] == keys[:-1]).any() else columns  # a document may stand twice


def _field_ends(block, fields):
    """Where each field of each line ends, shape [lines, fields], or None if a line is irregular."""
    ends = np.flatnonzero(block <= ord(" "))
    marks = block[ends]
    lines = marks == ord("\n")
    if len(ends) != fields * np.count_nonzero(lines) or not lines[fields - 1 :: fields].all():
        return None
    blank = lines | (marks == ord(" ")) | (marks == ord("\t"))
    if not blank.all() or ends[0] == 0 or (np.diff(ends) == 1).any():  # another control character, an empty field
        return None
    return ends.reshape(-1, fields)


_MIX = np.uint64(0x9E3779B97F4A7C15)
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def _hashes(text, start, end):
    """Hash each field of a text, eight bytes at once; the text has eight spare ones at its end."""
    eight = np.ndarray((len(text) - 7,), "V8", text, strides=(1,))  # starting at every byte
    length = end - start
    hashes = length.astype(np.uint64) * _MIX
    for done in range(0, int(length.max(initial=0)), 8):
        live = slice(None) if done < length.min() else np.flatnonzero(length > done)
        word = eight[start[live] + done].view(np.uint64)
        word &= _FIRST_BYTES[np.minimum(length[live] - done, 8)]
        mixed = (hashes[live] ^ word) * _MIX
        hashes[live] = mixed ^ (mixed >> np.uint64(32))
    return hashes


def _keys(query, hashes):
    """Query and document as one number, in the order of the queries.

    Two documents of a query share a key once in a trillion pairs: then the file is read
    line by line, and `Columns.find` compares the whole hash.
    """
    return (query.astype(np.uint64) << np.uint64(40)) | (hashes >> np.uint64(24))


def _table_by_line(path, raw, layout):
    """Read any file line by line: the right table, or the line at fault."""
    table, header = {}, layout is _BEIR
    expected, names = len(layout.fields), " ".join(layout.fields)
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.startswith(b"#") or not line.strip():
            continue
        fields = line.split(layout.separator)
        if header:
            if tuple(field.strip().decode(errors="replace") for field in fields) != layout.fields:
                raise InputError.at(path, number, f"expected the header line {names!r}")
            header = False
            continue
        if len(fields) < expected or (len(fields) > expected and not layout.open_ended):
            raise InputError.at(path, number, f"expected {expected} fields ({names}), found {len(fields)}")
        try:
            query, document = fields[0].decode(), fields[layout.document].decode()
        except UnicodeDecodeError as error:
            raise InputError.at(path, number, "an id is not valid UTF-8: re-encode the file") from error
        if not query or not document:
            raise InputError.at(path, number, "an id is empty")
        text = fields[layout.value]
        try:
            value = layout.parse(text.replace(b"_", b"?"))  # int and float take 1_0 for a number
        except ValueError as error:
            shown = repr(text.decode(errors="replace"))
            raise InputError.at(path, number, layout.number.format(shown)) from error
        if document in table.setdefault(query, {}):
            raise InputError.at(path, number, f"document {document!r} appears twice for query {query!r}: keep one")
        table[query][document] = value
    if not table:
        raise InputError(f"{path}: no data line: expected '{names}' on each line")
    return table


def write_run(path, run, tag="casebook"):
    """Write a TREC run, best document first, ties by document id descending.

    Parameters
    ----------
    path : path-like
        File to write, whole or not at all; ``.gz`` compresses.
    run : dict of str to dict of str to float
        Query id to document id to score.
    tag : str
        Name of the system, without white space.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError
        If an id holds white space or a score is not finite: it would not read back.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = write_run(pathlib.Path(tempfile.mkdtemp(), "run.txt"), {"q": {"a": 1.5}}, "bm25")
    >>> print(path.read_text().strip())
    q Q0 a 1 1.5 bm25
    """
    return _write_lines(path, run_lines(run, tag))


def run_lines(run, tag="casebook"):
    """Lines of a TREC run, best document first, ties by id descending."""
    _check_token(tag, "tag")
    lines = []
    for query, scores in run.items():
        _check_query(query)
        ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
        for rank, (document, score) in enumerate(ranked, 1):
            _check_token(document, "document id")
            if not math.isfinite(score):
                raise InputError(f"score {score} of {query} {document} is not finite")
            lines.append(f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n")
    return lines


def _check_query(query):
    _check_token(query, "query id")
    if query.startswith("#"):
        raise InputError(f"query id {query!r} would start a comment line: rename it")


def _check_token(text, kind):
    if len(text.split()) != 1 or text != text.strip():
        raise InputError(f"{kind} {text!r} is empty or holds white space: rename it")


def _write_lines(path, lines):
    data = "".join(lines).encode()
    with replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)
    return Path(path)
