"""Strict readers and writers of TREC runs and judgements, and of BEIR judgements.

A file is read at once or refused with its name and line; nothing is skipped except
comments (``#`` as the first character of a line), blank lines and, in runs, fields
after the sixth. Scores are exactly ``float(text)``.
"""

import gzip
import math
from pathlib import Path

from casebook.errors import InputError
from casebook.files import replacing
from casebook.formats.trec_columns import Columns
from casebook.formats.trec_lines import parse_lines
from casebook.formats.trec_text import BEIR_QRELS, QRELS, RUN, read_bytes
from casebook.formats.trec_tokens import tokenise

_HEAD = 64  # bytes that hold the padding and a header
_BEIR_HEADER = b"query-id\tcorpus-id\tscore"


def read_run(path):
    """Read a TREC run: ``query Q0 document rank score tag``."""
    return _as_dict(load(path, RUN))


def read_qrels(path):
    """Read TREC judgements: ``query iteration document grade``."""
    return _as_dict(load(path, QRELS))


def read_beir_qrels(path):
    """Read BEIR judgements: tab-separated, under a line that names the columns."""
    raw = read_bytes(path)
    return parse_lines(path, raw, BEIR_QRELS, header=True, separator=b"\t")


def load(path, layout):
    """Read a TREC file in the quickest form that is certainly right.

    Parameters
    ----------
    path : path-like
        File to read.
    layout : Layout
        ``RUN`` or ``QRELS``; judgements that begin with BEIR's header line are read
        as BEIR's.

    Returns
    -------
    Columns or dict
        Columns for a regular file; a dictionary of dictionaries for one that only
        the line parser could read.

    Raises
    ------
    InputError
        As `read_run`.
    """
    raw = read_bytes(path)
    if layout is QRELS and _BEIR_HEADER in raw[:_HEAD]:
        return parse_lines(path, raw, BEIR_QRELS, header=True, separator=b"\t")
    columns = tokenise(raw, layout)
    return columns if columns is not None else parse_lines(path, raw, layout)


def write_run(path, run, tag="casebook"):
    """Write a TREC run, best document first, ties by document id descending."""
    return _write(path, run_lines(run, tag))


def run_lines(run, tag="casebook"):
    """Give the lines of a TREC run, best document first, ties by id descending."""
    _check_token(tag, "tag")
    lines = []
    for query, scores in run.items():
        _check_query(query)
        ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]))[::-1]
        for rank, (document, score) in enumerate(ranked, 1):
            _check_token(document, "document id")
            if not math.isfinite(score):
                raise InputError(f"score {score} of {query} {document} is not finite")
            lines.append(f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n")
    return lines


def write_qrels(path, qrels):
    """Write TREC judgements in the order given."""
    lines = []
    for query, grades in qrels.items():
        _check_query(query)
        for document, grade in grades.items():
            _check_token(document, "document id")
            if grade != int(grade):
                raise InputError(f"grade {grade} of {query} {document}: not an integer")
            lines.append(f"{query} 0 {document} {int(grade)}\n")
    return _write(path, lines)


def _as_dict(table):
    return table.to_dict() if isinstance(table, Columns) else table


def _check_query(query):
    _check_token(query, "query id")
    if query.startswith("#"):
        raise InputError(f"query id {query!r} would start a comment line: rename it")


def _check_token(text, kind):
    if len(text.split()) != 1 or text != text.strip():
        raise InputError(f"{kind} {text!r} is empty or holds white space: rename it")


def _write(path, lines):
    data = "".join(lines).encode()
    if Path(path).suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    with replacing(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)
