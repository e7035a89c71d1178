"""Evaluate a ranking against relevance judgements, query by query.

The measures stand in `casebook.measures.ranking_measures`; `list_measures` lists them and
`describe` explains one. All of them see the same ranking: score descending, ties by document
id descending in byte order, which is trec_eval's rule.

Of the hundreds of documents retrieved for a query only the few judged ones can change a
measure: all that a measure is told of a run are the ranks of the judged documents.
"""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress

import numpy as np
import pandas as pd

from casebook.errors import InputError, MeasureNote
from casebook.measures.ranking_measures import ORIGINAL, describe, list_measures, parse_measure
from casebook.stats.intervals import bootstrap_mean, bounds_text
from casebook.stats.samples import check_choice
from casebook.trec import (
    GRADE_LIMIT,
    Columns,
    Nested,
    order_in_rows,
    padded,
    qrels_columns,
    run_columns,
)

__all__ = ["ORIGINAL", "describe", "evaluate", "list_measures", "parse_measure", "random_order"]

POLICIES = ("zero", "skip")
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
    names: list[str]
    matrix: np.ndarray
    accounting: Accounting

    def __repr__(self):
        n_queries = len(self.query_ids)
        lines = [f"{n_queries} queries; 95 % intervals, Student t and BCa, are over queries"]
        for name, mean in self.mean.items():
            interval = self.interval(name)
            bounds = bounds_text(interval.low, interval.high, "z.4f")
            lines.append(f"{name:12} {mean:z.4f}  {bounds}")
        return "\n".join(lines)

    def interval(self, name):
        return bootstrap_mean(self.values(name))

    @cached_property
    def per_query(self):
        """Values as {query id: {measure name: value}}."""
        return {
            query: dict(zip(self.names, values, strict=True))
            for query, values in zip(self.query_ids, self.matrix.tolist(), strict=True)
        }

    @property
    def mean(self):
        """Mean over the queries by measure."""
        return {name: float(np.mean(self.values(name))) for name in self.names}

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
        [queries, measures]), and ``accounting``: which
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
    names, formulas = _parsed(measures)
    judgements, accounting = _judgements_to_evaluate(
        qrels, run, judged_only=judged_only, missing=missing, no_relevant=no_relevant
    )
    values = np.column_stack([formula.score(judgements) for formula in formulas])
    return Evaluation(judgements.query_ids, names, values, accounting)


def random_order(qrels, run, measures):
    """Expected values of a random order of each query's documents, computed and not drawn."""
    names, formulas = _parsed(measures)
    judgements, accounting = _judgements_to_evaluate(qrels, run)
    expected = np.column_stack([formula.at_random(judgements) for formula in formulas])
    return Evaluation(judgements.query_ids, names, expected, accounting)


def _parsed(measures):
    """Names, each once, and their formulas; a note says where a document means something else."""
    names = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
    if not names:
        raise InputError("no measure requested")
    formulas = [parse_measure(name).formula for name in names]
    for name in names:
        meaning = _NOTES.get(name.lower())
        if name.startswith("NDCG@"):
            meaning = f"the graded nDCG; COUNTERCASE's binary one is original:{name}"
        if meaning and name not in ("nDCG@3", "RBP"):
            warnings.warn(f"{name} is {meaning}", MeasureNote, stacklevel=3)
    return names, formulas


# Judgements and runs in any accepted form, as columns


def _columns(source, value, reader):
    """Columns of a path, a frame or a dictionary of dictionaries."""
    name = "run" if reader is run_columns else "qrels"
    if isinstance(source, str | os.PathLike):
        return reader(source)
    if isinstance(source, pd.DataFrame):
        return _columns_of_frame(source, value, name)
    if not isinstance(source, Mapping):
        kind = type(source).__name__
        raise InputError(f"{name}: expected a path, a DataFrame or a dict of dicts, got {kind}")
    for kind in set(map(type, source.values())):
        if not issubclass(kind, Mapping):
            raise InputError(
                f"{name}: each query must map document ids to numbers, not be a {kind.__name__}"
            )
    if not any(source.values()):
        raise InputError(f"{name}: empty, no document for any query")
    return Nested(source)


