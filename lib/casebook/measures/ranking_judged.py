"""The judged documents of every query with their ranks: what the formulas work on."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from casebook.ragged import offsets_of


@dataclass(frozen=True)
class JudgedRanks:
    """Judged documents of every query in rank order."""

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
        """Number of the tie each judged document is in, and the first of each tie."""
        keys = np.stack([self.row, self.ahead, self.found])
        new = np.ones(len(self.row), dtype=bool)
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        return np.cumsum(new) - 1, np.flatnonzero(new)

    def total(self, values):
        """Sum over the judged documents of each query."""
        return np.bincount(self.row, values, minlength=len(self.query_ids))

    def running(self, mask):
        """Count marked documents of the same query up to and including each one."""
        counts = offsets_of(mask)
        return counts[1:] - counts[self.bounds[self.row]]

    def select(self, keep):
        """Keep some queries."""
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
        """Give the ranks that remain when unjudged documents leave the run."""
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
        """Restore the order of ascending rank within each query."""
        last = np.max(self.rank, where=self.found, initial=0) + 1
        key = self.row * int(last + 1) + np.minimum(self.rank, last).astype(np.int64)
        order = np.argsort(key)
        return replace(
            self, grade=self.grade[order], rank=self.rank[order], ahead=self.ahead[order], tied=self.tied[order]
        )
