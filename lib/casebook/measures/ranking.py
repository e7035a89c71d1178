"""Evaluation of a ranking against relevance judgements, query by query.

The measures stand in `casebook.measures.ranking_measures`, where `INFO` explains them. All of them
see the same ranking: score descending, ties by document
id descending in byte order, which is trec_eval's rule.

Of the hundreds of documents retrieved for a query only the few judged ones can change a
measure: all that a measure is told of a run are the ranks of the judged documents.
"""

import os
from collections import namedtuple
from collections.abc import Mapping
from itertools import chain

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.ranking_measures import parse_measure
from casebook.trec import Rows, ranked, read_rows

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "R@100", "AP")
# Ids of the queries that were judged, retrieved and counted, or are not in order.
Accounting = namedtuple(
    "Accounting", "judged retrieved evaluated missing extra empty no_relevant"
)


class Evaluation(namedtuple("Evaluation", "table accounting")):
    """Values of measures for every query of one run."""

    @property
    def per_query(self):
        """Values as {query id: {measure name: value}}."""
        names = list(self.table)
        rows = [
            dict(zip(names, row, strict=True)) for row in self.table.to_numpy().tolist()
        ]
        return dict(zip(self.table.index, rows, strict=True))

    @property
    def mean(self):
        """Mean over the queries by measure."""
        return {name: float(np.mean(values)) for name, values in self.table.items()}

    def frame(self):
        """Values as a DataFrame of queries x measures."""
        return self.table


def evaluate(qrels, run, measures=DEFAULT_MEASURES):
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
        Names, such as nDCG@10; see ``casebook.measures.ranking_measures.INFO``.

    Returns
    -------
    Evaluation
        ``mean`` (dict by measure), ``per_query``, ``frame()`` (queries x measures) and
        ``accounting``: which queries were missing, extra, empty or without a relevant
        document. Judged queries that the run does not contain score 0, as in ``trec_eval -c``.

    Raises
    ------
    InputError
        If an input is malformed or empty, no query id is shared, or a measure is unknown.

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
    found = _measures(measures)
    judgements, accounting = _ranked_judgements(qrels, run)
    values = {name: measure.score(judgements) for name, measure in found.items()}
    index = pd.Index(judgements.query_ids, name="query_id")
    return Evaluation(pd.DataFrame(values, index), accounting)


def random_order(qrels, run, measures):
    """Expected values of a random order of each query's documents: a frame, queries x measures."""
    judgements, _ = _ranked_judgements(qrels, run)
    values = {
        name: measure.at_random(judgements)
        for name, measure in _measures(measures).items()
    }
    return pd.DataFrame(values, pd.Index(judgements.query_ids, name="query_id"))


def _measures(names):
    names = [names] if isinstance(names, str) else names
    if not len(names):
        raise InputError("no measure requested")
    return {name: parse_measure(name) for name in names}


# Judgements and runs in any accepted form, as mappings of mappings


def _table(source, kind, value):
    """Numbers by query and document, of a path, a frame or a dictionary of dictionaries."""
    if isinstance(source, str | os.PathLike):
        return read_rows(source, kind)
    if isinstance(source, pd.DataFrame) and len(source):
        return _rows_of_frame(source, kind, value)
    rows = source.values() if isinstance(source, Mapping) else [source]
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            f"{kind}: expected a path, a DataFrame with rows or a dict of dicts"
        )
    if not any(source.values()):
        raise InputError(f"{kind}: empty, no document for any query")
    return source


def _rows_of_frame(frame, kind, value):
    absent = [name for name in ("query_id", "doc_id", value) if name not in frame]
    if absent:
        raise InputError(f"{kind}: the DataFrame lacks the columns {absent}")
    # A number and its text are one id.
    place, query_ids = pd.factorize(frame["query_id"].astype(str))
    codes, names = pd.factorize(frame["doc_id"].astype(str))
    documents = np.array([name.encode() for name in names])
    document = documents.astype(f"S{documents.itemsize // 8 * 8 + 8}")[codes]
    values = pd.to_numeric(frame[value], errors="coerce").to_numpy(float)
    rows = Rows(query_ids, place, document, values)
    if not rows.index.is_unique:
        raise InputError(f"{kind}: the DataFrame has a document twice for a query")
    return rows


def _sizes(table):
    """Number of documents of each query."""
    if isinstance(table, Rows):
        return table.sizes
    return np.array([len(row) for row in table.values()])


