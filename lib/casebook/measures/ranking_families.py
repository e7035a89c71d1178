"""What a ranking measure is made of: its description, parameters and formula."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casebook.measures import ranking_formulas as f
from casebook.measures import ranking_gains as g


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


def ndcg(k, dcg="log2"):
    """Graded nDCG with linear or exponential gain.

    Parameters
    ----------
    k : float
        Last rank that counts; infinite without a cutoff.
    dcg : {"log2", "exp-log2"}
        Linear gain, or else ``2**grade - 1``; both are discounted by log2.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """
    return normalised_gain(g.linear_gain if dcg == "log2" else g.exponential_gain, k)


def normalised_gain(gain, k):
    """Discounted gain over that of the best order.

    Parameters
    ----------
    gain : callable
        Grades to gains.
    k : float
        Last rank that counts; infinite without a cutoff.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """
    norm = g.ideal(gain, g.log_discount, k)
    return f.GainSum(gain, g.log_discount, lambda judged: k, norm)


def precision(k, rel=1):
    """Relevant documents among the first k, divided by k.

    Parameters
    ----------
    k : float
        Last rank that counts; infinite without a cutoff.
    rel : int
        Lowest grade of a relevant document.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """
    gain = g.binary_gain(rel)
    return f.GainSum(gain, g.no_discount, lambda judged: k, lambda judged: float(k))


def recall(k, rel=1):
    """Relevant documents among the first k, divided by all of them.

    Parameters
    ----------
    k : float
        Last rank that counts; infinite without a cutoff.
    rel : int
        Lowest grade of a relevant document.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """
    gain = g.binary_gain(rel)
    return f.GainSum(gain, g.no_discount, lambda judged: k, count_relevant(rel))


def r_precision(k, rel=1):
    """Precision at the number of relevant documents.

    Parameters
    ----------
    k : float
        Not used: each query has its own cutoff.
    rel : int
        Lowest grade of a relevant document.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """
    count = count_relevant(rel)
    gain = g.binary_gain(rel)
    return f.GainSum(gain, g.no_discount, lambda j: count(j)[j.row], count)


def rank_biased(k, p=0.8, rel=1):
    """Relevant documents weighted by persistence.

    Parameters
    ----------
    k : float
        Last rank that counts; infinite without a cutoff.
    p : float
        Persistence, in (0, 1).
    rel : int
        Lowest grade of a relevant document.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """
    gain, one = g.binary_gain(rel), lambda judged: 1.0
    return f.GainSum(gain, g.persistence(p), lambda judged: k, one)


def judged_share(k):
    """Judged documents among the first k retrieved, divided by their number.

    Parameters
    ----------
    k : float
        Last rank that counts; infinite without a cutoff.

    Returns
    -------
    casebook.measures.ranking_formulas.GainSum
        Formula.
    """

    def norm(judged):
        return np.minimum(judged.retrieved, k).astype(np.float64)

    return f.GainSum(g.no_discount, g.no_discount, lambda judged: k, norm)


def count_relevant(level):
    """Count the relevant documents of each query.

    Parameters
    ----------
    level : int
        Lowest grade of a relevant document.

    Returns
    -------
    callable
        Judged ranks to counts, shape (Q,).
    """
    return lambda judged: judged.total(judged.grade >= level)


def count_relevant_retrieved(level):
    """Count the relevant documents retrieved for each query.

    Parameters
    ----------
    level : int
        Lowest grade of a relevant document.

    Returns
    -------
    callable
        Judged ranks to counts, shape (Q,).
    """
    return lambda judged: judged.total(judged.found & (judged.grade >= level))
