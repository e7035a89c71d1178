"""Items needed to test Cohen's kappa of two raters and two categories."""

import math

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.inference.power import ALTERNATIVES
from casebook.inference.samples import check_choice, check_share


def kappa_sample_size(
    kappa, null, positive=(0.5, 0.5), *, power=0.8, alpha=0.05, alternative="one-sided"
):
    """Items with which two raters show that kappa differs from a null value.

    Parameters
    ----------
    kappa, null : float
        True value and the one under the null hypothesis, in [-1, 1), unequal.
    positive : (float, float), default (0.5, 0.5)
        Share of items that either rater calls positive.
    power : float, default 0.8
        Wanted power.
    alpha : float, default 0.05
        Level.
    alternative : {"one-sided", "two-sided"}
        Sides of the test.

    Returns
    -------
    int
        Number of items, by the normal approximation.

    Raises
    ------
    InputError
        If an argument is outside its range, or a kappa cannot occur with these shares.

    References
    ----------
    Cantor, Psychological Methods 1:150-153, 1996, eq. 3 and 4; large-sample variance of
    Fleiss, Cohen & Everitt, Psychological Bulletin 72, 1969.
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    for name, value in (("power", power), ("alpha", alpha)):
        check_share(name, value)
    for share in positive:
        check_share("share of positives", share)
    if kappa == null:
        raise InputError("kappa and its null value must differ")
    tail = alpha / 2 if alternative == "two-sided" else alpha
    spread = [math.sqrt(_variance(_table(k, *positive))) for k in (null, kappa)]
    distance = special.ndtri(1 - tail) * spread[0] + special.ndtri(power) * spread[1]
    return math.ceil((distance / (kappa - null)) ** 2)


def _table(kappa, a, b):
    """Joint shares of two raters with these shares of positives and this kappa."""
    chance = a * b + (1 - a) * (1 - b)
    both = (kappa * (1 - chance) + chance - 1 + a + b) / 2
    table = np.array([[both, a - both], [b - both, 1 - a - b + both]])
    if table.min() < -1e-12 or kappa >= 1:
        raise InputError(f"kappa {kappa} cannot occur with positive shares {a} and {b}")
    return table


def _variance(table):
    """Large-sample variance of kappa for one item."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    chance, agreed = float(rows @ columns), float(np.trace(table))
    sums = rows[None, :] + columns[:, None]
    weights = (1 - agreed) ** 2 * sums**2
    np.fill_diagonal(weights, ((1 - chance) - np.diag(sums) * (1 - agreed)) ** 2)
    shift = (agreed * chance - 2 * chance + agreed) ** 2
    return (float(np.sum(table * weights)) - shift) / (1 - chance) ** 4
