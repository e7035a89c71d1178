"""Evaluate a ranking against relevance judgements, query by query.

The measures stand at the end, in two tables: `STANDARD` and, under ``original:``, the
`DOCUMENTED` formulas of particular systems; `list_measures` lists them. All of them see
the same ranking: score descending, ties by document id descending in byte order, which
is trec_eval's rule. `tie_bounds` says how much the ties matter.

Of the hundreds of documents retrieved for a query only the few judged ones can change a
measure. Each of them is looked up, and its rank is one more than the number of documents
scored higher, found by bisection; ids are compared only where a judged document is tied.
"""

import difflib
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd

from casebook.errors import InputError, MeasureNote
from casebook.trec import GRADE_LIMIT, Columns, read_qrels, run_table

DEFAULT = ("nDCG@10", "RR@10", "R@100", "AP")
ORIGINAL = "original:"
"""Before the name of a documented formula; without it the standard measure is meant."""


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
        """Every entry as a number."""
        return {name: value if isinstance(value, int) else len(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Evaluation:
    """Values of some measures for every query of one run; `matrix` has shape [queries, measures]."""

    query_ids: list[str]
    measures: tuple
    matrix: np.ndarray
    accounting: Accounting

    @property
    def names(self):
        """Names of the measures as requested."""
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
        """Summary over the queries by measure name: a mean, a sum for counts, gm_map's geometric mean."""
        return {measure.name: measure.summarise(self.values(measure.name)) for measure in self.measures}

    def values(self, name):
        """Values of one measure, one per query."""
        if name not in self.names:
            raise InputError(f"{name!r} was not evaluated: {', '.join(self.names)}")
        return self.matrix[:, self.names.index(name)]

    def frame(self):
        """Values as a DataFrame of queries x measures."""
        return pd.DataFrame(self.matrix, pd.Index(self.query_ids, name="query_id"), self.names)


def evaluate(qrels, run, measures=DEFAULT, *, judged_only=False, missing="zero", no_relevant="zero"):
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
    judged, accounting = _judged(qrels, run, judged_only, missing, no_relevant)
    return Evaluation(judged.query_ids, parsed, _scores(parsed, judged), accounting)


@dataclass(frozen=True)
class TieBounds:
    """Values of some measures over all orders of tied documents, each of shape [queries, measures].

    ``expected`` is the mean over all orders, NaN for measures without a closed form;
    ``tie_mass`` is the share of the judged documents found that are tied.
    """

    query_ids: list[str]
    measures: tuple
    low: np.ndarray
    expected: np.ndarray
    actual: np.ndarray
    high: np.ndarray
    tie_mass: np.ndarray
    accounting: Accounting

    def frame(self):
        """Summary over the queries: a row per measure."""
        kinds = ("low", "expected", "actual", "high")
        rows = {
            measure.name: {kind: measure.summarise(getattr(self, kind)[:, i]) for kind in kinds}
            for i, measure in enumerate(self.measures)
        }
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")
        geometric = [measure.aggregate == "geometric" for measure in self.measures]
        table.loc[geometric, "expected"] = np.nan
        return table


def tie_bounds(qrels, run, measures=DEFAULT, *, judged_only=False, missing="zero", no_relevant="zero"):
    """Bound the measures of a run over all orders of its tied documents; arguments as in `evaluate`."""
    parsed = _parsed(measures)
    judged, accounting = _judged(qrels, run, judged_only, missing, no_relevant)
    shared = judged.total(judged.found & (judged.tied > 1))
    found = judged.total(judged.found)
    unknown = np.full(len(judged.query_ids), np.nan)
    means = [measure.formula.expected(judged) for measure in parsed]
    return TieBounds(
        judged.query_ids,
        parsed,
        low=_scores(parsed, judged.within_ties(best=False)),
        expected=np.column_stack([unknown if mean is None else mean for mean in means]),
        actual=_scores(parsed, judged),
        high=_scores(parsed, judged.within_ties(best=True)),
        tie_mass=np.divide(shared, found, out=found * np.nan, where=found > 0),
        accounting=accounting,
    )


def _scores(measures, judged):
    return np.column_stack([measure.formula.score(judged) for measure in measures])


# Judgements and runs in any accepted form, checked and joined on the judged side


def _judged(qrels, run, judged_only, missing, no_relevant):
    """Ranks of the judged documents of the queries to be evaluated, and the account of queries."""
    for name, value in (("missing", missing), ("no_relevant", no_relevant)):
        if value not in ("zero", "skip"):
            raise InputError(f"{name}={value!r}: choose 'zero' or 'skip'")
    qrels = _table(qrels, read_qrels, "relevance", "qrels")
    run = _table(run, run_table, "score", "run")
    regular = isinstance(run, Columns)
    run_ids = dict.fromkeys(run.query_ids) if regular else run
    if not qrels.keys() & run_ids.keys():
        theirs = f"qrels hold {next(iter(qrels))!r}, the run holds {next(iter(run_ids))!r}"
        raise InputError(f"qrels and run share no query id: {theirs}")
    judged = _ranked(qrels, run)
    absent = np.array([query not in run_ids for query in qrels])
    irrelevant = judged.total(judged.grade >= 1) == 0
    keep = ~(absent & (missing == "skip")) & ~(irrelevant & (no_relevant == "skip"))
    if not keep.any():
        raise InputError("no query is left to evaluate")
    names = np.array(judged.query_ids, dtype=object)
    accounting = Accounting(
        judged=len(names),
        retrieved=len(run_ids),
        evaluated=int(keep.sum()),
        missing=tuple(names[absent]),
        extra=tuple(query for query in run_ids if query not in qrels),
        empty=() if regular else tuple(query for query, row in run.items() if not row),
        no_relevant=tuple(names[irrelevant]),
    )
    if not keep.all():
        judged = judged.select(keep)
    return judged.without_unjudged() if judged_only else judged, accounting


def _table(source, read, value, what):
    """Dictionary of dictionaries from a path, a frame or one such."""
    if isinstance(source, str | os.PathLike):
        return read(source)
    if isinstance(source, pd.DataFrame):
        source = _from_frame(source, value, what)
    if not isinstance(source, Mapping):
        raise InputError(f"{what}: expected a path, a DataFrame or a dict of dicts, got {type(source).__name__}")
    for kind in set(map(type, source.values())):
        if not issubclass(kind, Mapping):
            raise InputError(f"{what}: each query must map document ids to numbers, not be a {kind.__name__}")
    if not any(map(len, source.values())):
        raise InputError(f"{what}: empty, no document for any query")
    return source


def _from_frame(frame, value, what):
    wanted = ["query_id", "doc_id", value]
    absent = [name for name in wanted if name not in frame.columns]
    if absent:
        raise InputError(f"{what}: the DataFrame lacks the columns {absent}")
    repeated = frame.duplicated(["query_id", "doc_id"]).to_numpy()
    if repeated.any():
        place = int(np.argmax(repeated))
        pair = frame.iloc[place][["query_id", "doc_id"]].tolist()
        raise InputError(f"{what}: row {place} repeats query and document {pair}")
    table = {}
    for query, document, number in zip(*(frame[name].tolist() for name in wanted), strict=True):
        table.setdefault(str(query), {})[str(document)] = number
    return table


def _grades(qrels):
    """All grades in order; what is not an integer is refused."""
    flat = chain.from_iterable(row.values() for row in qrels.values())
    try:
        numbers = np.fromiter(flat, np.float64, sum(map(len, qrels.values())))
        if ((numbers == np.rint(numbers)) & (np.abs(numbers) < GRADE_LIMIT)).all():
            return numbers.astype(np.int64)
    except (TypeError, ValueError):
        pass
    raise _number_error(qrels, "qrels", "an integer grade", _is_grade)


def _number_error(table, what, wanted, accepts):
    """The error that names the first number that is not acceptable."""
    return next(
        InputError(f"{what}: {number!r} of query {query!r}, document {document!r} is not {wanted}")
        for query, row in table.items()
        for document, number in row.items()
        if not accepts(number)
    )


def _is_finite(number):
    try:
        return bool(np.isfinite(float(number)))
    except (TypeError, ValueError):
        return False


def _is_grade(number):
    return _is_finite(number) and float(number).is_integer() and abs(float(number)) < GRADE_LIMIT


# Ranks of the judged documents: all that a measure needs to know of a run


@dataclass(frozen=True)
class JudgedRanks:
    """Judged documents of every query in rank order, end to end; rank is inf where not retrieved.

    ``ahead`` counts the documents scored higher and ``tied`` those of the same score,
    itself included; ``retrieved`` counts the documents of each query's list.
    """

    query_ids: list[str]
    row: np.ndarray
    grade: np.ndarray
    rank: np.ndarray
    ahead: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray

    @cached_property
    def bounds(self):
        """Bounds of the judged documents of each query, shape [queries + 1]."""
        return _offsets(np.bincount(self.row, minlength=len(self.query_ids)))

    @cached_property
    def found(self):
        """Whether each judged document is retrieved."""
        return np.isfinite(self.rank)

    @cached_property
    def by_grade(self):
        """Order of the judged documents by descending grade within each query."""
        span = int(self.grade.max(initial=0)) - int(self.grade.min(initial=0)) + 1
        return np.argsort(self.row * span - self.grade, kind="stable")

    @cached_property
    def ties(self):
        """Number of the tie that each judged document is in, and the first of each tie."""
        keys = np.stack([self.row, self.ahead, self.found])
        new = np.ones(len(self.row), dtype=bool)
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        return np.cumsum(new) - 1, np.flatnonzero(new)

    def total(self, values):
        """Sum over the judged documents of each query."""
        return np.bincount(self.row, values, minlength=len(self.query_ids))

    def running(self, mask):
        """Count marked documents of the same query up to and including each one."""
        counts = _offsets(mask)
        return counts[1:] - counts[self.bounds[self.row]]

    def relevant(self, level):
        """Number of relevant documents of each query."""
        return self.total(self.grade >= level)

    def select(self, keep):
        """Keep some queries."""
        kept = keep[self.row]
        columns = (column[kept] for column in (self.grade, self.rank, self.ahead, self.tied))
        names = [name for name, wanted in zip(self.query_ids, keep, strict=True) if wanted]
        return JudgedRanks(names, (np.cumsum(keep) - 1)[self.row[kept]], *columns, self.retrieved[keep])

    def without_unjudged(self):
        """The ranks that remain when unjudged documents leave the run."""
        kept = self.found & (self.grade >= 0)
        group, first = self.ties
        place = self.running(kept)
        return replace(
            self,
            rank=np.where(kept, place, np.inf),
            ahead=np.where(kept, (place - kept)[first][group], 0),
            tied=np.where(kept, np.bincount(group, kept)[group], 1).astype(np.int64),
            retrieved=self.total(kept).astype(np.int64),
        ).sorted_by_rank()

    def within_ties(self, best):
        """Judged documents first in each tie by descending grade, or last by ascending grade."""
        group, first = self.ties
        order = np.lexsort((-self.grade if best else self.grade, group))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - first[group]
        unjudged = 0 if best else self.tied - np.bincount(group)[group]
        rank = np.where(self.found, self.ahead + 1.0 + unjudged + place, np.inf)
        return replace(self, rank=rank).sorted_by_rank()

    def sorted_by_rank(self):
        """Restore the order of ascending rank within each query."""
        last = np.max(self.rank, where=self.found, initial=0) + 1
        key = self.row * int(last + 1) + np.minimum(self.rank, last).astype(np.int64)
        order = np.argsort(key)
        columns = {name: getattr(self, name)[order] for name in ("grade", "rank", "ahead", "tied")}
        return replace(self, **columns)


def _ranked(qrels, run):
    """Look the judged documents up in a run and rank them."""
    scores, offsets, place, wanted, items = (_in_columns if isinstance(run, Columns) else _in_dicts)(qrels, run)
    ordered = _descending(scores, offsets)
    begin = np.where(place < 0, 0, offsets[place])
    length = np.where(place < 0, 0, offsets[place + 1] - begin)
    row = np.repeat(np.arange(len(qrels)), [len(grades) for grades in qrels.values()])
    present = np.flatnonzero(~np.isnan(wanted))
    first, size, score = begin[row[present]], length[row[present]], wanted[present]
    above = _count_leading(ordered, first, size, score, np.greater)
    follower = np.minimum(first + above + 1, len(ordered) - 1)
    shared = (above + 1 < size) & (ordered[follower] == score)
    alike = np.ones(len(present), dtype=np.int64)
    reach = _count_leading(ordered, first[shared], size[shared], score[shared], np.greater_equal)
    alike[shared] = reach - above[shared]
    rank = np.full(len(wanted), np.inf)
    ahead, tied = np.zeros(len(rank), np.int64), np.ones(len(rank), np.int64)
    rank[present], ahead[present], tied[present] = above + 1.0, above, alike
    entries = present[shared]
    if len(entries):
        ids = [str(name) for grades in qrels.values() for name in grades]
        rank[entries] += _places_in_ties(items, row[entries], wanted[entries], [ids[entry] for entry in entries])
    return JudgedRanks(list(qrels), row, _grades(qrels), rank, ahead, tied, length).sorted_by_rank()


def _in_dicts(qrels, run):
    """Scores of a run end to end, their offsets, the place of each judged query among them (-1: absent),
    the score of each judged document (NaN: not retrieved), and a function that lists a query's items.
    """
    rows = [run.get(query, {}) for query in qrels]
    sizes = np.array([(len(row), len(grades)) for row, grades in zip(rows, qrels.values(), strict=True)])
    # All numbers of a query in one pass: its scores, then those of its judged documents.
    # A document that is not retrieved is None here, which numpy stores as NaN.
    parts = ((row.values(), map(row.get, grades)) for row, grades in zip(rows, qrels.values(), strict=True))
    try:
        numbers = np.fromiter(chain.from_iterable(chain.from_iterable(parts)), np.float64, sizes.sum())
    except (TypeError, ValueError) as error:
        raise _number_error(run, "run", "a finite number", _is_finite) from error
    in_run = np.repeat(np.tile([True, False], len(rows)), sizes.ravel())
    scores, wanted = numbers[in_run], numbers[~in_run]
    if not np.isfinite(scores).all():
        raise _number_error(run, "run", "a finite number", _is_finite)
    return scores, _offsets(sizes[:, 0]), np.arange(len(rows)), wanted, lambda row: rows[row].items()


def _in_columns(qrels, run):
    """The same for a run as columns."""
    known = {query: number for number, query in enumerate(run.query_ids)}
    place = np.array([known.get(query, -1) for query in qrels])
    query = np.repeat(place, [len(grades) for grades in qrels.values()])
    rows = run.find(query, [str(name) for grades in qrels.values() for name in grades])
    wanted = np.where(rows < 0, np.nan, run.value[rows])

    def items(row):
        low, high = run.offsets[place[row] : place[row] + 2]
        return zip(run.document_ids(low, high), run.value[low:high].tolist(), strict=True)

    return run.value, run.offsets, place, wanted, items


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
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return scores[np.lexsort((-scores, row))]


def _count_leading(values, first, size, target, precedes):
    """Count the leading elements of sorted rows that precede a target, by bisection."""
    count = np.zeros(len(target), dtype=np.int64)
    if not len(target):
        return count
    step = 1 << int(size.max()).bit_length()
    while step := step >> 1:
        reach = count + step
        probe = values[np.minimum(first + reach, len(values)) - 1]
        count += step * ((reach <= size) & precedes(probe, target))
    return count


def _places_in_ties(items, numbers, scores, names):
    """Count the tied documents whose id is greater than that of each entry."""
    places = np.zeros(len(numbers), dtype=np.int64)
    for number in np.unique(numbers).tolist():
        mine = slice(*np.searchsorted(numbers, [number, number + 1]))
        wanted, groups = set(scores[mine].tolist()), defaultdict(list)
        for name, score in items(number):
            if score in wanted:
                groups[score].append(str(name))
        place = {name: i for group in groups.values() for i, name in enumerate(sorted(group, reverse=True))}
        places[mine] = [place[name] for name in names[mine]]
    return places


# Formulas. ``score`` gives the value of each query and ``expected`` its mean over all
# orders of tied documents, or None where no closed form is implemented. A query for which
# the denominator is zero scores 0, as in trec_eval.


@dataclass(frozen=True)
class GainSum:
    """Sum over retrieved judged documents of gain times discount, normalised."""

    gain: Callable
    discount: Callable
    cutoff: Callable
    norm: Callable

    def score(self, judged):
        inside = judged.found & (judged.rank <= self.cutoff(judged))
        rank = np.where(inside, judged.rank, 1.0)
        return _ratio(judged.total(self.gain(judged.grade) * inside * self.discount(rank)), self.norm(judged))

    def expected(self, judged):
        """Each rank of a tie is equally likely."""
        last = int((judged.ahead + judged.tied).max(initial=0))
        cutoff = np.minimum(self.cutoff(judged), last)
        cumulative = np.concatenate([[0.0], np.cumsum(self.discount(np.arange(1.0, last + 1)))])
        low = np.minimum(judged.ahead, cutoff).astype(np.int64)
        high = np.minimum(judged.ahead + judged.tied, cutoff).astype(np.int64)
        weight = (cumulative[high] - cumulative[low]) / judged.tied
        return _ratio(judged.total(self.gain(judged.grade) * judged.found * weight), self.norm(judged))


@dataclass(frozen=True)
class FirstRelevant:
    """A function of the rank of the first relevant document; 0 without one."""

    value: Callable
    level: int
    cutoff: float

    def score(self, judged):
        first, _ = self._first(judged)
        first = first[judged.rank[first] <= self.cutoff]
        values = np.zeros(len(judged.query_ids))
        values[judged.row[first]] = self.value(judged.rank[first])
        return values

    def expected(self, judged):
        first, relevant = self._first(judged)
        ahead, tied = judged.ahead[first], judged.tied[first]
        group, _ = judged.ties
        hits = np.bincount(group, relevant)[group[first]]
        values = np.zeros(len(judged.query_ids))
        chance = hits / tied
        for i in range(1, int(tied.max(initial=0)) + 1):
            rank = ahead + float(i)
            values[judged.row[first]] += np.where(rank <= self.cutoff, chance * self.value(rank), 0.0)
            chance *= np.maximum(tied - hits - i + 1, 0) / np.maximum(tied - i, 1)
        return values

    def _first(self, judged):
        relevant = judged.found & (judged.grade >= self.level)
        return np.flatnonzero(relevant & (judged.running(relevant) == 1)), relevant


@dataclass(frozen=True)
class AveragePrecision:
    """Mean over all relevant documents of the precision at their rank."""

    level: int
    cutoff: float

    def score(self, judged):
        relevant = judged.grade >= self.level
        hit = relevant & judged.found & (judged.rank <= self.cutoff)
        precision = np.where(hit, judged.running(relevant) / judged.rank, 0.0)
        return _ratio(judged.total(precision), judged.total(relevant))

    def expected(self, judged):
        """McSherry and Najork 2008."""
        relevant = judged.grade >= self.level
        hit = relevant & judged.found
        group, first = judged.ties
        hits = np.bincount(group, hit)[group]  # relevant documents in the tie
        before = (judged.running(hit) - hit)[first][group]  # and ahead of it
        s, t = judged.ahead, judged.tied
        slope = (hits - 1.0) / np.maximum(t - 1, 1)
        reach = np.clip(np.minimum(self.cutoff, s + t) - s, 0, t).astype(np.int64)
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1.0, (s + t).max(initial=0) + 1))])
        sums = slope * reach + (before + 1.0 - slope * (s + 1)) * (harmonic[s + reach] - harmonic[s])
        return _ratio(judged.total(np.where(hit, sums / t, 0.0)), judged.total(relevant))


