"""Whether one reported row of accuracy, precision, recall and F1 can be true."""

import math
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.stats.samples import check_choice

MEASURES = ("accuracy", "precision", "recall", "f1")
ROUNDINGS = ("either", "half", "down")
DECIMALS = 12  # the most; a float holds no more
LARGEST = 5_000  # claims of one table; the enumeration grows with the square
SLACK = 1e-9  # of comparisons of rounded values


@dataclass(frozen=True)
class RowCheck:
    """What enumeration says of one reported row."""

    possible: bool
    alone: dict
    tables: list
    n_tables: int
    implied: dict
    chance: float


def check_row(reported, n, positives, decimals=3, rounding="either"):
    """Check one row by enumerating all confusion tables."""
    values = _reported(reported)
    _check_counts(n, positives)
    check_choice("rounding", rounding, ROUNDINGS)
    places = decimals if isinstance(decimals, dict) else dict.fromkeys(MEASURES, decimals)
    for name, count in places.items():
        if not 0 <= count <= DECIMALS:
            problem = f"decimals of {name} must lie between 0 and {DECIMALS}"
            raise InputError(f"{problem}, not {count}")
    tp, tn = _tables(n, positives)
    found = _values(tp, tn, n, positives)
    fits = {name: _close(found[name], value, places[name], rounding) for name, value in values.items()}
    every = np.logical_and.reduce([np.ones(len(tp), bool), *fits.values()])
    rows = np.flatnonzero(every)
    return RowCheck(
        possible=bool(len(rows)),
        alone={name: bool(fit.any()) for name, fit in fits.items()},
        tables=[
            tuple(int(x) for x in (a, positives - a, n - positives - b, b))
            for a, b in zip(tp[rows[:10]], tn[rows[:10]], strict=True)
        ],
        n_tables=len(rows),
        implied=_implied(found, fits),
        chance=_chance({name: found[name] for name in values}, places),
    )


def _reported(reported):
    unknown = sorted(set(reported) - set(MEASURES))
    if unknown:
        known = ", ".join(MEASURES)
        raise InputError(f"unknown measure {unknown[0]!r}: choose from {known}")
    values = {
        name: float(value) for name, value in reported.items() if value is not None and not math.isnan(float(value))
    }
    return values


def _check_counts(n, positives):
    for name, count in (("n", n), ("positives", positives)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer):
            raise InputError(f"{name} must be a whole number, not {count!r}")
    if not 0 < n <= LARGEST:
        raise InputError(f"n must lie between 1 and {LARGEST:,}, not {n}")
    if not 0 <= positives <= n:
        raise InputError(f"{positives} positives of {n} claims are impossible")


def _tables(n, positives):
    """All true positives and true negatives, flat."""
    tp, tn = np.meshgrid(np.arange(positives + 1), np.arange(n - positives + 1), indexing="ij")
    return tp.ravel(), tn.ravel()


def _values(tp, tn, n, positives):
    fn, fp = positives - tp, n - positives - tn
    return {
        "accuracy": (tp + tn) / n,
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
    }


def _ratio(above, below):
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _close(found, value, places, rounding):
    """Whether values may have been reported as this one; ties go either way."""
    step = 10.0**-places
    nearest = np.abs(found - value) <= step / 2 + SLACK
    cut = (found >= value - SLACK) & (found < value + step - SLACK)
    return {"half": nearest, "down": cut, "either": nearest | cut}[rounding]


def _implied(found, fits):
    ranges = {}
    for name in MEASURES:
        others = [fit for other, fit in fits.items() if other != name]
        rows = np.logical_and.reduce([np.ones(len(found[name]), bool), *others])
        part = found[name][rows]
        ranges[name] = (float(part.min()), float(part.max())) if len(part) else None
    return ranges


def _chance(found, places):
    if not found:
        return 1.0
    shown = [np.rint(value * 10 ** places[name]) for name, value in found.items()]
    distinct = len(np.unique(np.stack(shown, axis=1), axis=0))
    return distinct / math.prod(10 ** places[name] + 1 for name in found)
