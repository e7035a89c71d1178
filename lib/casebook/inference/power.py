"""Power of the paired comparison of two means: what n units can show."""

import math

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.inference.samples import check_choice, check_count, check_share

ALTERNATIVES = ("two-sided", "one-sided")


def paired_power(effect, sd, n, *, alpha=0.05, alternative="two-sided"):
    """Power of the paired t test."""
    check_count("n", n, least=2)
    _check_positive("sd", sd)
    if effect < 0:
        raise InputError(f"effect must be at least 0, not {effect}")
    return _power(effect / sd * math.sqrt(n), n, alpha, alternative)


def minimal_detectable_effect(sd, n, *, alpha=0.05, power=0.8, alternative="two-sided"):
    """Smallest true mean difference that the paired t test finds with given power."""
    _check_positive("sd", sd)
    check_count("n", n, least=0)
    _check_power(power, alpha)
    if n < 2:
        return None
    return sd / math.sqrt(n) * _noncentrality(n, alpha, power, alternative)


def units_needed(effect, sd, *, alpha=0.05, power=0.8, alternative="two-sided"):
    """Smallest number of units with which the paired t test reaches a power."""
    _check_positive("effect", effect)
    _check_positive("sd", sd)
    _check_power(power, alpha)

    def enough(n):
        return _power(effect / sd * math.sqrt(n), n, alpha, alternative) >= power

    high = 2
    while not enough(high):
        high *= 2
        if high > 2**40:
            raise InputError(f"an effect of {effect} is too small for any sample")
    low = max(2, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _power(noncentrality, n, alpha, alternative):
    check_share("alpha", alpha)
    check_choice("alternative", alternative, ALTERNATIVES)
    sides = 2 if alternative == "two-sided" else 1
    critical = special.stdtrit(n - 1, 1 - alpha / sides)
    upper = 1 - special.nctdtr(n - 1, noncentrality, critical)
    if sides == 1:
        return float(upper)
    # The lower tail mirrors an upper one; scipy gives NaN where it is below 1e-9.
    lower = 1 - special.nctdtr(n - 1, -noncentrality, critical)
    return float(upper + np.nan_to_num(lower))


def _noncentrality(n, alpha, power, alternative):
    """Noncentrality at which the power is reached, by bisection."""
    low, high = 0.0, 1.0
    while _power(high, n, alpha, alternative) < power:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _power(middle, n, alpha, alternative) < power:
            low = middle
        else:
            high = middle
    return high


def _check_positive(name, value):
    if not 0 < value < math.inf:
        raise InputError(f"{name} must be above 0 and finite, not {value}")


def _check_power(power, alpha):
    check_share("power", power)
    check_share("alpha", alpha)
    if power <= alpha:
        raise InputError(f"power {power} must exceed alpha {alpha}")