@dataclass(frozen=True)
class PerQuery:
    """Any other function of the judged ranks; ``fixed`` if no order of ties can change it."""

    score: Callable
    fixed: bool = False

    def expected(self, judged):
        return self.score(judged) if self.fixed else None


def _ratio(numerator, denominator):
    """Divide per query, giving 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)


def _linear_gain(grade):
    return np.maximum(grade, 0).astype(np.float64)


def _exponential_gain(grade):
    return np.exp2(np.maximum(grade, 0)) - 1.0


def _binary_gain(level):
    return lambda grade: (grade >= level).astype(np.float64)


def _one(values):
    return np.ones(len(values))


def _reciprocal(rank):
    return 1.0 / rank


def _log_discount(rank):
    return 1.0 / np.log2(rank + 1.0)


def _normalised_gain(gain, k):
    """Discounted gain over that of the judged documents best first."""

    def ideal(judged):
        order = judged.by_grade
        rank = np.arange(1.0, len(order) + 1) - judged.bounds[judged.row]
        return judged.total(gain(judged.grade[order]) * _log_discount(rank) * (rank <= k))

    return GainSum(gain, _log_discount, lambda judged: k, ideal)


def _ndcg(k, dcg="log2"):
    return _normalised_gain(_linear_gain if dcg == "log2" else _exponential_gain, k)


def _average_precision(k, rel=1):
    return AveragePrecision(rel, k)


def _reciprocal_rank(k, rel=1):
    return FirstRelevant(_reciprocal, rel, k)


def _success(k, rel=1):
    return FirstRelevant(_one, rel, k)


def _precision(k, rel=1):
    return GainSum(_binary_gain(rel), _one, lambda judged: k, lambda judged: float(k))


def _recall(k, rel=1):
    return GainSum(_binary_gain(rel), _one, lambda judged: k, lambda judged: judged.relevant(rel))


def _r_precision(k, rel=1):
    return GainSum(
        _binary_gain(rel), _one, lambda judged: judged.relevant(rel)[judged.row], lambda judged: judged.relevant(rel)
    )


def _rank_biased(k, p=0.8, rel=1):
    return GainSum(_binary_gain(rel), lambda rank: (1.0 - p) * p ** (rank - 1.0), lambda judged: k, lambda judged: 1.0)


def _judged_share(k):
    return GainSum(_one, _one, lambda judged: k, lambda judged: np.minimum(judged.retrieved, k).astype(np.float64))


def _bpref(k, rel=1):
    def score(judged):
        relevant = judged.grade >= rel
        against = (judged.grade >= 0) & ~relevant
        wanted = judged.total(relevant)
        bound = np.minimum(judged.total(against), wanted)[judged.row]
        above = judged.running(against & judged.found)
        worse = np.minimum(above, wanted[judged.row]) / np.maximum(bound, 1)
        return _ratio(judged.total(np.where(relevant & judged.found, 1.0 - worse, 0.0)), wanted)

    return PerQuery(score)


def _interpolated_precision(share, rel=1):
    def score(judged):
        relevant = judged.grade >= rel
        needed = np.floor(share * judged.total(relevant) + 0.5)[judged.row]
        order = judged.running(relevant)
        reached = relevant & judged.found & (order >= needed)
        values = np.zeros(len(judged.query_ids))
        np.maximum.at(values, judged.row[reached], order[reached] / judged.rank[reached])
        return values

    return PerQuery(score)


def _count(of):
    return PerQuery(lambda judged: np.asarray(of(judged), dtype=np.float64), fixed=True)


def _relevant_retrieved(k, rel=1):
    return _count(lambda judged: judged.total(judged.found & (judged.grade >= rel)))


# The measures


@dataclass(frozen=True)
class MeasureInfo:
    """What a measure means."""

    name: str
    definition: str
    low: float
    high: float
    source: str
    parity_note: str = ""


@dataclass(frozen=True)
class Family:
    """A measure with open parameters; ``build`` takes the cutoff and the parameters."""

    info: MeasureInfo
    build: Callable
    cutoff: str = "optional"
    parameters: tuple[str, ...] = ("rel",)
    aggregate: str = "mean"


@dataclass(frozen=True)
class Measure:
    """A measure ready to be computed."""

    name: str
    info: MeasureInfo
    formula: object
    aggregate: str

    def summarise(self, values):
        """One number over all queries."""
        if self.aggregate == "sum":
            return float(np.sum(values))
        if self.aggregate == "geometric":
            return float(np.exp(np.mean(np.log(np.maximum(values, 1e-5)))))
        return float(np.mean(values))


def _family(name, build, definition, source, note, cutoff="optional", high=1.0, low=0.0, **rest):
    return Family(MeasureInfo(name, definition, low, high, source, note), build, cutoff, **rest)


_TREC_EVAL = "trec_eval 10"

STANDARD = {
    "nDCG": _family(
        "nDCG@k",
        _ndcg,
        "Sum of gain / log2(rank + 1) over the first k documents, divided by the same sum for the judged documents "
        "in the best order. The gain is the grade, or 2**grade - 1 for nDCG(dcg='exp-log2')@k; no gain is below 0.",
        "Jarvelin and Kekalainen 2002; exponential gain: Burges et al. 2005",
        "Equals trec_eval's ndcg and ndcg_cut_k. Has no relevance level.",
        parameters=("dcg",),
    ),
    "AP": _family(
        "AP@k",
        _average_precision,
        "Mean over all relevant documents of the precision at their rank, 0 for those not among the first k.",
        "Buckley and Voorhees 2005",
        "Equals trec_eval's map and map_cut_k: the divisor is the number of relevant documents even if it exceeds k.",
    ),
    "RR": _family(
        "RR@k",
        _reciprocal_rank,
        "1 / rank of the first relevant document, 0 if that is beyond k.",
        "Kantor and Voorhees 2000",
        "Ties are broken as for every other measure; ir_measures breaks them the other way for RR@k.",
    ),
    "P": _family(
        "P@k",
        _precision,
        "Number of relevant documents among the first k, divided by k.",
        _TREC_EVAL,
        "Divides by k even if fewer documents are retrieved.",
        "required",
    ),
    "R": _family(
        "R@k",
        _recall,
        "Share of the relevant documents that is among the first k.",
        _TREC_EVAL,
        "Equals trec_eval's recall_k.",
        "required",
    ),
    "Success": _family(
        "Success@k",
        _success,
        "1 if a relevant document is among the first k, else 0.",
        _TREC_EVAL,
        "Equals trec_eval's success_k.",
        "required",
    ),
    "Rprec": _family(
        "Rprec",
        _r_precision,
        "Precision at rank R, the number of relevant documents of the query.",
        _TREC_EVAL,
        "Equals trec_eval's Rprec: divides by R even if fewer are retrieved.",
        "none",
    ),
    "bpref": _family(
        "bpref",
        _bpref,
        "Mean over relevant documents of 1 - n / min(R, N), where n counts the judged non-relevant documents ranked "
        "above (at most R), R the relevant and N the judged non-relevant ones; 0 for those not retrieved.",
        "Buckley and Voorhees 2004, as corrected in trec_eval",
        "Negative grades count as unjudged. 1 per retrieved relevant document if none is judged non-relevant.",
        "none",
    ),
    "RBP": _family(
        "RBP(p=0.8)@k",
        _rank_biased,
        "Sum of (1 - p) p**(rank - 1) over the relevant documents among the first k: the rate of relevant documents "
        "met by a reader who goes on to the next with probability p.",
        "Moffat and Zobel 2008",
        "Binary at grade 1 unless rel is given; p is 0.8 unless given. trec_eval's rbp has p = 0.9 and, where a grade "
        "exceeds 1, the gain grade / highest judged grade of the query: the two agree on grades 0 and 1 alone, where "
        "rbp is RBP(p=0.9).",
        parameters=("p", "rel"),
    ),
    "Judged": _family(
        "Judged@k",
        _judged_share,
        "Share of the first k documents (or of those retrieved, if fewer) that has a judgement.",
        "ir_measures",
        "Any grade counts as a judgement, negative ones too. Ties are broken as for every other measure; ir_measures "
        "breaks them the other way.",
        parameters=(),
    ),
    "IPrec": _family(
        "IPrec@x",
        _interpolated_precision,
        "Highest precision at any rank where the share x of the relevant documents has been found.",
        _TREC_EVAL,
        "Equals iprec_at_recall_x of trec_eval 10, which rounds x times the number of relevant documents to the "
        "nearest; trec_eval 9 rounded almost always up.",
        "required",
    ),
    "gm_map": _family(
        "gm_map",
        _average_precision,
        "Average precision; summarised over queries by the geometric mean, values below 0.00001 raised to it.",
        "Robertson 2006, trec_eval 10",
        "The value per query is AP; only the summary differs from map.",
        "none",
        aggregate="geometric",
    ),
    "NumQ": _family(
        "NumQ",
        lambda k: _count(lambda judged: _one(judged.query_ids)),
        "1 per query; summed.",
        _TREC_EVAL,
        "Equals trec_eval's num_q with -c: queries that the run lacks count too.",
        "none",
        np.inf,
        1.0,
        parameters=(),
        aggregate="sum",
    ),
    "NumRet": _family(
        "NumRet",
        lambda k: _count(lambda judged: judged.retrieved),
        "Number of documents retrieved; summed.",
        _TREC_EVAL,
        "Equals trec_eval's num_ret.",
        "none",
        np.inf,
        parameters=(),
        aggregate="sum",
    ),
    "NumRel": _family(
        "NumRel",
        lambda k, rel=1: _count(lambda judged: judged.relevant(rel)),
        "Number of relevant documents; summed.",
        _TREC_EVAL,
        "Equals trec_eval's num_rel.",
        "none",
        np.inf,
        aggregate="sum",
    ),
    "NumRelRet": _family(
        "NumRelRet",
        _relevant_retrieved,
        "Number of relevant documents retrieved; summed.",
        _TREC_EVAL,
        "Equals trec_eval's num_rel_ret.",
        "none",
        np.inf,
        aggregate="sum",
    ),
}

DOCUMENTED = {
    "MRR": _family(
        "original:MRR@k",
        _reciprocal_rank,
        "1 / rank of the first document of grade 1 or more, 0 if beyond k.",
        "COUNTERCASE",
        "The same as RR@k.",
        "required",
        parameters=(),
    ),
    "NDCG": _family(
        "original:NDCG@k",
        lambda k: _normalised_gain(_binary_gain(1), k),
        "Sum of 1 / log2(rank + 1) over the documents of grade 1 or more among the first k, divided by that sum for "
        "min(R, k) such documents at the top.",
        "COUNTERCASE",
        "Binary: grades above 1 count as 1. NDCG@k without the prefix is the graded nDCG@k.",
        "required",
        parameters=(),
    ),
    "Recall": _family(
        "original:Recall@k",
        _recall,
        "Share of the documents of grade 1 or more that is among the first k; 0 if there are none.",
        "COUNTERCASE",
        "The same as R@k.",
        "required",
        parameters=(),
    ),
    "map@1": _family(
        "original:map@1",
        _reciprocal_rank,
        "1 / rank of the first relevant document in the full ranking.",
        "EmbeddingShift",
        "Neither a mean average precision nor cut off at 1: it is RR. map@1 without the prefix is AP@1.",
        "none",
        parameters=(),
    ),
    "ndcg@3": _family(
        "original:ndcg@3",
        lambda k: FirstRelevant(_log_discount, 1, 3.0),
        "1 / log2(rank + 1) of the first relevant document, 0 if beyond rank 3.",
        "EmbeddingShift",
        "Made for one relevant document per query; with several, only the best ranked counts and nothing is "
        "normalised. ndcg@3 without the prefix is the standard nDCG@3.",
        "none",
        parameters=(),
    ),
}


# Names follow ir_measures, ``nDCG@10``, ``P(rel=2)@5``, ``nDCG(dcg='exp-log2')@10``;
# trec_eval's own, ``ndcg_cut_10``, ``map``, and everyday ones, ``mrr@10``, are accepted too,
# all in any letter case. The formula of a document is meant by its prefix alone.

_CASE = {name.lower(): name for name in STANDARD} | {"map": "AP", "mrr": "RR", "recall": "R", "precision": "P"}
_GRAMMAR = re.compile(r"(?P<family>\w+)(?:\((?P<inner>[^()]*)\))?(?:@(?P<k>[^@]+))?")
_TREC_NAMES = {
    r"map_cut_(\d+)": r"AP@\1",
    r"ndcg_cut_(\d+)": r"nDCG@\1",
    r"recip_rank": "RR",
    r"p_(\d+)": r"P@\1",
    r"recall_(\d+)": r"R@\1",
    r"success_(\d+)": r"Success@\1",
    r"iprec_at_recall_([\d.]+)": r"IPrec@\1",
    r"num_q": "NumQ",
    r"num_ret": "NumRet",
    r"num_rel": "NumRel",
    r"num_rel_ret": "NumRelRet",
}
# Spellings of a document, or of trec_eval, under which another measure is found here.
_NOTES = {
    "map@1": "AP@1; EmbeddingShift's map@1 is original:map@1, which is RR",
    "ndcg@3": "the standard nDCG@3; EmbeddingShift's ndcg@3 is original:ndcg@3",
    "rbp": "RBP(p=0.8), binary; trec_eval's rbp is RBP(p=0.9) on grades 0 and 1",
}


def list_measures():
    """List the `MeasureInfo` of every measure."""
    return [family.info for table in (STANDARD, DOCUMENTED) for family in table.values()]


def describe(name):
    """`MeasureInfo` of a measure: definition, range, source, and how it differs elsewhere."""
    for table, key in ((STANDARD, name), (DOCUMENTED, name.removeprefix(ORIGINAL))):
        if key in table and (table is STANDARD or key != name):
            return table[key].info
    return parse_measure(name).info


def parse_measure(name):
    """Find the measure of a name."""
    if name.startswith(ORIGINAL):
        bare = name.removeprefix(ORIGINAL)
        match = _GRAMMAR.fullmatch(bare)
        family = DOCUMENTED.get(bare)
        if family and family.cutoff == "none":  # its @ is a part of the name
            return Measure(name, family.info, family.build(np.inf), family.aggregate)
        family = DOCUMENTED.get(match["family"]) if match else None
        if family is None:
            known = ", ".join(family.info.name for family in DOCUMENTED.values())
            raise InputError(f"unknown measure {name!r}; the documents' own are {known}")
    else:
        match = _GRAMMAR.fullmatch(_standard_name(name))
        family = STANDARD.get(_CASE.get(match["family"].lower())) if match else None
        if family is None:
            raise InputError(_unknown(name))
    cutoff = _cutoff(name, family, match["k"])
    return Measure(
        name, family.info, family.build(cutoff, **_parameters(name, family, match["inner"])), family.aggregate
    )


def _parsed(measures):
    """Parse measure names, one or several, each once; say where a document means something else."""
    names = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
    if not names:
        raise InputError("no measure requested")
    parsed = tuple(map(parse_measure, names))
    for name in names:
        said = _NOTES.get(name.lower())
        if name.startswith("NDCG@"):
            said = f"the graded nDCG; COUNTERCASE's binary one is original:{name}"
        if said and name not in ("nDCG@3", "RBP"):
            warnings.warn(f"{name} is {said}", MeasureNote, stacklevel=3)
    return parsed


def _standard_name(name):
    for pattern, standard in _TREC_NAMES.items():
        match = re.fullmatch(pattern, name, re.IGNORECASE)
        if match:
            return match.expand(standard)
    return name


def _unknown(name):
    names = [*(info.name for info in list_measures()), "map", "ndcg_cut_k", "P_k"]
    generic = re.sub(r"\d+$", "k", name).lower()
    near = difflib.get_close_matches(generic, sorted({known.lower() for known in names}), n=3, cutoff=0.4)
    near = [known for key in near for known in names if known.lower() == key]
    return f"unknown measure {name!r}; near names: {', '.join(near or names)}"


def _cutoff(name, family, text):
    if text is None and family.cutoff == "required":
        raise InputError(f"measure {name!r} needs a cutoff, such as {name}@10")
    if text is None:
        return np.inf
    if family.cutoff == "none":
        raise InputError(f"measure {name!r} takes no cutoff")
    share = family is STANDARD["IPrec"]
    wanted = "a recall of 0 to 1" if share else "an integer from 1"
    try:
        return _in_range(float(text), 0.0, 1.0) if share else _in_range(int(text), 1, np.inf)
    except ValueError as error:
        raise InputError(f"cutoff {text!r} of {name!r} must be {wanted}") from error


def _parameters(name, family, inner):
    parameters = {}
    for part in filter(None, map(str.strip, (inner or "").split(","))):
        key, _, text = (piece.strip().strip("'\"") for piece in part.partition("="))
        if key not in family.parameters:
            allowed = ", ".join(family.parameters) or "none"
            raise InputError(f"parameter {key!r} of {name!r}: allowed are {allowed}")
        convert, wanted = _PARAMETERS[key]
        try:
            parameters[key] = convert(text)
        except ValueError as error:
            raise InputError(f"{key} of {name!r} must be {wanted}") from error
    return parameters


def _in_range(value, low, high):
    if not low <= value <= high:
        raise ValueError(value)
    return value


def _probability(text):
    value = float(text)
    if not 0.0 < value < 1.0:
        raise ValueError(text)
    return value


def _dcg(text):
    if text not in ("log2", "exp-log2"):
        raise ValueError(text)
    return text


_PARAMETERS = {
    "rel": (lambda text: _in_range(int(text), 1, np.inf), "an integer from 1"),
    "p": (_probability, "between 0 and 1"),
    "dcg": (_dcg, "'log2' or 'exp-log2'"),
}
