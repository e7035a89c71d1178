"""Find the judged documents of every query in a run, in dictionaries or columns."""

from itertools import chain

import numpy as np

from casebook.errors import InputError
from casebook.formats.trec_text import GRADE_LIMIT
from casebook.measures.ranking_ranks import Lookup
from casebook.ragged import offsets_of


def _number_error(table, what, wanted, accepts):
    """Build the error that names the first number that is not acceptable."""
    for query, row in table.items():
        for document, number in row.items():
            if not accepts(number):
                return InputError(f"{what}: {number!r} of query {query!r}, document {document!r} is not {wanted}")
    return InputError(f"{what}: values are not all {wanted}")


def _is_finite(number):
    try:
        return bool(np.isfinite(float(number)))
    except (TypeError, ValueError):
        return False


def _is_grade(number):
    return _is_finite(number) and float(number).is_integer() and abs(float(number)) < GRADE_LIMIT


def grades_of(qrels):
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


def look_up_dicts(qrels, run):
    """Look the judged documents up in the dictionaries themselves."""
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
        grade=grades_of(qrels),
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


def look_up_columns(qrels, run):
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
        run_ids=lambda query: run.document_ids(slice(*run.offsets[run_query[query] : run_query[query] + 2])),
    )