def _columns_of_frame(frame, value, name):
    """Columns of a frame; ids are read as text."""
    required = ["query_id", "doc_id", value]
    absent = sorted(set(required) - set(frame))
    if absent:
        raise InputError(f"{name}: the DataFrame lacks the columns {absent}")
    if frame.empty:
        raise InputError(f"{name}: empty, no document for any query")
    code, ids = pd.factorize(frame["query_id"], use_na_sentinel=False)
    texts = [str(query) for query in ids.tolist()]
    number_of_text, query_ids = pd.factorize(np.array(texts, dtype=object))
    number = number_of_text[code]
    document = padded(frame["doc_id"].tolist())
    columns = Columns.grouped(query_ids.tolist(), number, document, frame[value].to_numpy())
    if columns.repeats:
        pairs = pd.DataFrame({"query": number, "document": document})
        for row in np.flatnonzero(pairs.duplicated()):
            pair = frame.iloc[row][["query_id", "doc_id"]].tolist()
            raise InputError(f"{name}: row {row} repeats query and document {pair}")
    return columns


def _checked(columns, are_valid, name, requirement):
    """Numbers of all rows; the first that is not valid is refused."""
    try:
        numbers = np.asarray(columns.value, dtype=np.float64)
    except (TypeError, ValueError):
        values = chain.from_iterable(row.values() for row in columns.table().values())
        numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy()
    wrong = np.flatnonzero(~are_valid(numbers))
    if len(wrong):
        place = columns.query[wrong[0]]
        query = columns.query_ids[place]
        entries = list(columns.table()[query].items())
        document, value = entries[wrong[0] - columns.offsets[place]]
        raise InputError(
            f"{name}: {value!r} of query {query!r}, document {document!r} is not {requirement}"
        )
    return numbers


def _are_grades(numbers):
    return (numbers == np.rint(numbers)) & (np.abs(numbers) < GRADE_LIMIT)


def _judged_ranks(qrels, run, places):
    """Rank of each judged document, infinite if absent; `places` of its query in the run or -1."""
    scores = _checked(run, np.isfinite, "run", "a finite number")
    judged = _judged_scores(qrels, run, places, scores)
    descending = scores
    query = run.query
    if ((scores[1:] > scores[:-1]) & (query[1:] == query[:-1])).any():
        descending = scores[order_in_rows(-scores, run.offsets)]
    # The first of a query's scores that is no higher, by halving what remains.
    place = places[qrels.query]
    start = run.offsets[place]
    low = start
    high = run.offsets[place + 1]
    while (low < high).any():
        middle = (low + high) // 2
        is_higher = (low < high) & (descending.take(middle, mode="clip") > judged)
        low = np.where(is_higher, middle + 1, low)
        high = np.where(is_higher, high, middle)
    ranks = np.where(np.isnan(judged), np.inf, low - start + 1)
    # Among tied scores the ids decide.
    is_tied = descending.take(low + 1, mode="clip") == judged
    for query in np.unique(qrels.query[is_tied]):
        place = places[query]
        in_run = slice(*run.offsets[place : place + 2])
        in_qrels = slice(*qrels.offsets[query : query + 2])
        ranked = sorted(zip(scores[in_run].tolist(), run.names(place), strict=True), reverse=True)
        rank_of = {name: rank for rank, (_, name) in enumerate(ranked, 1)}
        ranks[in_qrels] = [rank_of.get(name, np.inf) for name in qrels.names(query)]
    return ranks


