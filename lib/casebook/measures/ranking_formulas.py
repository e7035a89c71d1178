"""The formulas of the ranking measures, as functions of the judged documents' ranks.

Every formula has ``score``, its value per query, and ``expected``, its mean over all
orders of tied documents in closed form, or None where no closed form is implemented.
A query for which the denominator is zero scores 0, as in trec_eval.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GainSum:
    """Sum over retrieved judged documents of gain times discount, normalised."""

    gain: Callable
    discount: Callable
    cutoff: Callable
    norm: Callable

    def score(self, judged):
        """Value of each query, shape (Q,)."""
        inside = judged.found & (judged.rank <= self.cutoff(judged))
        rank = np.where(inside, judged.rank, 1.0)
        gains = self.gain(judged.grade) * inside * self.discount(rank)
        return _ratio(judged.total(gains), self.norm(judged))

    def expected(self, judged):
        """Mean value over the orders of ties: each tied rank is equally likely."""
        last = int((judged.ahead + judged.tied).max(initial=0))
        cutoff = np.minimum(self.cutoff(judged), last)
        weights = self.discount(np.arange(1.0, last + 1))
        cumulative = np.concatenate([[0.0], np.cumsum(weights)])
        low = np.minimum(judged.ahead, cutoff).astype(np.int64)
        high = np.minimum(judged.ahead + judged.tied, cutoff).astype(np.int64)
        weight = (cumulative[high] - cumulative[low]) / judged.tied
        gains = self.gain(judged.grade) * judged.found * weight
        return _ratio(judged.total(gains), self.norm(judged))


@dataclass(frozen=True)
class FirstRelevant:
    """A function of the rank of the first relevant document; 0 without one."""

    value: Callable
    level: int
    cutoff: float

    def score(self, judged):
        """Value of each query, shape (Q,)."""
        first, _ = self._first(judged)
        first = first[judged.rank[first] <= self.cutoff]
        values = np.zeros(len(judged.query_ids))
        values[judged.row[first]] = self.value(judged.rank[first])
        return values

    def expected(self, judged):
        """Mean value over the orders of ties."""
        first, relevant = self._first(judged)
        ahead, tied = judged.ahead[first], judged.tied[first]
        group, _ = judged.ties
        hits = np.bincount(group, relevant)[group[first]]
        values = np.zeros(len(judged.query_ids))
        chance = hits / tied
        for i in range(1, int(tied.max(initial=0)) + 1):
            rank = ahead + float(i)
            gained = np.where(rank <= self.cutoff, chance * self.value(rank), 0.0)
            values[judged.row[first]] += gained
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
        """Value of each query, shape (Q,)."""
        relevant = judged.grade >= self.level
        hit = relevant & judged.found & (judged.rank <= self.cutoff)
        precision = np.where(hit, judged.running(relevant) / judged.rank, 0.0)
        return _ratio(judged.total(precision), judged.total(relevant))

    def expected(self, judged):
        """Mean value over the orders of ties (McSherry and Najork 2008)."""
        relevant = judged.grade >= self.level
        hits, before = _relevant_in_ties(judged, relevant & judged.found)
        s, t = judged.ahead, judged.tied
        slope = (hits - 1.0) / np.maximum(t - 1, 1)
        reach = np.clip(np.minimum(self.cutoff, s + t) - s, 0, t).astype(np.int64)
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1.0, (s + t).max(initial=0) + 1))])
        sums = slope * reach
        sums += (before + 1.0 - slope * (s + 1)) * (harmonic[s + reach] - harmonic[s])
        precision = np.where(relevant & judged.found, sums / t, 0.0)
        return _ratio(judged.total(precision), judged.total(relevant))


@dataclass(frozen=True)
class BinaryPreference:
    """Share of judged non-relevant documents that relevant ones are ranked above."""

    level: int

    def score(self, judged):
        """Value of each query, shape (Q,)."""
        relevant = judged.grade >= self.level
        against = (judged.grade >= 0) & ~relevant
        wanted = judged.total(relevant)
        bound = np.minimum(judged.total(against), wanted)[judged.row]
        above = judged.running(against & judged.found)
        worse = np.minimum(above, wanted[judged.row]) / np.maximum(bound, 1)
        credit = np.where(relevant & judged.found, 1.0 - worse, 0.0)
        return _ratio(judged.total(credit), wanted)

    def expected(self, judged):
        """No closed form is implemented."""


@dataclass(frozen=True)
class InterpolatedPrecision:
    """Highest precision at any rank where a share of the relevant has been found."""

    recall: float
    level: int

    def score(self, judged):
        """Value of each query, shape (Q,)."""
        relevant = judged.grade >= self.level
        needed = np.floor(self.recall * judged.total(relevant) + 0.5)[judged.row]
        order = judged.running(relevant)
        reached = relevant & judged.found & (order >= needed)
        values = np.zeros(len(judged.query_ids))
        precision = order[reached] / judged.rank[reached]
        np.maximum.at(values, judged.row[reached], precision)
        return values

    def expected(self, judged):
        """No closed form is implemented."""


@dataclass(frozen=True)
class Count:
    """A count that no order of ties can change."""

    of: Callable

    def score(self, judged):
        """Value of each query, shape (Q,)."""
        return np.asarray(self.of(judged), dtype=np.float64)

    def expected(self, judged):
        """Value of each query again: ties do not matter."""
        return self.score(judged)


def _ratio(numerator, denominator):
    """Divide per query, giving 0 where the denominator is 0."""
    zeros = np.zeros(len(numerator))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)


def _relevant_in_ties(judged, hit):
    """Count relevant documents in the tie of each document, and ahead of that tie."""
    group, first = judged.ties
    hits = np.bincount(group, hit)[group]
    before = (judged.running(hit) - hit)[first]
    return hits, before[group]
