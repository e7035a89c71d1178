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
from casebook.readers import near_names, read_yaml

ORIGINAL = "original:"
"""Before the name of a documented formula; without it the standard measure is meant."""
NOT_DESCRIBED = "not described in ranking_measures.yml"


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


@dataclass(frozen=True)
class NDCG(GainSum):
    """Discounted cumulative gain, over that of the ideal order."""

    dcg: str = "log2"

    def gain(self, grade):
        """Give the grade, or with exp-log2 two to its power, less one."""
        positive = np.maximum(grade, 0)
        if self.dcg == "exp-log2":
            return np.exp2(positive) - 1.0
        return positive.astype(np.float64)

    def discount(self, rank):
        return _log_discount(rank)

    def normaliser(self, judgements):
        """Give the discounted gain of the judged documents by descending grade."""
        order = judgements.by_grade
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


class BinaryPreference(Formula):
    """How many relevant documents stand above the documents judged not relevant (bpref)."""

    def score(self, judgements):
        relevant = self.relevant(judgements)
        irrelevant = (judgements.grade >= 0) & ~relevant
        n_relevant = judgements.sum_by_query(relevant)
        bound = np.minimum(judgements.sum_by_query(irrelevant), n_relevant)[judgements.query]
        above = judgements.count_to_here(irrelevant & judgements.is_retrieved)
        worse = np.minimum(above, n_relevant[judgements.query]) / np.maximum(bound, 1)
        preferred = np.where(relevant & judgements.is_retrieved, 1.0 - worse, 0.0)
        return _ratio(judgements.sum_by_query(preferred), n_relevant)


class InterpolatedPrecision(Formula):
    """Largest precision at the ranks that reach a recall, which `cutoff` holds."""

    def score(self, judgements):
        relevant = self.relevant(judgements)
        needed = np.floor(self.cutoff * judgements.sum_by_query(relevant) + 0.5)[judgements.query]
        hits = judgements.count_to_here(relevant)
        reached = relevant & judgements.is_retrieved & (hits >= needed)
        values = np.zeros(len(judgements.query_ids))
        precision = hits[reached] / judgements.rank[reached]
        np.maximum.at(values, judgements.query[reached], precision)
        return values


class QueryCount(Formula):
    """1 for every query."""

    def score(self, judgements):
        return np.ones(len(judgements.query_ids))


class RetrievedCount(Formula):
    """Number of documents retrieved."""

    def score(self, judgements):
        return judgements.n_retrieved.astype(float)


class RelevantCount(Formula):
    """Number of relevant documents."""

    def score(self, judgements):
        return judgements.n_relevant(self.rel)


class RelevantRetrievedCount(Formula):
    """Number of relevant documents retrieved."""

    def score(self, judgements):
        return judgements.sum_by_query(self.relevant(judgements) & judgements.is_retrieved)


@dataclass(frozen=True)
class PluginFormula:
    """A measure of the user's own, ``(grades, judged) -> number``.

    Grades come by rank, None where not judged; ``judged`` has those of all judged documents.
    """

    name: str
    function: Callable

    def score(self, judgements):
        values = np.empty(len(judgements.query_ids))
        for number, (low, high) in enumerate(itertools.pairwise(judgements.bounds.tolist())):
            grades = judgements.grade[low:high].tolist()
            grades_by_rank = [None] * int(judgements.n_retrieved[number])
            for rank, grade in zip(judgements.rank[low:high], grades, strict=True):
                if np.isfinite(rank):
                    grades_by_rank[int(rank) - 1] = grade
            value = called(self.name, self.function, grades_by_rank, grades)
            try:
                values[number] = value
            except (TypeError, ValueError, OverflowError):
                kind = type(value).__name__
                raise InputError(f"{self.name}: gives no number, but {kind}") from None
        if not np.isfinite(values).all():
            query = judgements.query_ids[int(np.argmin(np.isfinite(values)))]
            raise InputError(f"{self.name}: no finite number for query {query!r}")
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
    aggregate: str = "mean"


