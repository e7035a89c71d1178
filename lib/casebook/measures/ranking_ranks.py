"""Ranks of the judged documents: all that a ranking measure needs to know of a run.

Of the hundreds of documents retrieved for a query only the few judged ones can change
a measure. Each of them is looked up, and its rank is one more than the number of
documents scored higher, found by bisection. Only where a judged document is tied are
other document ids compared: ties are broken by document id, descending, in the order
of the ids' bytes (trec_eval's ``strcmp``), for every measure alike.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from casebook.ragged import count_leading, offsets_of, rectangles


@dataclass(frozen=True)
class Lookup:
    """Judged documents found in a run, and the run's scores.

    Attributes
    ----------
    query_ids : list of str, length Q
        Judged queries.
    row : ndarray of int, shape (N,)
        Query of each judged document, ascending.
    grade : ndarray of int64, shape (N,)
        Relevance grade of each judged document.
    score : ndarray of float64, shape (N,)
        Its score in the run; NaN if the run does not retrieve it.
    run_scores : ndarray of float64, shape (M,)
        Scores of the whole run, query by query.
    run_offsets : ndarray of int64, shape (P + 1,)
        Bounds of the queries of the run.
    run_query : ndarray of int, shape (Q,)
        Position of each judged query in the run, -1 if missing.
    judged_ids : callable
        Gives the ids of the judged documents with the given numbers.
    run_ids : callable
        Gives the ids that the run retrieves for a judged query, in score order of
        ``run_scores``.
    """

    query_ids: list[str]
    row: np.ndarray
    grade: np.ndarray
    score: np.ndarray
    run_scores: np.ndarray
    run_offsets: np.ndarray
    run_query: np.ndarray
    judged_ids: Callable
    run_ids: Callable


@dataclass(frozen=True)
class JudgedRanks:
    """Judged documents of every query in rank order.

    Attributes
    ----------
    query_ids : list of str, length Q
        Judged queries.
    row : ndarray of int, shape (N,)
        Query of each judged document, ascending.
    grade : ndarray of int64, shape (N,)
        Relevance grade.
    rank : ndarray of float64, shape (N,)
        Rank from 1, infinite if not retrieved; ascending within a query.
    ahead, tied : ndarray of int64, shape (N,)
        Number of documents scored higher, and of those with the same score including
        itself: the rank lies in ``ahead + 1 ... ahead + tied``.
    retrieved : ndarray of int64, shape (Q,)
        Number of documents retrieved.
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
        """Bounds of the judged documents of each query, shape (Q + 1,)."""
        return offsets_of(np.bincount(self.row, minlength=len(self.query_ids)))

    @cached_property
    def found(self):
        """Whether each judged document is retrieved, shape (N,)."""
        return np.isfinite(self.rank)

    @cached_property
    def by_grade(self):
        """Order of the judged documents by descending grade within each query."""
        span = int(self.grade.max(initial=0)) - int(self.grade.min(initial=0)) + 1
        return np.argsort(self.row * span - self.grade, kind="stable")

    @cached_property
    def ties(self):
        """Number of the tie each judged document is in, and the first of each tie.

        Documents that are not retrieved form one group per query.
        """
        keys = np.stack([self.row, self.ahead, self.found])
        new = np.ones(len(self.row), dtype=bool)
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        return np.cumsum(new) - 1, np.flatnonzero(new)

    def total(self, values):
        """Sum over the judged documents of each query.

        Parameters
        ----------
        values : ndarray, shape (N,)

        Returns
        -------
        ndarray of float64, shape (Q,)
        """
        return np.bincount(self.row, values, minlength=len(self.query_ids))

    def running(self, mask):
        """Count marked documents of the same query up to and including each one.

        Parameters
        ----------
        mask : ndarray of bool, shape (N,)

        Returns
        -------
        ndarray of int64, shape (N,)
        """
        counts = offsets_of(mask)
        return counts[1:] - counts[self.bounds[self.row]]

    def select(self, keep):
        """Keep some queries.

        Parameters
        ----------
        keep : ndarray of bool, shape (Q,)

        Returns
        -------
        JudgedRanks
        """
        kept = keep[self.row]
        return JudgedRanks(
            [name for name, wanted in zip(self.query_ids, keep, strict=True) if wanted],
            (np.cumsum(keep) - 1)[self.row[kept]],
            self.grade[kept],
            self.rank[kept],
            self.ahead[kept],
            self.tied[kept],
            self.retrieved[keep],
        )

    def without_unjudged(self):
        """Give the ranks that remain when unjudged documents leave the run.

        A negative grade marks a document as unjudged, as in trec_eval.

        Returns
        -------
        JudgedRanks
        """
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

    def sorted_by_rank(self):
        """Restore the order of ascending rank within each query.

        Returns
        -------
        JudgedRanks
        """
        last = np.max(self.rank, where=self.found, initial=0) + 1
        key = self.row * int(last + 1) + np.minimum(self.rank, last).astype(np.int64)
        order = np.argsort(key)
        return replace(
            self,
            grade=self.grade[order],
            rank=self.rank[order],
            ahead=self.ahead[order],
            tied=self.tied[order],
        )


