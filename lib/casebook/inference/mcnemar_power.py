"""Power of McNemar's test and the difference that it can detect."""

import math

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.inference.mcnemar import mcnemar_pvalues
from casebook.inference.samples import check_count, check_share


def mcnemar_power(difference, discordant, n, *, alpha=0.05, mid_p=True):
    """Power of the test for a true difference of two shares."""
    check_share("alpha", alpha)
    check_count("n", n)
    if not 0 < discordant <= 1 or not 0 <= difference <= discordant:
        raise InputError(
            f"difference {difference} and discordant share {discordant} do not fit: 0 <= difference <= discordant <= 1"
        )
    totals, weights, critical = _rejections(discordant, n, alpha, mid_p)
    return _power(difference, discordant, totals, weights, critical)


def minimal_detectable_difference(n, discordant, *, alpha=0.05, power=0.8, mid_p=True):
    """Smallest true difference of two shares that n paired claims would show."""
    check_share("power", power)
    mcnemar_power(0.0, discordant, n, alpha=alpha, mid_p=mid_p)
    rejections = _rejections(discordant, n, alpha, mid_p)
    if _power(discordant, discordant, *rejections) < power:
        return None
    low, high = 0.0, discordant
    for _ in range(40):
        middle = (low + high) / 2
        if _power(middle, discordant, *rejections) < power:
            low = middle
        else:
            high = middle
    return high


def _rejections(discordant, n, alpha, mid_p):
    """Likely discordant totals, their probabilities, largest rejecting small count."""
    totals = np.arange(1, n + 1)
    if discordant == 1:
        weights = (totals == n).astype(float)
    else:
        weights = np.exp(
            -special.betaln(totals + 1, n - totals + 1)
            - math.log(n + 1)
            + totals * math.log(discordant)
            + (n - totals) * math.log1p(-discordant)
        )
    kept = weights > 1e-12 / n
    totals, weights = totals[kept], weights[kept]
    low, high = np.full(len(totals), -1), totals // 2
    while (low < high).any():
        middle = (low + high + 1) // 2
        rejects = mcnemar_pvalues(middle, totals)[int(mid_p)] <= alpha
        low, high = np.where(rejects, middle, low), np.where(rejects, high, middle - 1)
    return totals, weights, low


def _power(difference, discordant, totals, weights, critical):
    share = (discordant + difference) / (2 * discordant)
    reject = sum(
        np.where(critical >= 0, special.bdtr(np.maximum(critical, 0), totals, p), 0.0) for p in (share, 1 - share)
    )
    return float(np.minimum(reject, 1.0) @ weights)