def _judged_scores(qrels, run, places, scores):
    """Score of each judged document in the run, NaN where it is absent."""
    if not isinstance(run, Nested):
        row = run.find(places[qrels.query], qrels.document)
        return np.where(row < 0, np.nan, scores[row])
    found = (map(run.nested.get(query, {}).get, judged) for query, judged in qrels.table().items())
    return np.fromiter(chain.from_iterable(found), np.float64, len(qrels.query))  # None is NaN


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
        return _bounds(np.bincount(self.query, minlength=len(self.query_ids)))

    @cached_property
    def is_retrieved(self):
        return np.isfinite(self.rank)

    def sum_by_query(self, values):
        return np.bincount(self.query, values, minlength=len(self.query_ids))

    def count_to_here(self, mask):
        """Count marked documents of the same query up to and including each one."""
        counts = _bounds(mask)
        return counts[1:] - counts[self.bounds[self.query]]

    def n_relevant(self, rel):
        """Number of documents of each query whose grade is `rel` or more."""
        return self.sum_by_query(self.grade >= rel)

    def without_unjudged(self):
        """The ranks that remain when unjudged documents leave the run."""
        remains = self.is_retrieved & (self.grade >= 0)
        rank = np.where(remains, self.count_to_here(remains), np.inf)
        n_retrieved = self.sum_by_query(remains).astype(np.int64)
        return replace(self, rank=rank, n_retrieved=n_retrieved).sorted_by_rank()

    def sorted_by_rank(self):
        """Restore the order of ascending rank within each query."""
        order = np.lexsort((self.rank, self.query))
        return replace(self, grade=self.grade[order], rank=self.rank[order])


def _bounds(sizes):
    """Bounds of rows of the given sizes that are stored end to end."""
    return np.concatenate([[0], np.cumsum(sizes)])


def _judgements_to_evaluate(qrels, run, judged_only=False, missing="zero", no_relevant="zero"):
    """Ranks of the judged documents of the queries to be evaluated, and the account of queries."""
    check_choice("missing policy", missing, POLICIES)
    check_choice("no_relevant policy", no_relevant, POLICIES)
    qrels = _columns(qrels, "relevance", qrels_columns)
    run = _columns(run, "score", run_columns)
    place_in_run = {query: place for place, query in enumerate(run.query_ids)}
    places = np.array([place_in_run.get(query, -1) for query in qrels.query_ids])
    absent = places < 0
    if absent.all():
        examples = f"qrels hold {qrels.query_ids[0]!r}, the run holds {run.query_ids[0]!r}"
        raise InputError(f"qrels and run share no query id: {examples}")
    query = qrels.query
    grade = _checked(qrels, _are_grades, "qrels", "an integer grade").astype(np.int64)
    rank = _judged_ranks(qrels, run, places)
    sizes = np.diff(run.offsets)
    # Which queries count.
    irrelevant = np.bincount(query, grade >= 1, minlength=len(absent)) == 0
    keep = np.full(len(absent), True)
    if missing == "skip":
        keep[absent] = False
    if no_relevant == "skip":
        keep[irrelevant] = False
    if not keep.any():
        raise InputError("no query is left to evaluate")
    names = np.array(qrels.query_ids, dtype=object)
    judged = set(qrels.query_ids)
    accounting = Accounting(
        judged=len(names),
        retrieved=len(run.query_ids),
        evaluated=int(keep.sum()),
        missing=tuple(names[absent]),
        extra=tuple(query for query in run.query_ids if query not in judged),
        empty=tuple(compress(run.query_ids, sizes == 0)),
        no_relevant=tuple(names[irrelevant]),
    )
    kept = keep[query]
    new_place = np.cumsum(keep) - 1
    n_retrieved = np.where(absent, 0, sizes[places])
    judgements = RankedJudgements(
        query_ids=names[keep].tolist(),
        query=new_place[query[kept]],
        grade=grade[kept],
        rank=rank[kept],
        n_retrieved=n_retrieved[keep],
    ).sorted_by_rank()
    if judged_only:
        judgements = judgements.without_unjudged()
    return judgements, accounting
