"""The verdict on a difference, from its interval and the largest difference that does not matter."""

import math

BETTER = "better"
WORSE = "worse"
EQUIVALENT = "equivalent"
UNDECIDED = "undecided"
NOT_MEASURED = "cannot be measured"
VERDICTS = (BETTER, WORSE, EQUIVALENT, UNDECIDED, NOT_MEASURED)

NO_UNIT_DIFFERS = "no_unit_differs"
"""Reason: two systems with different inputs have the same score on every unit."""

INTERVAL_BY_UNIT = "interval_by_unit"
"""Reason: too few clusters to resample, so the interval is one over units."""


def verdict_of(low, high, margin=0.0):
    """Give the verdict on a difference with this interval; bounds are None or NaN where there is none."""
    if any(bound is None or math.isnan(bound) for bound in (low, high)):
        return UNDECIDED
    if -margin < low and high < margin:
        return EQUIVALENT
    if low > 0:
        return BETTER
    if high < 0:
        return WORSE
    return UNDECIDED
