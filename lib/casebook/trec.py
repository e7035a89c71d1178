"""TREC runs and judgements, and BEIR judgements: strict readers, and a writer.

A file is read as a whole or refused with its name and line; nothing is skipped except blank
lines, comments (lines that begin with ``#`` and are none of these) and, in runs, fields after
the sixth.
"""

import csv
import gzip
import io
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import write_bytes
from casebook.readers import DAMAGED, OPENERS, read_lines

# Fields of a line, among them the query, the document and the value.
LAYOUTS = {
    "run": ["query", "Q0", "document", "rank", "score", "tag"],
    "qrels": ["query", "iteration", "document", "grade"],
}
NO_NUMBER = {
    "run": "score {!r} is not a finite number",
    "qrels": "grade {!r} is not a whole number",
}
BEIR = ["query-id", "corpus-id", "score"]
# Places of these three columns, by the number of fields.
PLACES = {6: (0, 2, 4), 4: (0, 2, 3), 3: (0, 1, 2)}


def read_run(path):
    """Scores of a TREC run: lines of ``query Q0 document rank score tag``.

    Parameters
    ----------
    path : path-like
        Text in UTF-8, plain, ``.gz`` or ``.xz``.

    Returns
    -------
    dict of str to dict of str to float
        Query id to document id to score, which is exactly ``float(text)``. Ranks and tags
        are not read: evaluation ranks by score.

    Raises
    ------
    InputError
        Names file and line, if a line has not six fields, a score is not a finite number,
        a document stands twice for a query, or no line holds data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> read_run(write_run(path, {"q": {"a": 1.5, "b": 2}}))
    {'q': {'b': 2.0, 'a': 1.5}}
    """
    return dict(read_rows(path, "run"))


def read_qrels(path):
    r"""Grades of TREC judgements, lines of ``query iteration document grade``, or of BEIR's.

    Parameters
    ----------
    path : path-like
        Text in UTF-8, plain, ``.gz`` or ``.xz``. BEIR's has tabs, and a first line
        ``query-id corpus-id score``.

    Returns
    -------
    dict of str to dict of str to int
        Query id to document id to grade; below 1 is not relevant, below 0 unjudged.

    Raises
    ------
    InputError
        Names file and line, if a line has not four fields (BEIR: three), a grade is not a
        whole number, a document stands twice for a query, or no line holds data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("q 0 a 2\nq 0 b 0\n")
    >>> read_qrels(path)
    {'q': {'a': 2, 'b': 0}}
    """
    return dict(read_rows(path, "qrels"))


def read_rows(path, kind):
    """Numbers of a run, or of judgements (qrels), by query and document: a mapping of mappings."""
    regular = _regular_rows(Path(path), kind)
    if regular is not None:
        return regular
    names = LAYOUTS[kind]
    separator = None  # any blanks
    rows = {}
    for number, line in read_lines(path):
        fields = line.split(separator)
        if fields == BEIR:
            names, separator = BEIR, "\t"
        elif line.strip() and fields[0] != "#":
            try:
                query, document, value = _entry(fields, names, kind)
            except ValueError as error:
                if line.startswith("#"):
                    continue
                raise InputError.at(path, number, error) from None
            of_query = rows.setdefault(query, {})
            if document in of_query:
                problem = (
                    f"document {document!r} appears twice for query {query!r}: keep one"
                )
                raise InputError.at(path, number, problem)
            of_query[document] = value
    if not rows:
        raise InputError(
            f"{path}: no data line: expected '{' '.join(names)}' on each line"
        )
    return rows


def _entry(fields, names, kind):
    """Query, document and number of a line; else a ValueError with what is wrong."""
    n = len(names)
    if len(fields) < n or (len(fields) > n and kind == "qrels"):
        raise ValueError(
            f"expected {n} fields ({' '.join(names)}), found {len(fields)}"
        )
    query, document, value = PLACES[n]
    if not (fields[query] and fields[document]):
        raise ValueError("an id is empty")
    return fields[query], fields[document], number_of(fields[value], kind)


def number_of(text, kind):
    """Score of a run, or grade of judgements; else a ValueError that says what it is not."""
    try:
        value = float(text.replace("_", "?"))  # float takes 1_0 for a number
    except ValueError:
        value = math.nan
    if kind == "run" and math.isfinite(value):
        return value
    if kind == "qrels" and value.is_integer():
        return int(value)
    raise ValueError(NO_NUMBER[kind].format(text))


