"""Evaluate a ranking against relevance judgements, query by query.

The measures stand in `casebook.measures.ranking_measures`; `list_measures` lists them and
`describe` explains one. All of them see the same ranking: score descending, ties by document
id descending in byte order, which is trec_eval's rule.

Of the hundreds of documents retrieved for a query only the few judged ones can change a
measure. Each of them is looked up, and its rank is one more than the number of documents
scored higher, found by bisection; ids are compared only where a judged document is tied.
"""

import math
import os
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress

import numpy as np
import pandas as pd

from casebook.errors import InputError, MeasureNote
from casebook.measures.ranking_measures import ORIGINAL, describe, list_measures, parse_measure
from casebook.stats.intervals import bootstrap_mean, bounds_text
from casebook.trec import GRADE_LIMIT, Columns, order_in_rows, padded, qrels_table, run_table

__all__ = ["ORIGINAL", "describe", "evaluate", "list_measures", "parse_measure", "random_order"]

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "R@100", "AP")
# Spellings of a document, or of trec_eval, under which another measure is found here.
_NOTES = {
    "map@1": "AP@1; EmbeddingShift's map@1 is original:map@1, which is RR",
    "ndcg@3": "the standard nDCG@3; EmbeddingShift's ndcg@3 is original:ndcg@3",
    "rbp": "RBP(p=0.8), binary; trec_eval's rbp is RBP(p=0.9) on grades 0 and 1",
}


