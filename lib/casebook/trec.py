"""TREC runs and judgements, and BEIR judgements: strict readers, and writers.

A file is read at once or refused with its name and line; nothing is skipped except
comments (lines that begin with ``#`` and are none of these), blank lines and, in runs, fields
after the sixth. Scores are exactly ``float(text)``.
"""

import csv
import gzip
import io
import itertools
import math
from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import write_bytes
from casebook.readers import DAMAGED, unreadable

GRADE_LIMIT = 2**31


# What one kind of file holds on each line; where it is open-ended more fields may follow.
Layout = namedtuple(
    "Layout", "fields document value parse number open_ended separator", defaults=(False, None)
)


def score_of(text):
    """Finite number of a text; else a ValueError."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def grade_of(text):
    """Whole number of a text; else a ValueError."""
    grade = int(text)
    if abs(grade) >= GRADE_LIMIT:
        raise ValueError(text)
    return grade


_RUN = Layout(
    ["query", "Q0", "document", "rank", "score", "tag"],
    2,
    4,
    score_of,
    "score {} is not a finite number",
    True,
)
_QRELS = Layout(
    ["query", "iteration", "document", "grade"], 2, 3, grade_of, "grade {} is not an integer"
)
_BEIR = Layout(
    ["query-id", "corpus-id", "score"],
    1,
    2,
    grade_of,
    "grade {} is not an integer",
    separator=b"\t",
)


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
    Comments (``#`` as first character of a line that is none of a run) and blank lines are
    skipped, as are fields after the sixth, as trec_eval does.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> read_run(write_run(path, {"q": {"a": 1.5, "b": 2}}))
    {'q': {'b': 2.0, 'a': 1.5}}
    """
    return run_columns(path).table()


def run_columns(path):
    """Columns of a TREC run."""
    raw = _bytes(path)
    return _columns(raw, _RUN) or Nested(_table_by_line(path, raw, _RUN))


def read_qrels(path):
    r"""Read TREC judgements, lines of ``query iteration document grade``, or BEIR's.

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
    return qrels_columns(path).table()


def qrels_columns(path):
    """Columns of judgements, TREC's or BEIR's."""
    raw = _bytes(path)
    layout = _layout_of_judgements(raw)
    columns = _columns(raw, layout) if layout is _QRELS else None
    return columns or Nested(_table_by_line(path, raw, layout))


def read_beir_qrels(path):
    """Read BEIR judgements: tab-separated, under a line that names the columns."""
    return _table_by_line(path, _bytes(path), _BEIR)


def judgements(path):
    """Yield (line, query, document, grade) of judgements of either kind, in the file's order."""
    raw = _bytes(path)
    yield from _entries(path, raw, _layout_of_judgements(raw))


def _layout_of_judgements(raw):
    header = "\t".join(_BEIR.fields).encode()
    return _BEIR if header in raw[:64] else _QRELS


def _bytes(path):
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