def _documented_ndcg_at_3(cutoff):
    return DiscountedFirst(3.0)


FAMILIES = {
    "nDCG": Family(NDCG, parameters=("dcg",)),
    "AP": Family(AveragePrecision),
    "RR": Family(ReciprocalRank),
    "P": Family(Precision, "required"),
    "R": Family(Recall, "required"),
    "Success": Family(Success, "required"),
    "Rprec": Family(RPrecision, "none"),
    "bpref": Family(BinaryPreference, "none"),
    "RBP": Family(RankBiasedPrecision, parameters=("p", "rel")),
    "Judged": Family(JudgedShare, parameters=()),
    "IPrec": Family(InterpolatedPrecision, "required"),
    "gm_map": Family(AveragePrecision, "none", aggregate="geometric"),
    "NumQ": Family(QueryCount, "none", (), "sum"),
    "NumRet": Family(RetrievedCount, "none", (), "sum"),
    "NumRel": Family(RelevantCount, "none", aggregate="sum"),
    "NumRelRet": Family(RelevantRetrievedCount, "none", aggregate="sum"),
    "original:MRR": Family(ReciprocalRank, "required", ()),
    "original:NDCG": Family(BinaryNDCG, "required", ()),
    "original:Recall": Family(Recall, "required", ()),
    # The @ is a part of these two names, which take no cutoff.
    "original:map@1": Family(ReciprocalRank, "none", ()),
    "original:ndcg@3": Family(_documented_ndcg_at_3, "none", ()),
}

# Names follow ir_measures, ``nDCG@10``, ``P(rel=2)@5``, ``nDCG(dcg='exp-log2')@10``;
# trec_eval's own, ``ndcg_cut_10``, ``map``, and everyday ones, ``mrr@10``, are accepted too,
# all in any letter case. The formula of a document is meant by its prefix alone.
_GRAMMAR = re.compile(r"(?P<family>\w+)(?:\((?P<settings>[^()]*)\))?(?:@(?P<cutoff>[^@]+))?")
FAMILY_OF_SPELLING = {name.lower(): name for name in FAMILIES if not name.startswith(ORIGINAL)}
FAMILY_OF_SPELLING |= {
    "map": "AP",
    "mrr": "RR",
    "recall": "R",
    "precision": "P",
    "recip_rank": "RR",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
}
_TREC_NAME = re.compile(
    r"(map_cut|ndcg_cut|p|recall|success)_(\d+)|(iprec_at_recall)_([\d.]+)", re.IGNORECASE
)
_FAMILY_OF_TREC_NAME = {
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    "p": "P",
    "recall": "R",
    "success": "Success",
    "iprec_at_recall": "IPrec",
}
_VALUES = {
    "rel": "an integer from 1",
    "cutoff": "an integer from 1",
    "recall": "a recall of 0 to 1",
    "p": "between 0 and 1",
    "dcg": "'log2' or 'exp-log2'",
}


@dataclass(frozen=True)
class MeasureInfo:
    """What a measure means."""

    name: str
    definition: str
    source: str
    parity_note: str = ""
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Measure:
    """A measure ready to be computed; `family` is its key among the families, None for a plugin."""

    name: str
    family: str | None
    formula: object = field(repr=False)
    aggregate: str = "mean"

    @property
    def info(self):
        """Definition, range, source, and how the measure differs elsewhere."""
        if self.family:
            return _info(self.family, self.name)
        about = callable_plugin(self.name, "measure").__doc__ or "A measure of the user's own."
        return MeasureInfo(
            self.name, about.strip().splitlines()[0], self.name, low=-np.inf, high=np.inf
        )

    def summarise(self, values):
        """One number over all queries."""
        if self.aggregate == "sum":
            return float(np.sum(values))
        if self.aggregate == "geometric":
            return float(np.exp(np.mean(np.log(np.maximum(values, 1e-5)))))
        return float(np.mean(values))


@cache
def _catalogue():
    entries = read_yaml(Path(__file__).with_name("ranking_measures.yml"), "table of measures")
    return {
        family: MeasureInfo(parity_note=entry.pop("note", ""), **entry)
        for family, entry in entries.items()
    }


