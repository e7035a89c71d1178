"""The ranking measures: formulas and names; their words stand in ``ranking_measures.yml``."""

import itertools
import re
from collections import namedtuple
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.readers import did_you_mean, read_yaml

# Before the name of a documented formula; without it the standard measure is meant.
ORIGINAL = "original:"


# Formulas. ``score`` gives the value of each query, and ``at_random`` its mean over all orders
# of the documents, from `ranked` (a `casebook.measures.ranking.RankedJudgements`), the last rank
# that counts, and the least grade of a relevant document. A query for which the denominator is
# zero scores 0, as in trec_eval.


class GainSum(namedtuple("GainSum", "gain discount norm")):
    """Sum over the judged documents among the first k of gain times discount, normalised."""

    def score(self, ranked, k, rel):
        weight = np.where(ranked.rank <= k, self.discount(ranked.rank), 0.0)
        return self._normalised(ranked, k, rel, weight)

    def at_random(self, ranked, k, rel):
        """Each rank is equally likely."""
        length = np.maximum(ranked.n_retrieved, 1)
        sums = np.cumsum(self.discount(np.arange(1.0, length.max() + 1)))
        mean = sums[np.minimum(k, length).astype(int) - 1] / length
        weight = np.where(ranked.rank > 0, mean[ranked.query], 0.0)
        return self._normalised(ranked, k, rel, weight)

    def _normalised(self, ranked, k, rel, weight):
        gains = self.gain(ranked.grade, rel)
        return _ratio(ranked.total(gains * weight), self.norm(ranked, k, gains))


class FirstRelevant(namedtuple("FirstRelevant", "value last_rank", defaults=[np.inf])):
    """A function of the rank of the first relevant document."""

    def score(self, ranked, k, rel):
        is_hit = (ranked.grade >= rel) & (ranked.rank <= min(k, self.last_rank))
        first = np.full(len(ranked.query_ids), np.inf)
        np.minimum.at(first, ranked.query[is_hit], ranked.rank[is_hit])
        return self.value(first).astype(float)

    def at_random(self, ranked, k, rel):
        """The chance that the first relevant document stands at a rank, from rank to rank."""
        length = ranked.n_retrieved
        hits = ranked.total((ranked.grade >= rel) & (ranked.rank > 0))
        chance = hits / np.maximum(length, 1)
        values = np.zeros(len(length))
        last = min(length.max(), k, self.last_rank)
        for rank in range(1, int(last) + 1):
            values += chance * self.value(np.array([float(rank)]))
            others = np.maximum(length - hits - rank + 1, 0)
            chance *= others / np.maximum(length - rank, 1)
        return values


class AveragePrecision:
    """Mean over all relevant documents of the precision at their rank."""

    def score(self, ranked, k, rel):
        is_relevant = ranked.grade >= rel
        precision = ranked.count_to_here(is_relevant) / ranked.rank
        precision = np.where(is_relevant & (ranked.rank <= k), precision, 0.0)
        return _ratio(ranked.total(precision), ranked.total(is_relevant))


class PluginFormula(namedtuple("PluginFormula", "name function")):
    """A measure of one's own, ``(grades, judged) -> number``.

    Grades come by rank, None where not judged; ``judged`` has those of all judged documents.
    """

    def score(self, ranked, k, rel):
        values = []
        bounds = itertools.pairwise([*ranked.starts, len(ranked.query)])
        for query, length, (low, high) in zip(
            ranked.query_ids, ranked.n_retrieved, bounds, strict=True
        ):
            grades = ranked.grade[low:high].astype(int).tolist()
            by_rank = [None] * length
            for grade, rank in zip(grades, ranked.rank[low:high], strict=True):
                if rank > 0:
                    by_rank[int(rank) - 1] = grade
            value = called(self.name, self.function, by_rank, grades)
            value = called(self.name, np.asarray, value, float)
            if value.ndim or not np.isfinite(value):
                raise InputError(f"{self.name}: no finite number for query {query!r}")
            values.append(float(value))
        return np.array(values)


def _ratio(numerator, denominator):
    """Divide per query, giving 0 where the denominator is 0."""
    return np.divide(
        numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0
    )


