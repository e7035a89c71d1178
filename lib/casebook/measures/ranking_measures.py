"""The ranking measures: formulas and names; their words stand in ``ranking_measures.yml``."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.readers import did_you_mean, read_yaml

ORIGINAL = "original:"
"""Before the name of a documented formula; without it the standard measure is meant."""


# Formulas. ``score`` gives the value of each query, and ``at_random`` its mean over all orders
# of the documents; ``value`` is that of a first relevant document at a rank. A query for which
# the denominator is zero scores 0, as in trec_eval.
# What they get, `judgements`, is a `casebook.measures.ranking.RankedJudgements`.


@dataclass(frozen=True)
class Formula:
    """A measure with its parameters: last rank that counts, least grade of a relevant document."""

    cutoff: float
    rel: int = 1

    def relevant(self, judgements):
        return judgements.grade >= self.rel


@dataclass(frozen=True)
class GainSum(Formula):
    """Sum over retrieved judged documents of gain times discount, normalised."""

    def gain(self, grade):
        return (grade >= self.rel).astype(np.float64)

    def discount(self, rank):
        return np.ones(len(rank))

    def last_rank(self, judgements):
        """Last rank that counts: a number, or one for each judged document."""
        return self.cutoff

    def score(self, judgements):
        counted = judgements.is_retrieved & (judgements.rank <= self.last_rank(judgements))
        rank = np.where(counted, judgements.rank, 1.0)
        gains = self.gain(judgements.grade) * counted * self.discount(rank)
        return _ratio(judgements.sum_by_query(gains), self.normaliser(judgements))

    def at_random(self, judgements):
        """Each rank is equally likely."""
        length = np.maximum(judgements.n_retrieved, 1)[judgements.query]
        last_rank = np.minimum(self.last_rank(judgements), length).astype(np.int64)
        ranks = np.arange(1.0, length.max(initial=0) + 1)
        cumulative = np.concatenate([[0.0], np.cumsum(self.discount(ranks))])
        mean_discount = cumulative[last_rank] / length
        gains = self.gain(judgements.grade) * judgements.is_retrieved * mean_discount
        return _ratio(judgements.sum_by_query(gains), self.normaliser(judgements))


class Precision(GainSum):
    """Share of the first k documents that are relevant."""

    def normaliser(self, judgements):
        return float(self.cutoff)


class Recall(GainSum):
    """Share of the relevant documents that stand among the first k."""

    def normaliser(self, judgements):
        return judgements.n_relevant(self.rel)


class RPrecision(Recall):
    """Precision among as many documents as are relevant."""

    def last_rank(self, judgements):
        return judgements.n_relevant(self.rel)[judgements.query]


class JudgedShare(GainSum):
    """Share of the first k documents that are judged."""

    def gain(self, grade):
        return np.ones(len(grade))

    def normaliser(self, judgements):
        return np.minimum(judgements.n_retrieved, self.cutoff).astype(np.float64)


@dataclass(frozen=True)
class RankBiasedPrecision(GainSum):
    """Relevant documents, each next rank weighing p times as much."""

    p: float = 0.8

    def discount(self, rank):
        """Chance that a reader of persistence p stops at a rank."""
        return (1.0 - self.p) * self.p ** (rank - 1.0)

    def normaliser(self, judgements):
        """The discounts of all ranks sum to 1."""
        return 1.0


class NDCG(GainSum):
    """Discounted cumulative gain, over that of the ideal order."""

    def gain(self, grade):
        return np.maximum(grade, 0).astype(np.float64)

    def discount(self, rank):
        return _log_discount(rank)

    def normaliser(self, judgements):
        """Discounted gain of the ideal order: by descending grade."""
        order = np.lexsort((-judgements.grade, judgements.query))
        rank = np.arange(1.0, len(order) + 1) - judgements.bounds[judgements.query]
        gains = self.gain(judgements.grade[order]) * self.discount(rank) * (rank <= self.cutoff)
        return judgements.sum_by_query(gains)


class BinaryNDCG(NDCG):
    """nDCG of relevant or not."""

    gain = GainSum.gain


class FirstRelevant(Formula):
    """A function of the rank of the first relevant document; 0 without one."""

    def score(self, judgements):
        hit = self.relevant(judgements) & judgements.is_retrieved
        hit &= judgements.rank <= self.cutoff
        first_hits = np.flatnonzero(hit & (judgements.count_to_here(hit) == 1))
        values = np.zeros(len(judgements.query_ids))
        values[judgements.query[first_hits]] = self.value(judgements.rank[first_hits])
        return values

    def at_random(self, judgements):
        """The chance that the first relevant document stands at a rank, from rank to rank."""
        length = judgements.n_retrieved
        hits = judgements.sum_by_query(self.relevant(judgements) & judgements.is_retrieved)
        values = np.zeros(len(judgements.query_ids))
        chance = hits / np.maximum(length, 1)
        for rank in range(1, int(min(length.max(initial=0), self.cutoff)) + 1):
            values += chance * self.value(np.array([float(rank)]))
            chance *= np.maximum(length - hits - rank + 1, 0) / np.maximum(length - rank, 1)
        return values


class ReciprocalRank(FirstRelevant):
    """One over the rank of the first relevant document."""

    def value(self, rank):
        return 1.0 / rank


class Success(FirstRelevant):
    """1 if a relevant document is retrieved."""

    def value(self, rank):
        return np.ones(len(rank))


class DiscountedFirst(FirstRelevant):
    """Discount of nDCG at the first relevant document."""

    def value(self, rank):
        return _log_discount(rank)


class AveragePrecision(Formula):
    """Mean over all relevant documents of the precision at their rank."""

    def score(self, judgements):
        relevant = self.relevant(judgements)
        hit = relevant & judgements.is_retrieved & (judgements.rank <= self.cutoff)
        precision = np.where(hit, judgements.count_to_here(relevant) / judgements.rank, 0.0)
        return _ratio(judgements.sum_by_query(precision), judgements.sum_by_query(relevant))


@dataclass(frozen=True)
class PluginFormula:
    """A measure of one's own, ``(grades, judged) -> number``.

    Grades come by rank, None where not judged; ``judged`` has those of all judged documents.
    """

    name: str
    function: Callable

    def score(self, judgements):
        values = np.empty(len(judgements.query_ids))
        for number, (low, high) in enumerate(itertools.pairwise(judgements.bounds)):
            found = slice(low, low + np.isfinite(judgements.rank[low:high]).sum())
            by_rank = np.full(judgements.n_retrieved[number], None)
            by_rank[judgements.rank[found].astype(np.int64) - 1] = judgements.grade[found]
            grades = judgements.grade[low:high].tolist()
            value = called(self.name, self.function, by_rank.tolist(), grades)
            value = called(self.name, np.asarray, value, float)
            if value.ndim or not np.isfinite(value):
                query = judgements.query_ids[number]
                raise InputError(f"{self.name}: no finite number for query {query!r}")
            values[number] = value
        return values


def _ratio(numerator, denominator):
    """Divide per query, giving 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)