def rank_judged(lookup):
    """Rank the judged documents of a run.

    Parameters
    ----------
    lookup : Lookup
        Judged documents with their scores in the run.

    Returns
    -------
    JudgedRanks
    """
    scores = _descending(lookup.run_scores, lookup.run_offsets)
    first, size = _bounds(lookup)
    search = first[lookup.row], size[lookup.row], lookup.score
    ahead = count_leading(scores, *search, np.greater)
    found = ~np.isnan(lookup.score)
    rank = np.where(found, ahead + 1.0, np.inf)
    follower = np.minimum(search[0] + ahead + 1, max(len(scores) - 1, 0))
    shared = found & (ahead + 1 < search[1])
    shared[shared] = scores[follower[shared]] == lookup.score[shared]
    entries = np.flatnonzero(shared)
    tied = np.ones(len(rank), dtype=np.int64)
    subset = (part[entries] for part in search)
    tied[entries] = count_leading(scores, *subset, np.greater_equal) - ahead[entries]
    rank[entries] += _places_in_ties(lookup, entries)
    judged = JudgedRanks(
        lookup.query_ids, lookup.row, lookup.grade, rank, ahead, tied, size
    )
    return judged.sorted_by_rank()


def _bounds(lookup):
    """Give where the scores of each judged query begin, and how many there are."""
    missing = lookup.run_query < 0
    first = np.where(missing, 0, lookup.run_offsets[lookup.run_query])
    last = np.where(missing, 0, lookup.run_offsets[lookup.run_query + 1])
    return first, last - first


def _descending(scores, offsets):
    """Sort the scores of each query, unless they are in order already."""
    rising = scores[1:] > scores[:-1]
    inner = offsets[1:-1]
    rising[inner[(inner > 0) & (inner < len(scores))] - 1] = False
    if not rising.any():
        return scores
    ordered = np.empty_like(scores)
    for block in rectangles(offsets):
        ordered[block] = np.sort(scores[block], axis=1)[:, ::-1]
    return ordered


def _places_in_ties(lookup, entries):
    """Count the tied documents whose id is greater than that of each entry."""
    places = np.zeros(len(entries), dtype=np.int64)
    rows = lookup.row[entries]
    first, size = _bounds(lookup)
    for row in np.unique(rows).tolist():
        mine = slice(*np.searchsorted(rows, [row, row + 1]))
        numbers = entries[mine]
        scores = lookup.run_scores[first[row] : first[row] + size[row]].tolist()
        place = _places(lookup.run_ids(row), scores, set(lookup.score[numbers]))
        places[mine] = [place[name] for name in lookup.judged_ids(numbers)]
    return places


def _places(names, scores, wanted):
    """Give each document of a wanted score its place in the tie, greatest id first."""
    groups = defaultdict(list)
    for name, score in zip(names, scores, strict=True):
        if score in wanted:
            groups[score].append(name)
    return {
        name: place
        for group in groups.values()
        for place, name in enumerate(sorted(group, reverse=True))
    }
