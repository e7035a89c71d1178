"""Judgements and runs in any accepted form, checked, joined on the judged side."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from casebook.errors import InputError
from casebook.formats.trec import load
from casebook.formats.trec_columns import Columns
from casebook.formats.trec_text import GRADE_LIMIT, QRELS, RUN
from casebook.measures.ranking_ranks import Lookup
from casebook.ragged import offsets_of


@dataclass(frozen=True)
class Accounting:
    """Which queries were judged, retrieved and counted.

    Attributes
    ----------
    judged, retrieved : int
        Number of queries in the judgements and in the run.
    evaluated : int
        Number of queries that the means are taken over.
    missing : tuple of str
        Judged queries that the run does not contain.
    extra : tuple of str
        Queries of the run without judgements; ignored.
    empty : tuple of str
        Queries of the run for which it retrieves nothing; they score 0.
    no_relevant : tuple of str
        Judged queries without a document of grade 1 or more.
    """

    judged: int
    retrieved: int
    evaluated: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    empty: tuple[str, ...]
    no_relevant: tuple[str, ...]

    def counts(self):
        """Give every entry as a number.

        Returns
        -------
        dict of str to int
        """
        return {
            name: value if isinstance(value, int) else len(value)
            for name, value in vars(self).items()
        }


def look_up(qrels, run):
    """Find the judged documents in a run.

    Parameters
    ----------
    qrels, run : dict of dict, DataFrame or path-like
        As for `casebook.measures.ranking.evaluate`.

    Returns
    -------
    lookup : Lookup
    run_ids : list of str
        Queries of the run.
    empty : list of str
        Those of them for which it retrieves nothing.

    Raises
    ------
    InputError
        If either is malformed or empty, or they share no query.
    """
    qrels = _table(qrels, QRELS, "relevance", "qrels")
    run = _table(run, RUN, "score", "run")
    judged_queries, run_queries = _query_ids(qrels), _query_ids(run)
    _check_overlap(judged_queries, run_queries)
    if isinstance(run, Columns):
        if not isinstance(qrels, Columns):
            qrels = Columns.from_dict(qrels, _grades(qrels))
        return _look_up_columns(qrels, run), run_queries, []
    if isinstance(qrels, Columns):
        qrels = qrels.to_dict()
    empty = [query for query, row in run.items() if not row]
    return _look_up_dicts(qrels, run), run_queries, empty


def _table(source, layout, value, what):
    """Give columns for a regular file and a dictionary of dictionaries otherwise."""
    if isinstance(source, str | os.PathLike):
        return load(source, layout)
    if hasattr(source, "columns"):
        source = _from_frame(source, value, what)
    if not isinstance(source, Mapping):
        raise InputError(
            f"{what}: expected a path, a DataFrame or a dict of dicts, "
            f"got {type(source).__name__}"
        )
    for kind in set(map(type, source.values())):
        if not issubclass(kind, Mapping):
            raise InputError(
                f"{what}: each query must map document ids to numbers, "
                f"not be a {kind.__name__}"
            )
    if not any(map(len, source.values())):
        raise InputError(f"{what}: empty, no document for any query")
    return source


def _from_frame(frame, value, what):
    wanted = ["query_id", "doc_id", value]
    absent = [name for name in wanted if name not in frame.columns]
    if absent:
        raise InputError(f"{what}: the DataFrame lacks the columns {absent}")
    repeated = frame.duplicated(["query_id", "doc_id"])
    if repeated.any():
        place = int(np.argmax(repeated))
        pair = frame.iloc[place][["query_id", "doc_id"]].tolist()
        raise InputError(f"{what}: row {place} repeats query and document {pair}")
    table = {}
    columns = (frame[name].tolist() for name in wanted)
    for query, document, number in zip(*columns, strict=True):
        table.setdefault(str(query), {})[str(document)] = number
    return table


def _query_ids(table):
    return table.query_ids if isinstance(table, Columns) else list(table)


def _check_overlap(judged, retrieved):
    known = set(retrieved)
    if not any(query in known for query in judged):
        raise InputError(
            "qrels and run share no query id: "
            f"qrels hold {judged[0]!r}, the run holds {retrieved[0]!r}"
        )


def _number_error(table, what, wanted, accepts):
    """Build the error that names the first number that is not acceptable."""
    for query, row in table.items():
        for document, number in row.items():
            if not accepts(number):
                return InputError(
                    f"{what}: {number!r} of query {query!r}, document {document!r} "
                    f"is not {wanted}"
                )
    return InputError(f"{what}: values are not all {wanted}")


def _is_finite(number):
    try:
        return bool(np.isfinite(float(number)))
    except (TypeError, ValueError):
        return False


def _is_grade(number):
    return (
        _is_finite(number)
        and float(number).is_integer()
        and abs(float(number)) < GRADE_LIMIT
    )


def _grades(qrels):
    """Flatten the grades, refusing what is not an integer."""
    count = sum(map(len, qrels.values()))
    flat = chain.from_iterable(row.values() for row in qrels.values())
    try:
        numbers = np.fromiter(flat, np.float64, count)
        if ((numbers == np.rint(numbers)) & (np.abs(numbers) < GRADE_LIMIT)).all():
            return numbers.astype(np.int64)
    except (TypeError, ValueError):
        pass
    raise _number_error(qrels, "qrels", "an integer grade", _is_grade)


def _look_up_dicts(qrels, run):
    """Look the judged documents up in the dictionaries themselves.

    The scores of a query and those of its judged documents are read in one go, while
    its dictionary is in the cache.
    """
    nothing = {}
    rows = [run.get(query, nothing) for query in qrels]
    sizes = np.empty((len(rows), 2), dtype=np.int64)
    sizes[:, 0] = [len(row) for row in rows]
    sizes[:, 1] = [len(grades) for grades in qrels.values()]
    pairs = zip(rows, qrels.values(), strict=True)
    # A document that is not retrieved is None here, which numpy stores as NaN.
    parts = ((row.values(), map(row.get, grades)) for row, grades in pairs)
    flat = chain.from_iterable(chain.from_iterable(parts))
    try:
        numbers = np.fromiter(flat, np.float64, sizes.sum())
    except (TypeError, ValueError) as error:
        raise _number_error(run, "run", "a finite number", _is_finite) from error
    in_run = np.repeat(np.tile([True, False], len(rows)), sizes.ravel())
    run_scores = numbers[in_run]
    if not np.isfinite(run_scores).all():
        raise _number_error(run, "run", "a finite number", _is_finite)
    queries = np.arange(len(rows))
    return Lookup(
        query_ids=list(qrels),
        row=np.repeat(queries, sizes[:, 1]),
        grade=_grades(qrels),
        score=numbers[~in_run],
        run_scores=run_scores,
        run_offsets=offsets_of(sizes[:, 0]),
        run_query=np.where([query in run for query in qrels], queries, -1),
        judged_ids=_IdsOf(qrels),
        run_ids=lambda query: [str(name) for name in rows[query]],
    )


class _IdsOf:
    """Ids of judged documents by number, listed when first asked for."""

    def __init__(self, qrels):
        self._qrels = qrels
        self._names = None

    def __call__(self, numbers):
        if self._names is None:
            self._names = [str(name) for row in self._qrels.values() for name in row]
        return [self._names[number] for number in numbers]


def _look_up_columns(qrels, run):
    """Look the judged documents up by the hashes of their ids."""
    position = {query: i for i, query in enumerate(run.query_ids)}
    run_query = np.array([position.get(query, -1) for query in qrels.query_ids])
    sizes = np.diff(qrels.offsets)
    row = np.repeat(np.arange(len(sizes)), sizes)
    place = run.find(run_query[row], qrels)
    return Lookup(
        query_ids=qrels.query_ids,
        row=row,
        grade=qrels.value,
        score=np.where(place < 0, np.nan, run.value[place]),
        run_scores=run.value,
        run_offsets=run.offsets,
        run_query=run_query,
        judged_ids=qrels.document_ids,
        run_ids=lambda query: run.document_ids(
            slice(*run.offsets[run_query[query] : run_query[query] + 2])
        ),
    )