def _log_discount(rank):
    return 1.0 / np.log2(rank + 1.0)


# The measures by name. `build` takes the cutoff (infinite without one) and the parameters.


@dataclass(frozen=True)
class Family:
    """A measure with open parameters."""

    build: Callable
    cutoff: str = "optional"
    parameters: tuple[str, ...] = ("rel",)


FAMILIES = {
    "nDCG": Family(NDCG, parameters=()),
    "AP": Family(AveragePrecision),
    "RR": Family(ReciprocalRank),
    "P": Family(Precision, "required"),
    "R": Family(Recall, "required"),
    "Success": Family(Success, "required"),
    "Rprec": Family(RPrecision, "none"),
    "RBP": Family(RankBiasedPrecision, parameters=("p", "rel")),
    "Judged": Family(JudgedShare, parameters=()),
    "original:MRR": Family(ReciprocalRank, "required", ()),
    "original:NDCG": Family(BinaryNDCG, "required", ()),
    "original:Recall": Family(Recall, "required", ()),
}
# The @ is a part of these two names, which take neither cutoff nor parameter.
WHOLE_NAMES = {
    "original:map@1": ReciprocalRank(np.inf),
    "original:ndcg@3": DiscountedFirst(3),
}

# Names follow ir_measures, ``nDCG@10``, ``P(rel=2)@5``; trec_eval's own, ``ndcg_cut_10``,
# ``map``, and everyday ones, ``mrr@10``, are accepted too, all in any letter case. The formula
# of a document is meant by its prefix alone.
_GRAMMAR = re.compile(
    r"(?P<family>(?:original:)?\w+)(?:\((?P<settings>[^()]*)\))?(?:@(?P<cutoff>.+))?"
)
_TREC_NAME = re.compile(r"^(?:(map|ndcg)_cut|(p|recall|success))_(\d+)$", re.IGNORECASE)
SPELLINGS = {name.lower(): name for name in FAMILIES if not name.startswith(ORIGINAL)}
SPELLINGS |= {"map": "AP", "mrr": "RR", "recip_rank": "RR", "recall": "R", "precision": "P"}
SPELLINGS |= {name: name for name in FAMILIES if name.startswith(ORIGINAL)}
_VALUES = {
    "cutoff": ("0*[1-9][0-9]*", int, "an integer from 1"),
    "rel": ("0*[1-9][0-9]*", int, "an integer from 1"),
    "p": (r"0?\.0*[1-9][0-9]*", float, "between 0 and 1"),
}


