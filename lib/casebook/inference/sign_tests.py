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
    """A two-sided p-value that never underflows."""

    pvalue: float | None
    log_pvalue: float | None
    n: int
    reason: str | None = None


def exact_sign_test(wins, losses):
    """Exact two-sided test that wins and losses are equally likely."""
    n = _trials(wins, losses)
    if n == 0:
        return ExactPValue(None, None, 0, "no_units")
    tail, log_tail = _upper_tail(max(wins, losses), n)
    return ExactPValue(positive(2 * tail), min(0.0, math.log(2) + log_tail), n)


def documented_sign_test(wins, losses):
    """Sign test as the document computes it, for parity only."""
    n = _trials(wins, losses)
    if n == 0:
        return None
    try:
        masses = [math.comb(n, k) * 0.5**n for k in range(n + 1)]
    except OverflowError:
        raise InputError(f"the documented sign test overflows at {n} untied votes: use the exact sign test") from None
    observed = masses[wins]
    return min(1.0, sum(mass for mass in masses if mass <= observed + TOLERANCE))


def positive(pvalue):
    """Keep a p-value that underflows, or exceeds 1 by rounding, within (0, 1]."""
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