@dataclass(frozen=True)
class Accounting:
    """Which queries were judged, retrieved and counted."""

    judged: int
    retrieved: int
    evaluated: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    empty: tuple[str, ...]
    no_relevant: tuple[str, ...]

    def counts(self):
        return {
            name: value if isinstance(value, int) else len(value)
            for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class Evaluation:
    """Values of measures for every query of one run; `matrix` has shape [queries, measures]."""

    query_ids: list[str]
    measures: tuple
    matrix: np.ndarray
    accounting: Accounting

    def __repr__(self):
        means = ", ".join(f"{name} {mean:.4f}" for name, mean in self.mean.items())
        return f"Evaluation({len(self.query_ids)} queries: {means})"

    def __str__(self):
        n_queries = len(self.query_ids)
        lines = [f"{n_queries} queries; 95 % intervals, Student t and BCa, are over queries"]
        means = self.mean
        for measure in self.measures:
            line = f"{measure.name:12} {means[measure.name]:z.4f}"
            if measure.aggregate == "mean":
                interval = self.interval(measure.name)
                line += f"  {bounds_text(interval.low, interval.high, 'z.4f')}"
            lines.append(line)
        return "\n".join(lines)

    def interval(self, name):
        return bootstrap_mean(self.values(name))

    @property
    def names(self):
        return [measure.name for measure in self.measures]

    @cached_property
    def per_query(self):
        """Values as {query id: {measure name: value}}."""
        names = self.names
        return {
            query: dict(zip(names, values, strict=True))
            for query, values in zip(self.query_ids, self.matrix.tolist(), strict=True)
        }

    @property
    def mean(self):
        """Summary over the queries by measure: a mean, a sum for counts, a geometric mean."""
        return {
            measure.name: measure.summarise(self.values(measure.name)) for measure in self.measures
        }

    def values(self, name):
        """Values of one measure, one per query."""
        if name not in self.names:
            raise InputError(f"{name!r} was not evaluated: {', '.join(self.names)}")
        return self.matrix[:, self.names.index(name)]

    def frame(self):
        """Values as a DataFrame of queries x measures."""
        return pd.DataFrame(self.matrix, pd.Index(self.query_ids, name="query_id"), self.names)


def evaluate(
    qrels, run, measures=DEFAULT_MEASURES, *, judged_only=False, missing="zero", no_relevant="zero"
):
    """Evaluate a run, query by query.

    Parameters
    ----------
    qrels : dict of str to dict of str to int, DataFrame or path-like
        Judgements: query id to document id to integer grade; or a frame with columns
        ``query_id``, ``doc_id`` and ``relevance``; or a TREC file.
    run : dict of str to dict of str to float, DataFrame or path-like
        Scores: query id to document id to finite score; or a frame with columns
        ``query_id``, ``doc_id`` and ``score``; or a TREC file.
    measures : sequence of str or str
        Names, see `list_measures`.
    judged_only : bool
        Remove unjudged documents from the run first.
    missing : {"zero", "skip"}
        Judged queries that the run does not contain score 0, as in ``trec_eval -c``,
        or are left out, as without ``-c``.
    no_relevant : {"zero", "skip"}
        Queries without a document of grade 1 or more score 0, as in trec_eval, or are
        left out.

    Returns
    -------
    Evaluation
        ``mean`` (dict by measure), ``per_query``, ``frame()`` and ``matrix`` (shape
        [queries, measures]; values of 0 to 1, except counts), and ``accounting``: which
        queries were missing, extra, empty or without a relevant document.

    Raises
    ------
    InputError
        If an input is malformed or empty, no query id is shared, no query is left, or
        a measure or policy is unknown.

    References
    ----------
    Buckley, C. and Voorhees, E. M. (2005). Retrieval system evaluation. In TREC:
    Experiment and Evaluation in Information Retrieval, MIT Press.

    Examples
    --------
    >>> qrels = {"q": {"a": 2, "b": 1, "c": 0}}
    >>> run = {"q": {"c": 5.0, "a": 4.0, "x": 2.0, "b": 1.0}}
    >>> evaluate(qrels, run, ["RR", "AP", "P@4"]).mean
    {'RR': 0.5, 'AP': 0.5, 'P@4': 0.5}
    """
    parsed = _parsed(measures)
    judgements, accounting = _judgements_to_evaluate(
        qrels, run, judged_only=judged_only, missing=missing, no_relevant=no_relevant
    )
    values = np.column_stack([measure.formula.score(judgements) for measure in parsed])
    return Evaluation(judgements.query_ids, parsed, values, accounting)


def random_order(qrels, run, measures):
    """Expected values of a random order of each query's documents, computed and not drawn."""
    parsed = _parsed(measures)
    judgements, accounting = _judgements_to_evaluate(
        qrels, run, judged_only=False, missing="zero", no_relevant="zero"
    )
    expected = np.column_stack([measure.formula.at_random(judgements) for measure in parsed])
    return Evaluation(judgements.query_ids, parsed, expected, accounting)


def _parsed(measures):
    """Parse measure names, one or several, each once; say where a document means something else."""
    names = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
    if not names:
        raise InputError("no measure requested")
    parsed = tuple(map(parse_measure, names))
    for name in names:
        meaning = _NOTES.get(name.lower())
        if name.startswith("NDCG@"):
            meaning = f"the graded nDCG; COUNTERCASE's binary one is original:{name}"
        if meaning and name not in ("nDCG@3", "RBP"):
            warnings.warn(f"{name} is {meaning}", MeasureNote, stacklevel=3)
    return parsed


# Judgements and runs in any accepted form, checked and joined on the judged side


def _judgements_to_evaluate(qrels, run, *, judged_only, missing, no_relevant):
    """Ranks of the judged documents of the queries to be evaluated, and the account of queries."""
    for name, policy in (("missing", missing), ("no_relevant", no_relevant)):
        if policy not in ("zero", "skip"):
            raise InputError(f"{name}={policy!r}: choose 'zero' or 'skip'")
    qrels = _table(qrels, reader=qrels_table, value="relevance", source_name="qrels")
    run = _table(run, reader=run_table, value="score", source_name="run")
    is_columns = isinstance(run, Columns)
    if not is_columns:
        qrels = _as_dicts(qrels)
    judged_ids = dict.fromkeys(_query_ids(qrels))
    run_ids = dict.fromkeys(_query_ids(run))
    if not judged_ids.keys() & run_ids.keys():
        examples = f"qrels hold {next(iter(judged_ids))!r}, the run holds {next(iter(run_ids))!r}"
        raise InputError(f"qrels and run share no query id: {examples}")
    judgements = _ranked_judgements(qrels, run)
    absent = np.array([query not in run_ids for query in judged_ids])
    irrelevant = judgements.n_relevant(1) == 0
    keep = np.ones(len(absent), dtype=bool)
    if missing == "skip":
        keep &= ~absent
    if no_relevant == "skip":
        keep &= ~irrelevant
    if not keep.any():
        raise InputError("no query is left to evaluate")
    names = np.array(judgements.query_ids, dtype=object)
    accounting = Accounting(
        judged=len(names),
        retrieved=len(run_ids),
        evaluated=int(keep.sum()),
        missing=tuple(names[absent]),
        extra=tuple(query for query in run_ids if query not in judged_ids),
        empty=() if is_columns else tuple(query for query, scores in run.items() if not scores),
        no_relevant=tuple(names[irrelevant]),
    )
    if not keep.all():
        judgements = judgements.select(keep)
    if judged_only:
        judgements = judgements.without_unjudged()
    return judgements, accounting


def _table(source, *, reader, value, source_name):
    """Columns or dictionary of dictionaries from a path, a frame or one such."""
    if isinstance(source, str | os.PathLike):
        return reader(source)
    if isinstance(source, pd.DataFrame):
        return _from_frame(source, value, source_name)
    if not isinstance(source, Mapping):
        kind = type(source).__name__
        raise InputError(
            f"{source_name}: expected a path, a DataFrame or a dict of dicts, got {kind}"
        )
    for kind in set(map(type, source.values())):
        if not issubclass(kind, Mapping):
            raise InputError(
                f"{source_name}: each query must map document ids to numbers, "
                f"not be a {kind.__name__}"
            )
    if not any(map(len, source.values())):
        raise InputError(f"{source_name}: empty, no document for any query")
    return source


def _from_frame(frame, value, source_name):
    """Columns of a frame; ids are read as text."""
    required = ["query_id", "doc_id", value]
    if not set(required) <= set(frame):
        absent = sorted(set(required) - set(frame))
        raise InputError(f"{source_name}: the DataFrame lacks the columns {absent}")
    if frame.empty:
        raise InputError(f"{source_name}: empty, no document for any query")
    query, queries = pd.factorize(frame["query_id"], use_na_sentinel=False)
    query_ids = list(dict.fromkeys(map(str, queries.tolist())))
    if len(query_ids) < len(queries):  # 1 and "1" are one id
        query, _ = pd.factorize(np.array([str(name) for name in queries], dtype=object)[query])
    document = padded(frame["doc_id"].tolist())
    columns = Columns.grouped(query_ids, query, document, frame[value].to_numpy())
    if not columns.repeats:
        return columns
    repeated = np.flatnonzero(pd.DataFrame({"query": query, "document": document}).duplicated())
    if not len(repeated):  # two ids of one hash
        return columns.table()
    pair = frame.iloc[repeated[0]][["query_id", "doc_id"]].tolist()
    raise InputError(f"{source_name}: row {repeated[0]} repeats query and document {pair}")


def _as_dicts(table):
    return table.table() if isinstance(table, Columns) else table


def _query_ids(table):
    return table.query_ids if isinstance(table, Columns) else list(table)


def _documents_per_query(table):
    if isinstance(table, Columns):
        return np.diff(table.offsets)
    return [len(documents) for documents in table.values()]


def _document_ids(table):
    if isinstance(table, Columns):
        return table.document_ids(None, None)
    return [str(name) for documents in table.values() for name in documents]


def _numbers(table):
    """All numbers in order; NaN alone if something is no number."""
    try:
        if isinstance(table, Columns):
            return np.asarray(table.value, dtype=np.float64)
        numbers = chain.from_iterable(documents.values() for documents in table.values())
        return np.fromiter(numbers, np.float64, sum(map(len, table.values())))
    except (TypeError, ValueError):
        return np.array([np.nan])


def _grades(qrels):
    """All grades in order; what is not an integer is refused."""
    numbers = _numbers(qrels)
    if ((numbers == np.rint(numbers)) & (np.abs(numbers) < GRADE_LIMIT)).all():
        return numbers.astype(np.int64)
    raise _number_error(_as_dicts(qrels), "qrels", "an integer grade", _is_grade)


def _is_grade(number):
    return number.is_integer() and abs(number) < GRADE_LIMIT


def _number_error(table, source_name, requirement, is_valid):
    """The error that names the first number that is not valid."""
    for query, row in table.items():
        for document, number in row.items():
            try:
                valid = is_valid(float(number))
            except (TypeError, ValueError):
                valid = False
            if not valid:
                return InputError(
                    f"{source_name}: {number!r} of query {query!r}, document {document!r} "
                    f"is not {requirement}"
                )
    return None


# Ranks of the judged documents: all that a measure needs to know of a run


@dataclass(frozen=True)
class RankedJudgements:
    """Judged documents of every query in rank order, end to end, with their ranks in a run.

    `query`, `grade` and `rank` have an entry for each judged document: the position of its query
    among the ids, its grade, and its rank, infinite where not retrieved. `n_retrieved` counts the
    documents of each query's list.
    """

    query_ids: list[str]
    query: np.ndarray
    grade: np.ndarray
    rank: np.ndarray
    n_retrieved: np.ndarray

    @cached_property
    def bounds(self):
        """Bounds of the judged documents of each query, shape [queries + 1]."""
        return _offsets(np.bincount(self.query, minlength=len(self.query_ids)))

    @cached_property
    def is_retrieved(self):
        return np.isfinite(self.rank)

    @cached_property
    def by_grade(self):
        """Order of the judged documents by descending grade within each query."""
        span = int(self.grade.max(initial=0)) - int(self.grade.min(initial=0)) + 1
        return np.argsort(self.query * span - self.grade, kind="stable")

    def sum_by_query(self, values):
        return np.bincount(self.query, values, minlength=len(self.query_ids))

    def count_to_here(self, mask):
        """Count marked documents of the same query up to and including each one."""
        counts = _offsets(mask)
        return counts[1:] - counts[self.bounds[self.query]]

    def n_relevant(self, rel):
        """Number of documents of each query whose grade is `rel` or more."""
        return self.sum_by_query(self.grade >= rel)

    def select(self, keep):
        rows = keep[self.query]
        return RankedJudgements(
            query_ids=list(compress(self.query_ids, keep)),
            query=(np.cumsum(keep) - 1)[self.query[rows]],
            grade=self.grade[rows],
            rank=self.rank[rows],
            n_retrieved=self.n_retrieved[keep],
        )

    def without_unjudged(self):
        """The ranks that remain when unjudged documents leave the run."""
        remains = self.is_retrieved & (self.grade >= 0)
        rank = np.where(remains, self.count_to_here(remains), np.inf)
        n_retrieved = self.sum_by_query(remains).astype(np.int64)
        return replace(self, rank=rank, n_retrieved=n_retrieved).sorted_by_rank()

    def sorted_by_rank(self):
        """Restore the order of ascending rank within each query."""
        last = np.max(self.rank, where=self.is_retrieved, initial=0) + 1
        key = self.query * int(last + 1) + np.minimum(self.rank, last).astype(np.int64)
        order = np.argsort(key)
        return replace(self, grade=self.grade[order], rank=self.rank[order])


@dataclass(frozen=True)
class _ScoreLookup:
    """Scores of a run, query by query end to end, and what it gives to the judged documents.

    `query_number` is the position of each judged query in the run (-1: absent) and
    `judged_score` the score of each judged document (NaN: not retrieved).
    """

    run: object
    scores: np.ndarray
    offsets: np.ndarray
    query_number: np.ndarray
    judged_score: np.ndarray

    def items(self, query):
        """Documents and scores of a judged query, given by its position."""
        number = self.query_number[query]
        if not isinstance(self.run, Columns):
            return self.run[number].items()
        low, high = self.offsets[number : number + 2]
        names = self.run.document_ids(low, high)
        return zip(names, self.scores[low:high].tolist(), strict=True)


def _ranked_judgements(qrels, run):
    """Look the judged documents up in a run and rank them."""
    lookup = _in_columns(qrels, run) if isinstance(run, Columns) else _in_dicts(qrels, run)
    ordered = _descending(lookup.scores, lookup.offsets)
    number = lookup.query_number
    begin = np.where(number < 0, 0, lookup.offsets[number])
    n_retrieved = np.where(number < 0, 0, lookup.offsets[number + 1] - begin)
    query_ids = _query_ids(qrels)
    query = np.repeat(np.arange(len(query_ids)), _documents_per_query(qrels))
    retrieved = np.flatnonzero(~np.isnan(lookup.judged_score))
    start = begin[query[retrieved]]
    size = n_retrieved[query[retrieved]]
    score = lookup.judged_score[retrieved]
    above = _count_higher(ordered, start, size, score)
    follower = np.minimum(start + above + 1, len(ordered) - 1)
    is_tied = (above + 1 < size) & (ordered[follower] == score)
    rank = np.full(len(lookup.judged_score), np.inf)
    rank[retrieved] = above + 1.0
    tied = retrieved[is_tied]
    if len(tied):
        ids = _document_ids(qrels)
        names = [ids[entry] for entry in tied]
        rank[tied] += _ranks_in_ties(lookup, query[tied], lookup.judged_score[tied], names)
    judgements = RankedJudgements(query_ids, query, _grades(qrels), rank, n_retrieved)
    return judgements.sorted_by_rank()


def _in_dicts(qrels, run):
    """Look the judged documents up in a dictionary of dictionaries."""
    rows = [run.get(query, {}) for query in qrels]
    sizes = np.array(
        [(len(row), len(grades)) for row, grades in zip(rows, qrels.values(), strict=True)]
    )
    # All numbers of a query in one pass: its scores, then those of its judged documents.
    # A document that is not retrieved is None here, which numpy stores as NaN.
    parts = (
        (row.values(), map(row.get, grades))
        for row, grades in zip(rows, qrels.values(), strict=True)
    )
    try:
        numbers = np.fromiter(
            chain.from_iterable(chain.from_iterable(parts)), np.float64, sizes.sum()
        )
    except (TypeError, ValueError) as error:
        raise _number_error(run, "run", "a finite number", math.isfinite) from error
    in_run = np.repeat(np.tile([True, False], len(rows)), sizes.ravel())
    scores = numbers[in_run]
    if not np.isfinite(scores).all():
        raise _number_error(run, "run", "a finite number", math.isfinite)
    offsets = _offsets(sizes[:, 0])
    return _ScoreLookup(rows, scores, offsets, np.arange(len(rows)), numbers[~in_run])


def _in_columns(qrels, run):
    """Look the judged documents up in a run as columns."""
    scores = _numbers(run)
    if not np.isfinite(scores).all():
        raise _number_error(run.table(), "run", "a finite number", math.isfinite)
    number_of = {query: number for number, query in enumerate(run.query_ids)}
    query_number = np.array([number_of.get(query, -1) for query in _query_ids(qrels)])
    query = np.repeat(query_number, _documents_per_query(qrels))
    is_columns = isinstance(qrels, Columns)
    document = qrels.document if is_columns else padded(_document_ids(qrels))
    rows = run.find(query, document)
    judged_score = np.where(rows < 0, np.nan, scores[rows])
    return _ScoreLookup(run, scores, run.offsets, query_number, judged_score)


def _offsets(sizes):
    """Bounds of rows of the given sizes that are stored end to end."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _descending(scores, offsets):
    """Sort the scores of each query, unless they are in order already."""
    rising = scores[1:] > scores[:-1]
    inner = offsets[1:-1]
    rising[inner[(inner > 0) & (inner < len(scores))] - 1] = False
    if not rising.any():
        return scores
    return scores[order_in_rows(-scores, offsets)]


def _count_higher(values, start, size, target):
    """Count the elements of descending rows that are greater than a target, by bisection."""
    count = np.zeros(len(target), dtype=np.int64)
    if not len(target):
        return count
    step = 1 << int(size.max()).bit_length()
    while step := step >> 1:
        reach = count + step
        probe = values[np.minimum(start + reach, len(values)) - 1]
        count += step * ((reach <= size) & (probe > target))
    return count


def _ranks_in_ties(lookup, queries, scores, names):
    """Count the tied documents whose id is greater than that of each entry."""
    ranks = np.zeros(len(queries), dtype=np.int64)
    for query in np.unique(queries).tolist():
        entries = slice(*np.searchsorted(queries, [query, query + 1]))
        tied_scores = set(scores[entries].tolist())
        ties = defaultdict(list)
        for name, score in lookup.items(query):
            if score in tied_scores:
                ties[score].append(str(name))
        rank_of = {}
        for tied_names in ties.values():
            for rank, name in enumerate(sorted(tied_names, reverse=True)):
                rank_of[name] = rank
        ranks[entries] = [rank_of[name] for name in names[entries]]
    return ranks
