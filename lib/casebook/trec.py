"""TREC runs and judgements, and BEIR judgements: strict readers, and a writer.

A file is read as a whole or refused with its name and line; nothing is skipped except blank
lines, comments (lines that begin with ``#`` and are none of these) and, in runs, fields after
the sixth.
"""

import gzip
import math
from pathlib import Path

from casebook.errors import InputError
from casebook.files import write_bytes
from casebook.readers import read_lines

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
PLACES = {6: (0, 2, 4), 4: (0, 2, 3), 3: (0, 1, 2)}  # of these three, by the number of fields


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
    return read_rows(path, "run")


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
    return read_rows(path, "qrels")


def read_rows(path, kind):
    """Numbers of a run, or of judgements (qrels), by query and document."""
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
                problem = f"document {document!r} appears twice for query {query!r}: keep one"
                raise InputError.at(path, number, problem)
            of_query[document] = value
    if not rows:
        raise InputError(f"{path}: no data line: expected '{' '.join(names)}' on each line")
    return rows


def _entry(fields, names, kind):
    """Query, document and number of a line; else a ValueError that says what is wrong."""
    n = len(names)
    if len(fields) < n or (len(fields) > n and kind == "qrels"):
        raise ValueError(f"expected {n} fields ({' '.join(names)}), found {len(fields)}")
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