def _info(family, name):
    """Entry of a family in the catalogue; without one, its name and that it is not described."""
    return _catalogue().get(family, MeasureInfo(name, NOT_DESCRIBED, ""))


def list_measures():
    """List the `MeasureInfo` of every measure."""
    return list(_catalogue().values())


def describe(name):
    """`MeasureInfo` of a measure: definition, range, source, and how it differs elsewhere."""
    return _catalogue().get(name) or parse_measure(name).info


def parse_measure(name):
    """Find the measure of a name."""
    if name in FAMILIES and "@" in name:
        return Measure(name, name, FAMILIES[name].build(np.inf))
    if is_plugin(name) and not name.startswith(ORIGINAL):
        function = callable_plugin(name, "(grades, judged) -> number")
        return Measure(name, None, PluginFormula(name, function))
    key, settings, cutoff = _parts(name)
    family = FAMILIES[key]
    if cutoff is None and family.cutoff == "required":
        raise InputError(f"measure {name!r} needs a cutoff, such as {name}@10")
    if cutoff is not None and family.cutoff == "none":
        raise InputError(f"measure {name!r} takes no cutoff")
    if cutoff is None:
        last_rank = np.inf
    else:
        last_rank = _parsed_value(name, "recall" if key == "IPrec" else "cutoff", cutoff)
    parameters = _parsed_settings(name, settings or "", family.parameters)
    return Measure(name, key, family.build(last_rank, **parameters), family.aggregate)


def _parts(name):
    """Split a name into its family, what stands in parentheses, and the cutoff."""
    documented = name.startswith(ORIGINAL)
    bare_name = name.removeprefix(ORIGINAL)
    trec_name = _TREC_NAME.fullmatch(bare_name)
    if trec_name and not documented:
        family, cutoff = filter(None, trec_name.groups())
        return _FAMILY_OF_TREC_NAME[family.lower()], None, cutoff
    match = _GRAMMAR.fullmatch(bare_name)
    key = None
    if match and documented:
        key = ORIGINAL + match["family"]
    elif match:
        key = FAMILY_OF_SPELLING.get(match["family"].lower())
    if key in FAMILIES:
        return key, match["settings"], match["cutoff"]
    raise InputError(f"unknown measure {name!r}; {_suggestion(name, documented)}")


def _suggestion(name, documented):
    """Say which measures a name may be a slip of, or which there are."""
    families = FAMILY_OF_SPELLING
    if documented:
        families = {family: family for family in FAMILIES if family.startswith(ORIGINAL)}
    near = near_names(name.partition("@")[0], families, n=3)
    what = "near names" if near else "choose from"
    keys = dict.fromkeys(families[spelling] for spelling in near or families)
    return f"{what}: {', '.join(_info(key, key).name for key in keys)}"


def _parsed_settings(name, settings, allowed):
    """Parse what stands in parentheses: ``rel=2, p=0.9``."""
    parameters = {}
    for setting in settings.split(","):
        if not setting.strip():
            continue
        key, _, text = setting.partition("=")
        key = key.strip().strip("'\"")
        if key not in allowed:
            names = ", ".join(allowed) or "none"
            raise InputError(f"parameter {key!r} of {name!r}: allowed are {names}")
        parameters[key] = _parsed_value(name, key, text.strip().strip("'\""))
    return parameters


def _parsed_value(name, key, text):
    """Parse one parameter of a measure, or its cutoff."""
    try:
        if key in ("rel", "cutoff"):
            value = int(text)
            allowed = value >= 1
        elif key == "recall":
            value = float(text)
            allowed = 0 <= value <= 1
        elif key == "p":
            value = float(text)
            allowed = 0 < value < 1
        else:
            value = text
            allowed = value in ("log2", "exp-log2")
    except ValueError:
        allowed = False
    if not allowed:
        raise InputError(f"{key} of {name!r} must be {_VALUES[key]}, not {text!r}")
    return value
