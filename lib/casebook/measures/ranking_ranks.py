"""Ranks of the judged documents: all that a ranking measure needs to know of a run.

Of the hundreds of documents retrieved for a query only the few judged ones can change
a measure. Each of them is looked up, and its rank is one more than the number of
documents scored higher, found by bisection. Only where a judged document is tied are
other document ids compared: ties are broken by document id, descending, in the order
of the ids' bytes (trec_eval's ``strcmp``), for every measure alike.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casebook.measures.ranking_judged import JudgedRanks
from casebook.ragged import count_leading, rectangles


@dataclass(frozen=True)
class Lookup:
    """Judged documents found in a run, and the run's scores."""

    query_ids: list[str]
    row: np.ndarray
    grade: np.ndarray
    score: np.ndarray
    run_scores: np.ndarray
    run_offsets: np.ndarray
    run_query: np.ndarray
    judged_ids: Callable
    run_ids: Callable


def rank_judged(lookup):
    """Rank the judged documents of a run."""
    scores = _descending(lookup.run_scores, lookup.run_offsets)
    first, size = _bounds(lookup)
    present = np.flatnonzero(~np.isnan(lookup.score))
    begin, length = first[lookup.row[present]], size[lookup.row[present]]
    score = lookup.score[present]
    above = count_leading(scores, begin, length, score, np.greater)
    follower = np.minimum(begin + above + 1, len(scores) - 1)
    shared = (above + 1 < length) & (scores[follower] == score)
    alike = np.ones(len(present), dtype=np.int64)
    search = begin[shared], length[shared], score[shared]
    alike[shared] = count_leading(scores, *search, np.greater_equal) - above[shared]
    rank = np.full(len(lookup.score), np.inf)
    ahead, tied = np.zeros(len(rank), np.int64), np.ones(len(rank), np.int64)
    rank[present], ahead[present], tied[present] = above + 1.0, above, alike
    entries = present[shared]
    rank[entries] += _places_in_ties(lookup, entries)
    judged = JudgedRanks(lookup.query_ids, lookup.row, lookup.grade, rank, ahead, tied, size)
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
    return {name: place for group in groups.values() for place, name in enumerate(sorted(group, reverse=True))}
