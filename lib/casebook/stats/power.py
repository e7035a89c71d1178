"""What n paired units can show: power of the t test and of McNemar's, and what they can detect."""

import math

import numpy as np
from scipy import special

from casebook.stats.tests import mcnemar_pvalues


def minimal_detectable_effect(sd, n, *, alpha=0.05, power=0.8):
    """Smallest true mean difference that the two-sided paired t test finds with given power; None for one unit."""
    from scipy import optimize  # slow to import

    if n < 2:
        return None
    critical = special.stdtrit(n - 1, 1 - alpha / 2)

    def missing(noncentrality):
        # The lower tail mirrors an upper one; scipy gives NaN where it is below 1e-9.
        below = np.nan_to_num(1 - special.nctdtr(n - 1, -noncentrality, critical))
        return power - (1 - special.nctdtr(n - 1, noncentrality, critical) + below)

    high = 1.0
    while missing(high) > 0:
        high *= 2
    return sd / math.sqrt(n) * optimize.brentq(missing, 0.0, high, xtol=1e-13)


def mcnemar_power(difference, discordant, n, *, alpha=0.05, mid_p=True):
    """Power of McNemar's test for a true difference of two shares of which `discordant` units differ."""
    return _rejections(discordant, n, alpha, mid_p)(difference)


def minimal_detectable_difference(n, discordant, *, alpha=0.05, power=0.8, mid_p=True):
    """Smallest true difference of two shares that n paired units would show; None if none is."""
    power_of = _rejections(discordant, n, alpha, mid_p)
    if power_of(discordant) < power:
        return None
    from scipy import optimize  # slow to import

    return optimize.brentq(lambda d: power_of(d) - power, 0.0, discordant, xtol=1e-12)


def _rejections(discordant, n, alpha, mid_p):
    """Give the power as a function of the difference, over all likely numbers of discordant units."""
    totals = np.arange(1, n + 1)
    log_binomial = -special.betaln(totals + 1, n - totals + 1) - math.log(n + 1)
    weights = np.exp(log_binomial + special.xlogy(totals, discordant) + special.xlog1py(n - totals, -discordant))
    totals, weights = totals[weights > 1e-12 / n], weights[weights > 1e-12 / n]
    # The largest smaller count that rejects, by bisection; -1 where none does.
    low, high = np.full(len(totals), -1), totals // 2
    while (low < high).any():
        middle = (low + high + 1) // 2
        rejects = mcnemar_pvalues(middle, totals)[int(mid_p)] <= alpha
        low, high = np.where(rejects, middle, low), np.where(rejects, high, middle - 1)

    def power_of(difference):
        share = (discordant + difference) / (2 * discordant)
        tails = [np.where(low >= 0, special.bdtr(np.maximum(low, 0), totals, p), 0.0) for p in (share, 1 - share)]
        return min(1.0, float(np.minimum(sum(tails), 1.0) @ weights))

    return power_of
