"""The ranking measures: formulas and names; their words stand in ``ranking_measures.yml``."""

import difflib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.readers import read_yaml

ORIGINAL = "original:"
"""Before the name of a documented formula; without it the standard measure is meant."""
NOT_DESCRIBED = "not described in ranking_measures.yml"


# Formulas. ``score`` gives the value of each query, and ``at_random`` its mean over all orders
# of the documents. A query for which the denominator is zero scores 0, as in trec_eval.


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
        return _ratio(
            judged.total(self.gain(judged.grade) * inside * self.discount(rank)), self.norm(judged)
        )

    def at_random(self, judged):
        """Each rank is equally likely."""
        size = np.maximum(judged.retrieved, 1)[judged.row]
        reach = np.minimum(self.cutoff(judged), size).astype(np.int64)
        ranks = np.arange(1.0, size.max(initial=0) + 1)
        cumulative = np.concatenate([[0.0], np.cumsum(self.discount(ranks))])
        weight = cumulative[reach] / size
        return _ratio(
            judged.total(self.gain(judged.grade) * judged.found * weight), self.norm(judged)
        )


@dataclass(frozen=True)
class FirstRelevant:
    """A function of the rank of the first relevant document; 0 without one."""

    value: Callable
    cutoff: float
    rel: int = 1

    def score(self, judged):
        relevant = judged.found & (judged.grade >= self.rel) & (judged.rank <= self.cutoff)
        first = np.flatnonzero(relevant & (judged.running(relevant) == 1))
        values = np.zeros(len(judged.query_ids))
        values[judged.row[first]] = self.value(judged.rank[first])
        return values

    def at_random(self, judged):
        """The chance that the first relevant document stands at a rank, from rank to rank."""
        size = judged.retrieved
        hits = judged.total(judged.found & (judged.grade >= self.rel))
        values = np.zeros(len(judged.query_ids))
        chance = hits / np.maximum(size, 1)
        for rank in range(1, int(min(size.max(initial=0), self.cutoff)) + 1):
            values += chance * self.value(np.array([float(rank)]))
            chance *= np.maximum(size - hits - rank + 1, 0) / np.maximum(size - rank, 1)
        return values


@dataclass(frozen=True)
class AveragePrecision:
    """Mean over all relevant documents of the precision at their rank."""

    cutoff: float
    rel: int = 1

    def score(self, judged):
        relevant = judged.grade >= self.rel
        hit = relevant & judged.found & (judged.rank <= self.cutoff)
        precision = np.where(hit, judged.running(relevant) / judged.rank, 0.0)
        return _ratio(judged.total(precision), judged.total(relevant))


@dataclass(frozen=True)
class PerQuery:
    """Any other function of the judged ranks."""

    score: Callable


