"""What a ranking measure is made of: its description, parameters and formula."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casebook.measures import ranking_formulas as f
from casebook.measures import ranking_gains as g


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
    """A measure with open parameters."""

    info: MeasureInfo
    build: Callable
    cutoff: str = "optional"
    parameters: tuple[str, ...] = ("rel",)
    aggregate: str = "mean"


def ndcg(k, dcg="log2"):
    """Graded nDCG with linear or exponential gain."""
    return normalised_gain(g.linear_gain if dcg == "log2" else g.exponential_gain, k)


def normalised_gain(gain, k):
    """Discounted gain over that of the best order."""
    norm = g.ideal(gain, g.log_discount, k)
    return f.GainSum(gain, g.log_discount, lambda judged: k, norm)


def precision(k, rel=1):
    """Relevant documents among the first k, divided by k."""
    gain = g.binary_gain(rel)
    return f.GainSum(gain, g.no_discount, lambda judged: k, lambda judged: float(k))


def recall(k, rel=1):
    """Relevant documents among the first k, divided by all of them."""
    gain = g.binary_gain(rel)
    return f.GainSum(gain, g.no_discount, lambda judged: k, count_relevant(rel))


def r_precision(k, rel=1):
    """Precision at the number of relevant documents."""
    count = count_relevant(rel)
    gain = g.binary_gain(rel)
    return f.GainSum(gain, g.no_discount, lambda j: count(j)[j.row], count)


def rank_biased(k, p=0.8, rel=1):
    """Relevant documents weighted by persistence."""
    gain, one = g.binary_gain(rel), lambda judged: 1.0
    return f.GainSum(gain, g.persistence(p), lambda judged: k, one)


def judged_share(k):
    """Judged documents among the first k retrieved, divided by their number."""

    def norm(judged):
        return np.minimum(judged.retrieved, k).astype(np.float64)

    return f.GainSum(g.no_discount, g.no_discount, lambda judged: k, norm)


def count_relevant(level):
    """Count the relevant documents of each query."""
    return lambda judged: judged.total(judged.grade >= level)


def count_relevant_retrieved(level):
    """Count the relevant documents retrieved for each query."""
    return lambda judged: judged.total(judged.found & (judged.grade >= level))
