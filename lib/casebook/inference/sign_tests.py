"""The exact two-sided sign test, and the documented form of it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.errors import InputError

TOLERANCE = 1e-15
"""Mass by which the documented form takes an outcome for no likelier than the data."""


@dataclass(frozen=True)
class ExactPValue:
    """A two-sided p-value that never underflows.

    Attributes
    ----------
    pvalue : float or None
        None without trials; at least the smallest positive double.
    log_pvalue : float or None
        Natural logarithm, right where `pvalue` would underflow.
    n : int
        Trials.
    reason : str or None
        ``"no_units"`` without trials.
    """

    pvalue: float | None
    log_pvalue: float | None
    n: int
    reason: str | None = None


def exact_sign_test(wins, losses):
    """Exact two-sided test that wins and losses are equally likely.

    Parameters
    ----------
    wins, losses : int
        Counts, at least 0; ties are left out.

    Returns
    -------
    ExactPValue
        Twice the tail of Binomial(wins + losses, 1/2), at most 1.

    Raises
    ------
    InputError
        If a count is negative.

    References
    ----------
    Conover, Practical Nonparametric Statistics, 1999, section 3.4.
    """
    n = _trials(wins, losses)
    if n == 0:
        return ExactPValue(None, None, 0, "no_units")
    tail, log_tail = _upper_tail(max(wins, losses), n)
    return ExactPValue(positive(2 * tail), min(0.0, math.log(2) + log_tail), n)


def documented_sign_test(wins, losses):
    """Sign test as the document computes it, for parity only.

    Sums the binomial masses that do not exceed the observed one by more than 1e-15:
    an absolute tolerance, so p is too large where masses are smaller than that. With
    60 wins of 60 it gives 1.06e-16, where 1.73e-18 is right.

    Parameters
    ----------
    wins, losses : int
        Counts, at least 0.

    Returns
    -------
    float or None
        At most 1; None without trials, where the document prints nan.

    Raises
    ------
    InputError
        If a count is negative, or if a binomial coefficient exceeds the largest double,
        from 1030 trials on, where the document's form ends with OverflowError.
    """
    n = _trials(wins, losses)
    if n == 0:
        return None
    try:
        masses = [math.comb(n, k) * 0.5**n for k in range(n + 1)]
    except OverflowError:
        raise InputError(
            f"the documented sign test overflows at {n} untied votes: "
            "use the exact sign test"
        ) from None
    observed = masses[wins]
    return min(1.0, sum(mass for mass in masses if mass <= observed + TOLERANCE))


def positive(pvalue):
    """Keep a p-value that underflows, or exceeds 1 by rounding, within (0, 1].

    Parameters
    ----------
    pvalue : float
        p-value.

    Returns
    -------
    float
        At least the smallest positive double, at most 1.
    """
    return min(1.0, max(float(pvalue), math.ulp(0.0)))


def _trials(wins, losses):
    if min(wins, losses) < 0:
        raise InputError(f"{wins} wins and {losses} losses are impossible")
    return int(wins + losses)


def _upper_tail(successes, trials):
    """P(X >= successes) and its logarithm, for X of Binomial(trials, 1/2)."""
    tail = special.betainc(successes, trials - successes + 1, 0.5)
    if tail > 1e-280:
        return tail, math.log(tail)
    # betainc underflows: add the terms on the log scale.
    k = np.arange(successes, trials + 1)
    log_terms = -special.betaln(k + 1, trials - k + 1) - math.log(trials + 1)
    log_tail = float(special.logsumexp(log_terms)) - trials * math.log(2)
    return math.exp(log_tail), log_tail