def _ratio(numerator, denominator):
    """Divide per query, giving 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)


def _one(values):
    return np.ones(len(values))


def _linear(grade):
    return np.maximum(grade, 0).astype(np.float64)


def _exponential(grade):
    return np.exp2(np.maximum(grade, 0)) - 1.0


def _reciprocal(rank):
    return 1.0 / rank


def _log_discount(rank):
    return 1.0 / np.log2(rank + 1.0)


def _ndcg(k, dcg="log2", gain=None):
    gain = gain or {"log2": _linear, "exp-log2": _exponential}[dcg]

    def ideal(judged):
        order = judged.by_grade
        rank = np.arange(1.0, len(order) + 1) - judged.bounds[judged.row]
        return judged.total(gain(judged.grade[order]) * _log_discount(rank) * (rank <= k))

    return GainSum(gain, _log_discount, lambda judged: k, ideal)


def _hits(norm, k, rel=1, cutoff=None):
    """Relevant documents among the first k over ``norm``, a function of judged ranks, k and rel."""
    return GainSum(
        lambda grade: (grade >= rel).astype(np.float64),
        _one,
        cutoff or (lambda judged: k),
        lambda judged: norm(judged, k, rel),
    )


def _recall(k, rel=1):
    return _hits(lambda judged, k, rel: judged.relevant(rel), k, rel)


def _r_precision(k, rel=1):
    return _hits(
        lambda judged, k, rel: judged.relevant(rel),
        k,
        rel,
        cutoff=lambda judged: judged.relevant(rel)[judged.row],
    )


def _judged_share(k):
    return _hits(
        lambda judged, k, rel: np.minimum(judged.retrieved, k).astype(np.float64), k, rel=-np.inf
    )


def _rank_biased(k, p=0.8, rel=1):
    def gain(grade):
        return (grade >= rel).astype(np.float64)

    return GainSum(
        gain, lambda rank: (1.0 - p) * p ** (rank - 1.0), lambda judged: k, lambda judged: 1.0
    )


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
    """A number of documents or queries, as a function of the judged ranks and rel."""
    return lambda k, rel=1: PerQuery(lambda judged: of(judged, rel).astype(float))


def _plugged(name):
    """A measure of the user's own, ``(grades, judged) -> number``.

    Grades come by rank, None where not judged; ``judged`` has those of all judged documents.
    """
    value = callable_plugin(name, "(grades, judged) -> number")

    def score(judged):
        values = np.empty(len(judged.query_ids))
        for row, (low, high) in enumerate(itertools.pairwise(judged.bounds.tolist())):
            grades = [None] * int(judged.retrieved[row])  # None: not judged
            for rank, grade in zip(
                judged.rank[low:high], judged.grade[low:high].tolist(), strict=True
            ):
                if np.isfinite(rank):
                    grades[int(rank) - 1] = grade
            given = called(name, value, grades, judged.grade[low:high].tolist())
            try:
                values[row] = given
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"{name}: gives no number, but {type(given).__name__}") from None
        if not np.isfinite(values).all():
            query = judged.query_ids[int(np.argmin(np.isfinite(values)))]
            raise InputError(f"{name}: no finite number for query {query!r}")
        return values

    return PerQuery(score)


# The measures by name. `build` takes the cutoff (infinite without one) and the parameters.


@dataclass(frozen=True)
class Family:
    """A measure with open parameters."""

    build: Callable
    cutoff: str = "optional"
    parameters: tuple[str, ...] = ("rel",)
    aggregate: str = "mean"


FAMILIES = {
    "nDCG": Family(_ndcg, parameters=("dcg",)),
    "AP": Family(AveragePrecision),
    "RR": Family(partial(FirstRelevant, _reciprocal)),
    "P": Family(partial(_hits, lambda judged, k, rel: float(k)), "required"),
    "R": Family(_recall, "required"),
    "Success": Family(partial(FirstRelevant, _one), "required"),
    "Rprec": Family(_r_precision, "none"),
    "bpref": Family(_bpref, "none"),
    "RBP": Family(_rank_biased, parameters=("p", "rel")),
    "Judged": Family(_judged_share, parameters=()),
    "IPrec": Family(_interpolated_precision, "required"),
    "gm_map": Family(AveragePrecision, "none", aggregate="geometric"),
    "NumQ": Family(_count(lambda judged, rel: _one(judged.query_ids)), "none", (), "sum"),
    "NumRet": Family(_count(lambda judged, rel: judged.retrieved), "none", (), "sum"),
    "NumRel": Family(_count(lambda judged, rel: judged.relevant(rel)), "none", aggregate="sum"),
    "NumRelRet": Family(
        _count(lambda judged, rel: judged.total(judged.found & (judged.grade >= rel))),
        "none",
        aggregate="sum",
    ),
    "original:MRR": Family(partial(FirstRelevant, _reciprocal), "required", ()),
    "original:NDCG": Family(
        partial(_ndcg, gain=lambda grade: (grade >= 1).astype(np.float64)), "required", ()
    ),
    "original:Recall": Family(_recall, "required", ()),
    # The @ is a part of these two names, which take no cutoff.
    "original:map@1": Family(partial(FirstRelevant, _reciprocal), "none", ()),
    "original:ndcg@3": Family(lambda k: FirstRelevant(_log_discount, 3.0), "none", ()),
}

# Names follow ir_measures, ``nDCG@10``, ``P(rel=2)@5``, ``nDCG(dcg='exp-log2')@10``;
# trec_eval's own, ``ndcg_cut_10``, ``map``, and everyday ones, ``mrr@10``, are accepted too,
# all in any letter case. The formula of a document is meant by its prefix alone.
_GRAMMAR = re.compile(r"(?P<family>\w+)(?:\((?P<inner>[^()]*)\))?(?:@(?P<k>[^@]+))?")
_CASE = {name.lower(): name for name in FAMILIES if not name.startswith(ORIGINAL)}
_CASE |= {"map": "AP", "mrr": "RR", "recall": "R", "precision": "P", "recip_rank": "RR"}
_CASE |= {"num_q": "NumQ", "num_ret": "NumRet", "num_rel": "NumRel", "num_rel_ret": "NumRelRet"}
_TREC_CUTOFF = re.compile(
    r"(map_cut|ndcg_cut|p|recall|success)_(\d+)|(iprec_at_recall)_([\d.]+)", re.IGNORECASE
)
_TREC = {
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    "p": "P",
    "recall": "R",
    "success": "Success",
    "iprec_at_recall": "IPrec",
}

# What stands in parentheses or after the @: type, allowed values, and words for them.
_PARAMETERS = {
    "rel": (int, lambda value: value >= 1, "an integer from 1"),
    "cutoff": (int, lambda value: value >= 1, "an integer from 1"),
    "recall": (float, lambda value: 0 <= value <= 1, "a recall of 0 to 1"),
    "p": (float, lambda value: 0 < value < 1, "between 0 and 1"),
    "dcg": (str, lambda value: value in ("log2", "exp-log2"), "'log2' or 'exp-log2'"),
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
            undescribed = MeasureInfo(self.name, NOT_DESCRIBED, "")
            return _catalogue().get(self.family, undescribed)
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
    found = read_yaml(Path(__file__).with_name("ranking_measures.yml"), "table of measures")
    return {
        key: MeasureInfo(parity_note=entry.pop("note"), **entry) for key, entry in found.items()
    }


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
        return Measure(name, None, _plugged(name))
    key, inner, cutoff = _parts(name)
    family = FAMILIES[key]
    if cutoff is None and family.cutoff == "required":
        raise InputError(f"measure {name!r} needs a cutoff, such as {name}@10")
    if cutoff is not None and family.cutoff == "none":
        raise InputError(f"measure {name!r} takes no cutoff")
    k = (
        np.inf
        if cutoff is None
        else _parameter(name, "recall" if key == "IPrec" else "cutoff", cutoff)
    )
    parameters = {}
    for part in filter(None, map(str.strip, (inner or "").split(","))):
        given, _, text = (piece.strip().strip("'\"") for piece in part.partition("="))
        if given not in family.parameters:
            allowed = ", ".join(family.parameters) or "none"
            raise InputError(f"parameter {given!r} of {name!r}: allowed are {allowed}")
        parameters[given] = _parameter(name, given, text)
    return Measure(name, key, family.build(k, **parameters), family.aggregate)


def _parts(name):
    """Split a name into its family, what stands in parentheses, and the cutoff."""
    documented = name.startswith(ORIGINAL)
    bare = name.removeprefix(ORIGINAL)
    trec = None if documented else _TREC_CUTOFF.fullmatch(bare)
    if trec:
        family, cutoff = filter(None, trec.groups())
        return _TREC[family.lower()], None, cutoff
    match = _GRAMMAR.fullmatch(bare)
    key = None
    if match and documented:
        key = ORIGINAL + match["family"]
    elif match:
        key = _CASE.get(match["family"].lower())
    if key in FAMILIES:
        return key, match["inner"], match["k"]
    names = [info.name for info in list_measures() if info.name.startswith(ORIGINAL) == documented]
    near = difflib.get_close_matches(re.sub(r"\d+$", "k", name), names, cutoff=0.4)
    raise InputError(f"unknown measure {name!r}; near names: {', '.join(near or names)}")


def _parameter(name, key, text):
    convert, allowed, wanted = _PARAMETERS[key]
    try:
        if allowed(value := convert(text)):
            return value
    except ValueError:
        pass
    raise InputError(f"{key} of {name!r} must be {wanted}, not {text!r}")