# Regular files: single blanks or tabs between the fields, no comments, no repeats


class Rows(Mapping):
    """Documents and numbers by query, as arrays in which the rows of a query are together.

    Documents are bytes of one width, a multiple of eight, padded with zeros.
    """

    def __init__(self, query_ids, place, document, value):
        order = np.argsort(place, kind="stable")
        self.sizes = np.bincount(place)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.places = {query: place for place, query in enumerate(query_ids)}
        self.document = document[order]
        self.value = value[order]
        self.index = _keys(place[order], self.document)

    def __len__(self):
        return len(self.places)

    def __iter__(self):
        return iter(self.places)

    def __getitem__(self, query):
        place = self.places[query]
        rows = slice(self.starts[place], self.starts[place] + self.sizes[place])
        names = [name.decode() for name in self.document[rows].tolist()]
        return dict(zip(names, self.value[rows].tolist(), strict=True))

    def find(self, place, document):
        """Numbers of documents of the queries at some places, NaN where they are not here."""
        keys = _keys(place, document.astype(self.document.dtype))
        rows = self.index.get_indexer(keys)
        return np.where(rows < 0, np.nan, self.value[rows])


def _keys(place, document):
    """Numbers of queries with documents; of a million two agree once in 10^7."""
    key = np.zeros(len(place), np.uint64)
    for word in [
        place.astype(np.uint64),
        *document.view(np.uint64).reshape(len(key), -1).T,
    ]:
        key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    return pd.Index(key)


def _regular_rows(path, kind):
    """Rows of a regular file; None of any other, which is read line by line."""
    _, place_of_document, place_of_value = PLACES[len(LAYOUTS[kind])]
    types = dict.fromkeys(range(len(LAYOUTS[kind])), "S1")
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as stream:
            raw = stream.read().replace(b"\t", b" ")
        raw.decode()  # else it is read line by line, and refused
        if b"#" in raw or b"\0" in raw:
            return None
        # A byte to spare, which an id that was cut fills.
        longest = max(map(len, raw[: 1 << 16].split()))
        width = longest // 8 * 8 + 8
        types |= {0: f"S{width}", place_of_document: f"S{width}"}
        types[place_of_value] = {"run": float, "qrels": np.int64}[kind]
        table = pd.read_csv(
            io.BytesIO(raw),
            sep=" ",
            header=None,
            dtype=types,
            quoting=csv.QUOTE_NONE,
            na_filter=False,
        )
    except (OSError, ValueError, OverflowError, *DAMAGED):
        return None
    if table.shape[1] != len(types):
        return None
    columns = [table[place].to_numpy() for place in types]
    value = columns.pop(place_of_value)
    query = columns[0]
    document = columns[place_of_document]
    is_whole = np.isfinite(value).all()
    for column in columns:
        is_whole &= (column != b"").all()
    for ids in (query, document):
        last = ids.view("S1")[width - 1 :: width]
        is_whole &= (last == b"").all()
    if not is_whole:
        return None
    place, _ = pd.factorize(_keys(np.zeros(len(query)), query))
    first = np.unique(place, return_index=True)[1]
    query_ids = [name.decode() for name in query[first].tolist()]
    rows = Rows(query_ids, place, document, value)
    return rows if rows.index.is_unique else None


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
    return write_bytes(
        path, gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data
    )


def run_lines(run, tag="casebook"):
    """Lines of a TREC run, best document first, ties by id descending."""
    lines = []
    for query, scores in run.items():
        for rank, (document, score) in enumerate(ranked(scores), 1):
            fields = [query, "Q0", document, str(rank), repr(float(score)), tag]
            line = " ".join(fields)
            if line.split() != fields or query == "#" or not math.isfinite(score):
                raise InputError(
                    f"{line!r} is no line of a TREC file: a name is empty, holds white space or is "
                    "'#', or the score is not finite: rename it in the collection and judgements"
                )
            lines.append(f"{line}\n")
    return lines


def ranked(scores):
    """Pairs of document and score, best first, ties by document id descending."""
    return sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
