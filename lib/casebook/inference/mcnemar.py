"""Two systems on the same claims: exact and mid-p McNemar, and what n can show."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import Interval
from casebook.inference.samples import check_share


@dataclass(frozen=True)
class McNemarTest:
    """Outcome of a paired comparison of two shares."""

    first_only: int
    second_only: int
    n: int
    pvalue: float | None
    mid_pvalue: float | None
    difference: Interval
    reason: str | None = None


def mcnemar(first, second, *, level=0.95, clusters=None, n_boot=2000, seed=0):
    """Compare two systems that were right or wrong on the same units."""
    a, b = _flags("first", first), _flags("second", second)
    if a.shape != b.shape:
        raise InputError(f"paired samples of {len(a)} and {len(b)} units")
    table = mcnemar_counts(int((a & ~b).sum()), int((b & ~a).sum()), len(a), level=level)
    if clusters is None:
        return table
    difference = bootstrap_mean(a.astype(float) - b, level=level, clusters=clusters, n_boot=n_boot, seed=seed)
    return McNemarTest(**(vars(table) | {"difference": difference}))


def mcnemar_counts(first_only, second_only, n, *, level=0.95):
    """Test from the counts of discordant units."""
    check_share("level", level)
    if first_only < 0 or second_only < 0 or first_only + second_only > n:
        raise InputError(f"{first_only} and {second_only} discordant units of {n} are impossible")
    difference = _bonett_price(first_only, second_only, n, level)
    total, low = first_only + second_only, min(first_only, second_only)
    if not total:
        return McNemarTest(0, 0, n, None, None, difference, "all_tied")
    exact, mid = mcnemar_pvalues(np.array(low), np.array(total))
    return McNemarTest(first_only, second_only, n, float(exact), float(mid), difference)


def _flags(name, values):
    flags = np.asarray(values)
    if flags.ndim != 1 or (flags.size and not np.isin(flags, (0, 1)).all()):
        raise InputError(f"{name} must be a list of true and false")
    return flags.astype(bool)


def mcnemar_pvalues(low, total):
    """Give two-sided p-values of the smaller discordant count, exact and mid-p."""
    tail = special.bdtr(low, total, 0.5)
    point = np.exp(-special.betaln(low + 1, total - low + 1) - np.log(total + 1) - total * math.log(2))
    exact = np.clip(2 * tail, math.ulp(0.0), 1.0)
    even = 2 * low == total
    mid = np.where(even, 1 - point / 2, 2 * tail - point)
    return exact, np.clip(mid, math.ulp(0.0), 1.0)


def _bonett_price(first_only, second_only, n, level):
    method = "bonett-price"
    if not n:
        return Interval(None, None, None, level, 0, method, "no_units")
    p, q = (first_only + 1) / (n + 2), (second_only + 1) / (n + 2)
    half = special.ndtri((1 + level) / 2) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    low, high = max(-1.0, p - q - half), min(1.0, p - q + half)
    return Interval((first_only - second_only) / n, float(low), float(high), level, n, method)
