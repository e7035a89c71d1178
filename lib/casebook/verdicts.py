"""The verdict on a difference: its interval and the largest difference that does not matter."""

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


def verdict_of(low, high, margin=0.0, *, reason=None, difference=None, p_adjusted=None, level=0.95):
    """Give the verdict on a difference from its interval; without an interval, from its test.

    Bounds are None or NaN where there is no interval. Then the difference is better or worse if
    `p_adjusted` is given and rejects, as where it is the same in all clusters.
    """
    if reason == NO_UNIT_DIFFERS:
        return NOT_MEASURED
    if any(bound is None or math.isnan(bound) for bound in (low, high)):
        if p_adjusted is None or p_adjusted > 1 - level:
            return UNDECIDED
        return BETTER if difference > 0 else WORSE
    if -margin < low and high < margin:
        return EQUIVALENT
    if low > 0:
        return BETTER
    if high < 0:
        return WORSE
    return UNDECIDED