def _numbers(table, kind):
    """Numbers of all documents; what is no score or no whole grade is refused."""
    if isinstance(table, Rows):
        numbers = table.value
    else:
        try:
            rows = (row.values() for row in table.values())
            numbers = np.fromiter(chain.from_iterable(rows), float)
        except (TypeError, ValueError) as error:
            raise InputError(f"{kind}: {error}") from None
    is_wrong = ~np.isfinite(numbers)
    if kind == "qrels":
        is_wrong |= numbers != np.rint(numbers)
    for place in np.flatnonzero(is_wrong)[:1]:
        query, document = [
            (query, document) for query in table for document in table[query]
        ][place]
        what = "a finite number" if kind == "run" else "an integer grade"
        where = f"of query {query!r}, document {document!r}"
        raise InputError(f"{kind}: {numbers[place]} {where} is not {what}")
    return numbers


# Ranks of the judged documents: all that a measure needs to know of a run


class RankedJudgements:
    """Judged documents of every query in rank order, end to end, with their ranks in a run.

    `query`, `grade` and `rank` have an entry for each judged document: the position of its query
    among the ids, its grade, and its rank, NaN where not retrieved. `n_retrieved` counts the
    documents of each query's list.
    """

    def __init__(self, query_ids, query, grade, rank, n_retrieved):
        order = np.lexsort((rank, query))
        self.query_ids = query_ids
        self.query = query
        self.grade = grade[order]
        self.rank = rank[order]
        self.n_retrieved = n_retrieved
        self.starts = np.searchsorted(query, np.arange(len(query_ids)))

    def total(self, values):
        """Sum by query."""
        return np.bincount(self.query, values, minlength=len(self.query_ids))

    def count_to_here(self, mask):
        """Number of marked documents of the same query up to and including each one."""
        counts = np.append(0, np.cumsum(mask))
        return counts[1:] - counts[self.starts[self.query]]


def _ranked_judgements(qrels, run):
    """Ranks of the judged documents of the queries to be evaluated, and the account of queries."""
    qrels = _table(qrels, "qrels", "relevance")
    run = _table(run, "run", "score")
    names = np.array([*qrels], dtype=object)
    retrieved = np.array([*run], dtype=object)
    place_in_run = pd.Index(retrieved).get_indexer(names)
    is_absent = place_in_run < 0
    if is_absent.all():
        examples = f"qrels hold {names[0]!r}, the run holds {retrieved[0]!r}"
        raise InputError(f"qrels and run share no query id: {examples}")
    grade = _numbers(qrels, "qrels")
    query = np.repeat(np.arange(len(names)), _sizes(qrels))
    is_relevant = np.bincount(query, grade >= 1, minlength=len(names)) > 0
    n_retrieved = _sizes(run)
    rank = _ranks(qrels, query, run, place_in_run)
    lengths = np.where(is_absent, 0, n_retrieved[place_in_run])
    judgements = RankedJudgements(names.tolist(), query, grade, rank, lengths)
    is_extra = np.full(len(retrieved), True)
    is_extra[place_in_run[~is_absent]] = False
    accounts = [names, retrieved, names, names[is_absent]]
    accounts += [retrieved[is_extra], retrieved[n_retrieved == 0], names[~is_relevant]]
    return judgements, Accounting(*map(tuple, accounts))


def _ranks(qrels, query, run, place_in_run):
    """Rank of each judged document, NaN where it is not retrieved.

    `query` is the place of its query among the judged; `place_in_run` that of each judged query.
    """
    scores = _numbers(run, "run")
    if isinstance(run, Rows):
        if isinstance(qrels, Rows):
            documents = qrels.document
        else:
            names = chain.from_iterable(qrels.values())
            documents = np.array([document.encode() for document in names])
        judged = run.find(place_in_run[query], documents)
    else:
        found = []
        for name, row in qrels.items():
            score_of = run.get(name, {}).get
            found.extend(map(score_of, row))
        judged = np.array(found, dtype=float)  # None is NaN
    sizes = _sizes(run)
    starts = np.cumsum(sizes) - sizes
    # Complex numbers are in order of their real parts, then of the others: by query, best first.
    listed = np.empty(len(scores), complex)
    listed.real = np.repeat(np.arange(len(run)), sizes)
    listed.imag = -scores
    if (listed[1:] < listed[:-1]).any():
        for size in np.unique(sizes):
            rows = starts[sizes == size, None] + np.arange(size)
            listed.imag[rows] = np.sort(-scores[rows], axis=1)
    row = place_in_run[query]
    wanted = row - 1j * judged
    position = np.searchsorted(listed, wanted)
    rank = position - starts[row] + 1.0
    rank[np.isnan(judged)] = np.nan
    # Among tied scores the ids decide.
    is_tied = listed.take(position + 1, mode="clip") == wanted
    names = list(qrels)
    for place in np.unique(query[is_tied]):
        name = names[place]
        in_order = [document for document, _ in ranked(run[name])]
        rank_of = pd.Series(np.arange(1.0, len(in_order) + 1), in_order)
        rank[query == place] = rank_of.reindex(list(qrels[name]))
    return rank
