"""The ranking measures: formulas, definitions, and the names that they go by.

`STANDARD` and, under ``original:``, the `DOCUMENTED` formulas of particular systems are the
two tables; `parse_measure` finds a measure by any of its names.
"""

import difflib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin

ORIGINAL = "original:"
"""Before the name of a documented formula; without it the standard measure is meant."""


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
    elif is_plugin(name):
        return _plugged(name)
    else:
        match = _GRAMMAR.fullmatch(_standard_name(name))
        family = STANDARD.get(_CASE.get(match["family"].lower())) if match else None
        if family is None:
            raise InputError(_unknown(name))
    cutoff = _cutoff(name, family, match["k"])
    return Measure(
        name, family.info, family.build(cutoff, **_parameters(name, family, match["inner"])), family.aggregate
    )


def _plugged(name):
    """A measure of the user's own: ``(grades, judged) -> number``, from the grades by rank and those of all judged."""
    value = callable_plugin(name, "(grades, judged) -> number")

    def score(judged):
        values = np.empty(len(judged.query_ids))
        for row, (low, high) in enumerate(itertools.pairwise(judged.bounds.tolist())):
            grades = [None] * int(judged.retrieved[row])  # None: not judged
            for rank, grade in zip(judged.rank[low:high], judged.grade[low:high].tolist(), strict=True):
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

    about = (value.__doc__ or "A measure of the user's own.").strip().splitlines()[0]
    return Measure(name, MeasureInfo(name, about, -np.inf, np.inf, name), PerQuery(score), "mean")


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