# Gains of grades, discounts of ranks, and norms


def positive(grade, rel):
    return np.maximum(grade, 0.0)


def relevance(grade, rel):
    return (grade >= rel).astype(float)


def presence(grade, rel):
    return np.ones(len(grade))


def log_discount(rank):
    return 1.0 / np.log2(rank + 1.0)


def first_k(ranked, k, gains):
    return np.full(len(ranked.query_ids), float(k))


def all_gains(ranked, k, gains):
    return ranked.total(gains)


def length(ranked, k, gains):
    return np.minimum(ranked.n_retrieved, float(k))


def best_order(ranked, k, gains):
    """Discounted gain of the documents by descending gain."""
    order = np.lexsort((-gains, ranked.query))
    rank = np.arange(1.0, len(order) + 1) - ranked.starts[ranked.query]
    return ranked.total(gains[order] * log_discount(rank) * (rank <= k))


# Measures by name; one with ``@k`` needs a cutoff, one without may have one.
FORMULAS = {
    "nDCG": GainSum(positive, log_discount, best_order),
    "AP": AveragePrecision(),
    "RR": FirstRelevant(np.reciprocal),
    "P@k": GainSum(relevance, np.ones_like, first_k),
    "R@k": GainSum(relevance, np.ones_like, all_gains),
    "Success@k": FirstRelevant(np.isfinite),
    "Judged": GainSum(presence, np.ones_like, length),
    "original:MRR@k": FirstRelevant(np.reciprocal),
    "original:NDCG@k": GainSum(relevance, log_discount, best_order),
    "original:Recall@k": GainSum(relevance, np.ones_like, all_gains),
    "original:map@1": FirstRelevant(np.reciprocal),
    "original:ndcg@3": FirstRelevant(log_discount, last_rank=3),
}
# Measures that may be told the least grade of a relevant document, as in ``P(rel=2)@5``.
LEVELLED = ("AP", "RR", "P@k", "R@k", "Success@k")

# Names follow ir_measures: ``nDCG@10``, ``P(rel=2)@5``.
_NAME = re.compile(r"((?:original:)?[A-Za-z]+)(?:\(rel=([1-9]\d*)\))?(?:@([1-9]\d*))?")


#: What a measure means, and how it differs elsewhere.
MeasureInfo = namedtuple(
    "MeasureInfo", "name definition source parity_note", defaults=[""]
)


INFO = {
    key: MeasureInfo(**entry)
    for key, entry in read_yaml(
        Path(__file__).with_name("ranking_measures.yml")
    ).items()
}


_Measure = namedtuple("_Measure", "formula info cutoff rel", defaults=[np.inf, 1])


class Measure(_Measure):
    """A measure ready to be computed."""

    def score(self, ranked):
        return self.formula.score(ranked, self.cutoff, self.rel)

    def at_random(self, ranked):
        return self.formula.at_random(ranked, self.cutoff, self.rel)


def parse_measure(name):
    """The measure of a name."""
    if is_plugin(name) and not name.startswith(ORIGINAL):
        function = callable_plugin(name, "(grades, judged) -> number")
        about = (function.__doc__ or "A measure of one's own.").strip().splitlines()[0]
        return Measure(PluginFormula(name, function), MeasureInfo(name, about, name))
    match = _NAME.fullmatch(name)
    base, rel, cutoff = match.groups() if match else (name, None, None)
    keys = [base]
    if cutoff:
        keys = [name, f"{base}@k", base]
    known = [key for key in keys if match and key in FORMULAS]
    if not known:
        near = (
            did_you_mean(base, FORMULAS, n=3) or f": choose from {', '.join(FORMULAS)}"
        )
        raise InputError(f"unknown measure {name!r}{near}, k an integer from 1")
    key = known[0]
    if key == name:
        cutoff = None  # the @1 of original:map@1 is a part of its name
    if rel and key not in LEVELLED:
        raise InputError(f"measure {name!r} takes no rel: {', '.join(LEVELLED)} do")
    return Measure(FORMULAS[key], INFO[key], int(cutoff or 0) or np.inf, int(rel or 1))
