"""Intervals of shares, and of the difference of two independent shares."""

import math

from scipy import special

from casebook.errors import InputError
from casebook.inference.intervals import Interval
from casebook.inference.samples import check_share


def wilson(successes, n, level=0.95):
    """Wilson's score interval of a share.

    Parameters
    ----------
    successes : float
        Count in ``[0, n]``; halves are allowed, as when a tie counts half.
    n : int
        Number of independent trials.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    Interval
        Within [0, 1]; undefined without trials.

    Raises
    ------
    InputError
        If the counts do not fit or the level lies outside (0, 1).

    References
    ----------
    Wilson, Journal of the American Statistical Association 22, 1927; Newcombe,
    Statistics in Medicine 17:857-872, 1998, method 3.
    """
    check_share("level", level)
    if not 0 <= successes <= n:
        raise InputError(f"{successes} successes in {n} trials are impossible")
    if n == 0:
        return Interval(None, None, None, level, 0, "wilson", "no_units")
    share, z = successes / n, special.ndtri((1 + level) / 2)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    scale = 1 + z * z / n
    # At the ends the bound is the end itself, but for rounding.
    low = max(0.0, float((centre - half) / scale)) if successes else 0.0
    high = min(1.0, float((centre + half) / scale)) if successes < n else 1.0
    return Interval(share, low, high, level, int(n), "wilson")


def newcombe(successes_a, n_a, successes_b, n_b, level=0.95):
    """Interval of the difference of two independent shares, a minus b."""
    a, b = wilson(successes_a, n_a, level), wilson(successes_b, n_b, level)
    n = a.n + b.n
    if a.estimate is None or b.estimate is None:
        return Interval(None, None, None, level, n, "newcombe", "no_units")
    difference = a.estimate - b.estimate
    below = math.hypot(a.estimate - a.low, b.high - b.estimate)
    above = math.hypot(a.high - a.estimate, b.estimate - b.low)
    low, high = difference - below, difference + above
    return Interval(difference, low, high, level, n, "newcombe")