@dataclass
class Columns:
    """A TREC run or judgements as columns, the rows of a query together.

    Ids are bytes padded to one width.
    """

    query_ids: list
    offsets: np.ndarray
    document: np.ndarray
    value: np.ndarray

    @classmethod
    def grouped(cls, query_ids, number, document, value):
        """Columns of rows in any order; `number` is the place of a row's query among the ids."""
        if (number[1:] < number[:-1]).any():
            # numpy sorts short integers by radix.
            short = number.astype(np.min_scalar_type(len(query_ids)))
            order = np.argsort(short, kind="stable")
            document = document[order]
            value = value[order]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(number))])
        return cls(query_ids, offsets, document, value)

    @property
    def query(self):
        """Place of each row's query among the ids."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))

    def names(self, place):
        """Documents of one query."""
        rows = slice(*self.offsets[place : place + 2])
        return [name.decode() for name in self.document[rows].tolist()]

    def table(self):
        """The same as a dictionary of dictionaries."""
        names = [name.decode() for name in self.document.tolist()]
        values = self.value.tolist()
        bounds = self.offsets.tolist()
        return {
            query: dict(zip(names[low:high], values[low:high], strict=True))
            for query, low, high in zip(self.query_ids, bounds, bounds[1:], strict=False)
        }

    @cached_property
    def by_key(self):
        """Order of the rows by query and hash of the document, and the keys of this order."""
        key = _keys(self.query, self.document)
        order = order_in_rows(key, self.offsets)
        return order, key[order]

    @property
    def repeats(self):
        """Whether two documents of a query share a key."""
        keys = self.by_key[1]
        return bool((keys[1:] == keys[:-1]).any())

    def find(self, query, document):
        """Row of each document (-1: absent) of the queries of the given numbers (-1: absent)."""
        order, keys = self.by_key
        names = document.astype(self.document.dtype)  # a longer id fills it, which no row does
        wanted = _keys(query, names)
        position = np.searchsorted(keys, wanted)
        found = np.full(len(wanted), -1)
        for step in (1, 0):  # two documents may share a key
            rows = order[np.minimum(position + step, len(keys) - 1)]
            found = np.where(self.document[rows] == names, rows, found)
        return np.where(self.query[found] == query, found, -1)


class Nested(Columns):
    """A dictionary of dictionaries as columns, each made when it is first asked for."""

    def __init__(self, table):
        self.nested = table
        self.query_ids = list(table)
        self.offsets = np.concatenate([[0], np.cumsum([len(row) for row in table.values()])])

    @cached_property
    def document(self):
        return padded(list(itertools.chain.from_iterable(self.nested.values())))

    @cached_property
    def value(self):
        numbers = itertools.chain.from_iterable(row.values() for row in self.nested.values())
        return np.fromiter(numbers, np.float64, self.offsets[-1])

    def names(self, place):
        return list(map(str, self.nested[self.query_ids[place]]))

    def table(self):
        return self.nested


def padded(ids):
    """Ids as bytes of one width: padded with zeros, one to spare, a multiple of eight."""
    width = _width(map(str, ids[:1000]))
    try:
        column = np.array(ids, f"S{width}")
    except UnicodeEncodeError:
        return padded([str(name).encode() for name in ids])
    if _byte(column, -1).any():
        column = np.array(ids, f"S{_width(map(str, ids))}")
    return column


def _width(ids):
    return max(map(len, ids), default=0) // 8 * 8 + 8


def order_in_rows(values, offsets):
    """Order that sorts rows of values, which stand end to end, each by itself."""
    sizes = np.diff(offsets)
    order = np.empty(len(values), dtype=np.int64)
    for size in np.unique(sizes):
        starts = offsets[:-1][sizes == size, None]
        places = starts + np.arange(size)
        order[places] = starts + np.argsort(values[places], axis=1)
    return order


def _keys(query, names):
    """Query and hash of the document as one number, in the order of the queries.

    Two documents of a query share a key once in a trillion pairs.
    """
    mixed = np.zeros(len(names), np.uint64)
    for word in _words(names).T:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return (query.astype(np.uint64) << np.uint64(40)) | (mixed >> np.uint64(24))


def _columns(raw, layout):
    """Read a file at once with pandas; None if a line is irregular or an id much longer."""
    blank, other = (b"\t", b" ") if b"\t" in raw[:1000] else (b" ", b"\t")
    width = _width(raw[: 1 << 16].split())
    if width > 256 or any(mark in raw for mark in (other, b"\0", b"\v", b"\f")):
        return None
    kinds = dict.fromkeys(range(len(layout.fields)), "S1") | {
        0: f"S{width}",
        layout.document: f"S{width}",
    }
    kinds[layout.value] = float if layout.parse is score_of else "S16"
    used = list(kinds) if layout.open_ended else None
    try:
        raw.isascii() or raw.decode()
        table = pd.read_csv(
            io.BytesIO(raw),
            sep=blank.decode(),
            header=None,
            quoting=csv.QUOTE_NONE,
            na_filter=False,
            usecols=used,
            dtype=kinds,
        )
        if table.shape[1] != len(layout.fields):
            return None
        query, document, value = (
            table[place].to_numpy() for place in (0, layout.document, layout.value)
        )
        if layout.parse is grade_of:
            codes, texts = pd.factorize(value)
            value = np.array([layout.parse(text.replace(b"_", b"?")) for text in texts])[codes]
    except ValueError:
        return None
    texts = [table[place].to_numpy() for place in kinds if place != layout.value]
    if not all(_byte(text, 0).all() for text in texts):
        return None
    if _byte(query, -1).any() or _byte(document, -1).any() or (query == b"#").any():
        return None
    if layout.parse is score_of and (not np.isfinite(value).all() or np.isin(value, (0, 1)).all()):
        return None  # pandas takes True for 1
    words = _words(query)
    is_new = (words[1:] != words[:-1]).any(axis=1)
    turns = np.flatnonzero(np.concatenate([[True], is_new]))
    codes, query_ids = pd.factorize(query[turns])
    number = np.repeat(codes, np.diff(turns, append=len(query)))
    columns = Columns.grouped([name.decode() for name in query_ids], number, document, value)
    return None if columns.repeats else columns  # a document may stand twice


def _byte(column, place):
    """One byte of each entry of a column of bytes."""
    return column.view(np.uint8).reshape(len(column), -1)[:, place]


def _words(column):
    """Eight bytes of each entry of a column of bytes at a time, as numbers."""
    return column.view(np.uint64).reshape(len(column), -1)


def _table_by_line(path, raw, layout):
    """Read any file line by line: the right table, or the line at fault."""
    table = {}
    for number, query, document, value in _entries(path, raw, layout):
        if document in table.setdefault(query, {}):
            raise InputError.at(
                path, number, f"document {document!r} appears twice for query {query!r}: keep one"
            )
        table[query][document] = value
    if not table:
        raise InputError(f"{path}: no data line: expected '{' '.join(layout.fields)}' on each line")
    return table


def _entries(path, raw, layout):
    """Yield (line, query, document, value) of every line with data, or refuse the line at fault."""
    header = layout is _BEIR
    expected = len(layout.fields)
    names = " ".join(layout.fields)
    for number, line in enumerate(raw.split(b"\n"), 1):
        fields = line.split(layout.separator)
        if not line.strip() or _is_comment(fields, layout):
            continue
        if header:
            if [field.strip().decode(errors="replace") for field in fields] != layout.fields:
                raise InputError.at(path, number, f"expected the header line {names!r}")
            header = False
            continue
        if len(fields) < expected or (len(fields) > expected and not layout.open_ended):
            raise InputError.at(
                path, number, f"expected {expected} fields ({names}), found {len(fields)}"
            )
        try:
            query = fields[0].decode()
            document = fields[layout.document].decode()
        except UnicodeDecodeError as error:
            raise InputError.at(
                path, number, "an id is not valid UTF-8: re-encode the file"
            ) from error
        if not query or not document:
            raise InputError.at(path, number, "an id is empty")
        text = fields[layout.value]
        try:
            value = layout.parse(text.replace(b"_", b"?"))  # int and float take 1_0 for a number
        except ValueError as error:
            raise InputError.at(
                path, number, layout.number.format(repr(text.decode(errors="replace")))
            ) from error
        yield number, query, document, value


def _is_comment(fields, layout):
    """Whether a line begins with # and lacks the fields of data, its number among them."""
    if not fields[0].startswith(b"#"):
        return False
    if fields[0] == b"#":
        return True
    try:
        layout.parse(fields[layout.value].replace(b"_", b"?"))
    except (ValueError, IndexError):
        return True
    return len(fields) < len(layout.fields)


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
    data = "".join(run_lines(run, tag)).encode()
    return write_bytes(path, gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def run_lines(run, tag="casebook"):
    """Lines of a TREC run, best document first, ties by id descending."""
    _check_token(tag, "tag")
    lines = []
    for query, scores in run.items():
        _check_token(query, "query id")
        ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
        for rank, (document, score) in enumerate(ranked, 1):
            _check_token(document, "document id")
            if not math.isfinite(score):
                raise InputError(f"score {score} of {query} {document} is not finite")
            lines.append(f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n")
    return lines


def _check_token(text, kind):
    if text.split() != [text]:
        raise InputError(
            f"{kind} {text!r} is empty or holds white space: a TREC file cannot hold white space "
            "within an id: rename it in the collection and in its judgements"
        )
    if (kind, text) == ("query id", "#"):
        raise InputError(f"{kind} '#' would start a comment line: rename it")