@dataclass(frozen=True)
class MeasureInfo:
    """What a measure means."""

    name: str
    definition: str
    source: str
    parity_note: str = ""


@dataclass(frozen=True)
class Measure:
    """A measure ready to be computed, and its definition, source, and how it differs elsewhere."""

    name: str
    formula: object = field(repr=False)
    info: MeasureInfo = field(repr=False)


@cache
def _catalogue():
    entries = read_yaml(Path(__file__).with_name("ranking_measures.yml"))
    return {
        family: MeasureInfo(parity_note=entry.pop("note", ""), **entry)
        for family, entry in entries.items()
    }


def list_measures():
    """List the `MeasureInfo` of every measure."""
    return list(_catalogue().values())


def describe(name):
    """`MeasureInfo` of a measure: definition, source, and how it differs elsewhere."""
    return _catalogue().get(name) or parse_measure(name).info


def parse_measure(name):
    """Find the measure of a name."""
    if name in WHOLE_NAMES:
        return Measure(name, WHOLE_NAMES[name], _catalogue()[name])
    if is_plugin(name) and not name.startswith(ORIGINAL):
        function = callable_plugin(name, "(grades, judged) -> number")
        about = (function.__doc__ or "A measure of one's own.").strip().splitlines()[0]
        return Measure(name, PluginFormula(name, function), MeasureInfo(name, about, name))
    match = _GRAMMAR.fullmatch(_TREC_NAME.sub(r"\1\2@\3", name))
    spelling = match["family"] if match else name
    key = SPELLINGS.get(spelling if spelling.startswith(ORIGINAL) else spelling.lower())
    if key is None:
        near = did_you_mean(spelling, [*FAMILIES, *SPELLINGS], n=3)
        near = near or f": choose from {', '.join(FAMILIES)}"
        raise InputError(f"unknown measure {name!r}{near}")
    family = FAMILIES[key]
    cutoff = match["cutoff"]
    if cutoff is None and family.cutoff == "required":
        raise InputError(f"measure {name!r} needs a cutoff, such as {name}@10")
    if cutoff is not None and family.cutoff == "none":
        raise InputError(f"measure {name!r} takes no cutoff")
    last_rank = np.inf if cutoff is None else _value(name, "cutoff", cutoff)
    parameters = _parameters(name, match["settings"] or "", family.parameters)
    return Measure(name, family.build(last_rank, **parameters), _catalogue()[key])


def _parameters(name, settings, allowed):
    """Parse what stands in parentheses: ``rel=2, p=0.9``."""
    parameters = {}
    for setting in filter(str.strip, settings.split(",")):
        key, _, text = map(str.strip, setting.partition("="))
        if key not in allowed:
            names = ", ".join(allowed) or "none"
            raise InputError(f"parameter {key!r} of {name!r}: allowed are {names}")
        parameters[key] = _value(name, key, text)
    return parameters


def _value(name, key, text):
    """Parse one parameter of a measure, or its cutoff."""
    pattern, kind, requirement = _VALUES[key]
    if not re.fullmatch(pattern, text):
        raise InputError(f"{key} of {name!r} must be {requirement}, not {text!r}")
    return kind(text)
