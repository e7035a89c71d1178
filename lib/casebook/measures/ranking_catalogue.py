"""Every ranking measure once: its definition, range, source and formula."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casebook.measures import ranking_formulas as f


@dataclass(frozen=True)
class MeasureInfo:
    """What a measure means.

    Attributes
    ----------
    name : str
        Its name, with ``k`` for a cutoff and ``x`` for another number.
    definition : str
        What is computed for one query, in words.
    low, high : float
        Range of the value; ``high`` is infinite for counts.
    source : str
        Where the definition comes from.
    parity_note : str
        How the name differs from what it suggests or from other tools; may be empty.
    """

    name: str
    definition: str
    low: float
    high: float
    source: str
    parity_note: str = ""


@dataclass(frozen=True)
class Family:
    """A measure with open parameters.

    Attributes
    ----------
    info : MeasureInfo
        What it means.
    build : callable
        ``build(k, **parameters)`` gives the formula; k is infinite without a cutoff.
    cutoff : {"required", "optional", "none"}
        Whether ``@k`` must, may or must not follow the name.
    parameters : tuple of str
        Parameters accepted in parentheses.
    aggregate : {"mean", "sum", "geometric"}
        How queries are summarised.
    """

    info: MeasureInfo
    build: Callable
    cutoff: str = "optional"
    parameters: tuple[str, ...] = ("rel",)
    aggregate: str = "mean"


TREC_EVAL = "trec_eval 10"


def _ndcg(k, dcg="log2"):
    gain = f.linear_gain if dcg == "log2" else f.exponential_gain
    return _normalised(gain, k)


def _normalised(gain, k):
    norm = f.ideal(gain, f.log_discount, k)
    return f.GainSum(gain, f.log_discount, lambda judged: k, norm)


def _precision(k, rel=1):
    gain = f.binary_gain(rel)
    return f.GainSum(gain, f.no_discount, lambda judged: k, lambda judged: float(k))


def _recall(k, rel=1):
    gain = f.binary_gain(rel)
    return f.GainSum(gain, f.no_discount, lambda judged: k, _relevant(rel))


def _r_precision(k, rel=1):
    count = _relevant(rel)
    gain = f.binary_gain(rel)
    return f.GainSum(gain, f.no_discount, lambda j: count(j)[j.row], count)


def _rank_biased(k, p=0.8, rel=1):
    gain, one = f.binary_gain(rel), lambda judged: 1.0
    return f.GainSum(gain, f.persistence(p), lambda judged: k, one)


def _judged(k):
    def norm(judged):
        return np.minimum(judged.retrieved, k).astype(np.float64)

    return f.GainSum(f.no_discount, f.no_discount, lambda judged: k, norm)


def _relevant(level):
    return lambda judged: judged.total(judged.grade >= level)


def _relevant_retrieved(level):
    return lambda judged: judged.total(judged.found & (judged.grade >= level))


FAMILIES = {
    "nDCG": Family(
        MeasureInfo(
            "nDCG@k",
            "Sum of gain / log2(rank + 1) over the first k documents, divided by the "
            "same sum for the judged documents in the best order. The gain is the "
            "grade, or 2**grade - 1 for nDCG(dcg='exp-log2')@k; no gain is below 0.",
            0.0,
            1.0,
            "Jarvelin and Kekalainen 2002; exponential gain: Burges et al. 2005",
            "Equals trec_eval's ndcg and ndcg_cut_k. Has no relevance level.",
        ),
        _ndcg,
        parameters=("dcg",),
    ),
    "AP": Family(
        MeasureInfo(
            "AP@k",
            "Mean over all relevant documents of the precision at their rank, 0 for "
            "those not among the first k.",
            0.0,
            1.0,
            "Buckley and Voorhees 2005",
            "Equals trec_eval's map and map_cut_k: the divisor is the number of "
            "relevant documents even if it exceeds k.",
        ),
        lambda k, rel=1: f.AveragePrecision(rel, k),
    ),
    "RR": Family(
        MeasureInfo(
            "RR@k",
            "1 / rank of the first relevant document, 0 if that is beyond k.",
            0.0,
            1.0,
            "Kantor and Voorhees 2000",
            "Ties are broken as for every other measure; ir_measures breaks them the "
            "other way for RR@k.",
        ),
        lambda k, rel=1: f.FirstRelevant(f.reciprocal, rel, k),
    ),
    "P": Family(
        MeasureInfo(
            "P@k",
            "Number of relevant documents among the first k, divided by k.",
            0.0,
            1.0,
            TREC_EVAL,
            "Divides by k even if fewer documents are retrieved.",
        ),
        _precision,
        cutoff="required",
    ),
    "R": Family(
        MeasureInfo(
            "R@k",
            "Share of the relevant documents that is among the first k.",
            0.0,
            1.0,
            TREC_EVAL,
            "Equals trec_eval's recall_k.",
        ),
        _recall,
        cutoff="required",
    ),
    "Success": Family(
        MeasureInfo(
            "Success@k",
            "1 if a relevant document is among the first k, else 0.",
            0.0,
            1.0,
            TREC_EVAL,
        ),
        lambda k, rel=1: f.FirstRelevant(f.no_discount, rel, k),
        cutoff="required",
    ),
    "Rprec": Family(
        MeasureInfo(
            "Rprec",
            "Precision at rank R, the number of relevant documents of the query.",
            0.0,
            1.0,
            TREC_EVAL,
        ),
        lambda k, rel=1: _r_precision(k, rel),
        cutoff="none",
    ),
    "bpref": Family(
        MeasureInfo(
            "bpref",
            "Mean over relevant documents of 1 - n / min(R, N), where n counts the "
            "judged non-relevant documents ranked above (at most R), R the relevant "
            "and N the judged non-relevant ones; 0 for those not retrieved.",
            0.0,
            1.0,
            "Buckley and Voorhees 2004, as corrected in trec_eval",
            "Negative grades count as unjudged. 1 per retrieved relevant document if "
            "none is judged non-relevant.",
        ),
        lambda k, rel=1: f.BinaryPreference(rel),
        cutoff="none",
    ),
    "RBP": Family(
        MeasureInfo(
            "RBP(p=0.8)@k",
            "Sum of (1 - p) p**(rank - 1) over the relevant documents among the first "
            "k: the rate of relevant documents met by a reader who goes on to the next "
            "with probability p.",
            0.0,
            1.0,
            "Moffat and Zobel 2008",
            "Binary at grade 1 unless rel is given; p is 0.8 unless given. trec_eval's "
            "rbp is RBP(p=0.9).",
        ),
        _rank_biased,
        parameters=("p", "rel"),
    ),
    "Judged": Family(
        MeasureInfo(
            "Judged@k",
            "Share of the first k documents (or of those retrieved, if fewer) that has "
            "a judgement.",
            0.0,
            1.0,
            "ir_measures",
            "Any grade counts as a judgement, negative ones too. Ties are broken as "
            "for every other measure; ir_measures breaks them the other way.",
        ),
        _judged,
        parameters=(),
    ),
    "IPrec": Family(
        MeasureInfo(
            "IPrec@x",
            "Highest precision at any rank where the share x of the relevant documents "
            "has been found.",
            0.0,
            1.0,
            TREC_EVAL,
            "Equals iprec_at_recall_x of trec_eval 10, which rounds x times the number "
            "of relevant documents to the nearest; trec_eval 9 rounded almost always "
            "up.",
        ),
        lambda x, rel=1: f.InterpolatedPrecision(x, rel),
        cutoff="required",
    ),
    "gm_map": Family(
        MeasureInfo(
            "gm_map",
            "Average precision; summarised over queries by the geometric mean, values "
            "below 0.00001 raised to it.",
            0.0,
            1.0,
            "Robertson 2006, trec_eval 10",
            "The value per query is AP; only the summary differs from map.",
        ),
        lambda k, rel=1: f.AveragePrecision(rel, k),
        cutoff="none",
        aggregate="geometric",
    ),
    "NumQ": Family(
        MeasureInfo("NumQ", "1 per query; summed.", 1.0, np.inf, TREC_EVAL),
        lambda k: f.Count(lambda judged: np.ones(len(judged.query_ids))),
        cutoff="none",
        parameters=(),
        aggregate="sum",
    ),
    "NumRet": Family(
        MeasureInfo(
            "NumRet", "Number of documents retrieved; summed.", 0.0, np.inf, TREC_EVAL
        ),
        lambda k: f.Count(lambda judged: judged.retrieved),
        cutoff="none",
        parameters=(),
        aggregate="sum",
    ),
    "NumRel": Family(
        MeasureInfo(
            "NumRel", "Number of relevant documents; summed.", 0.0, np.inf, TREC_EVAL
        ),
        lambda k, rel=1: f.Count(_relevant(rel)),
        cutoff="none",
        aggregate="sum",
    ),
    "NumRelRet": Family(
        MeasureInfo(
            "NumRelRet",
            "Number of relevant documents retrieved; summed.",
            0.0,
            np.inf,
            TREC_EVAL,
        ),
        lambda k, rel=1: f.Count(_relevant_retrieved(rel)),
        cutoff="none",
        aggregate="sum",
    ),
    "MRR": Family(
        MeasureInfo(
            "MRR@k",
            "1 / rank of the first document of grade 1 or more, 0 if beyond k.",
            0.0,
            1.0,
            "COUNTERCASE",
            "The same as RR@k.",
        ),
        lambda k: f.FirstRelevant(f.reciprocal, 1, k),
        cutoff="required",
        parameters=(),
    ),
    "NDCG": Family(
        MeasureInfo(
            "NDCG@k",
            "Sum of 1 / log2(rank + 1) over the documents of grade 1 or more among the "
            "first k, divided by that sum for min(R, k) such documents at the top.",
            0.0,
            1.0,
            "COUNTERCASE",
            "Binary: grades above 1 count as 1. nDCG@k is the graded measure.",
        ),
        lambda k: _normalised(f.binary_gain(1), k),
        cutoff="required",
        parameters=(),
    ),
    "Recall": Family(
        MeasureInfo(
            "Recall@k",
            "Share of the documents of grade 1 or more that is among the first k; 0 "
            "if there are none.",
            0.0,
            1.0,
            "COUNTERCASE",
            "The same as R@k.",
        ),
        lambda k: _recall(k),
        cutoff="required",
        parameters=(),
    ),
    "map@1": Family(
        MeasureInfo(
            "map@1",
            "1 / rank of the first relevant document in the full ranking.",
            0.0,
            1.0,
            "EmbeddingShift",
            "Neither a mean average precision nor cut off at 1: it is RR.",
        ),
        lambda k: f.FirstRelevant(f.reciprocal, 1, np.inf),
        cutoff="none",
        parameters=(),
    ),
    "ndcg@3": Family(
        MeasureInfo(
            "ndcg@3",
            "1 / log2(rank + 1) of the first relevant document, 0 if beyond rank 3.",
            0.0,
            1.0,
            "EmbeddingShift",
            "Made for one relevant document per query; with several, only the best "
            "ranked counts and nothing is normalised. nDCG@3 is the standard measure.",
        ),
        lambda k: f.FirstRelevant(f.log_discount, 1, 3.0),
        cutoff="none",
        parameters=(),
    ),
}
