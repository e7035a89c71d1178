"""The interval that every estimate carries, and the exact one of a share."""

import math
from dataclasses import dataclass

from scipy import special

from casebook.errors import InputError
from casebook.inference.samples import check_share


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval."""

    estimate: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    method: str
    reason: str | None = None

    def number(self, control=None):
        """Give the estimate as it stands in ``numbers.json``."""
        return {
            "value": self.estimate,
            "ci": [self.low, self.high],
            "n": self.n,
            "control": None if control is None else float(control),
            "reason": self.reason,
        }


def clopper_pearson(successes, trials, *, level=0.95):
    """Exact interval of a binomial share."""
    check_share("level", level)
    if not 0 <= successes <= trials:
        raise InputError(f"{successes} successes in {trials} trials are impossible")
    method, misses = "clopper-pearson", trials - successes
    if trials == 0:
        return Interval(None, None, None, level, 0, method, "no_units")
    tail = (1 - level) / 2
    low = special.betaincinv(successes, misses + 1, tail) if successes else 0.0
    high = special.betaincinv(successes + 1, misses, 1 - tail) if misses else 1.0
    share = successes / trials
    return Interval(share, float(low), float(high), level, trials, method)


def bounds_text(low, high, spec="z.3f"):
    """Write an interval's bounds as text."""
    if any(bound is None or math.isnan(bound) for bound in (low, high)):
        return "[no interval]"
    return f"[{low:{spec}}, {high:{spec}}]"


def estimate_text(number):
    """Write a number of ``numbers.json`` with its interval."""
    return f"{number['value']:z.3f} {bounds_text(*number['ci'])}"


def bounded(name, interval):
    """Give an interval as three columns of a table."""
    bounds = {f"{name} low": interval.low, f"{name} high": interval.high}
    return {name: interval.estimate} | bounds
