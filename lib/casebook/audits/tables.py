"""Whether reported accuracy, precision, recall and F1 can be true at all.

With n claims of which so many are positive there are finitely many confusion tables. A
row of reported values that none of them gives, however it is rounded, is impossible.
Every prediction is taken to be one of the two labels; where some are neither, accuracy
is still a whole number of n-ths, but precision, recall and F1 have more freedom.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.proportions import wilson

MEASURES = ("accuracy", "precision", "recall", "f1")
ROUNDINGS = ("either", "half", "down")
LARGEST = 5_000  # claims of one table; the enumeration grows with the square
_SLACK = 1e-9


@dataclass(frozen=True)
class RowCheck:
    """What enumeration says of one reported row.

    Attributes
    ----------
    possible : bool
        Whether some confusion table gives all reported values.
    alone : dict of bool
        For each reported measure, whether some table gives this value.
    tables : list of (int, int, int, int)
        tp, fn, fp, tn of the tables that give all values, at most ten.
    n_tables : int
        How many there are.
    implied : dict of (float, float) or None
        For each measure, lowest and highest value over the tables that give all the
        *other* reported values; None if no table does.
    chance : float
        Share of value combinations on the grid of the same decimals that some table
        gives: how often an invented row would pass.
    """

    possible: bool
    alone: dict
    tables: list
    n_tables: int
    implied: dict
    chance: float


def check_row(reported, n, positives, decimals=3, rounding="either"):
    """Check one row by enumerating all confusion tables.

    Parameters
    ----------
    reported : dict of float or None
        Values in [0, 1] by name, of `MEASURES`; None and NaN are not reported.
    n, positives : int
        Claims, and those that are positive.
    decimals : int or dict of int
        Decimals that each value was rounded to.
    rounding : {"either", "half", "down"}
        Rounded to the nearest, cut off, or any of the two.

    Returns
    -------
    RowCheck
        A measure whose denominator is 0 is taken as 0, as the documented code does, or
        as not reported.

    Raises
    ------
    InputError
        If counts or values are outside their range.
    """
    values = _reported(reported)
    _check_counts(n, positives)
    if rounding not in ROUNDINGS:
        known = ", ".join(ROUNDINGS)
        raise InputError(f"unknown rounding {rounding!r}: choose from {known}")
    places = (
        decimals if isinstance(decimals, dict) else dict.fromkeys(MEASURES, decimals)
    )
    tp, tn = _tables(n, positives)
    found = _values(tp, tn, n, positives)
    fits = {
        name: _close(found[name], value, places[name], rounding)
        for name, value in values.items()
    }
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
        name: float(value)
        for name, value in reported.items()
        if value is not None and not math.isnan(float(value))
    }
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name} {value} lies outside 0 to 1")
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
    tp, tn = np.meshgrid(
        np.arange(positives + 1), np.arange(n - positives + 1), indexing="ij"
    )
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
    nearest = np.abs(found - value) <= step / 2 + _SLACK
    cut = (found >= value - _SLACK) & (found < value + step - _SLACK)
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


def check_tables(rows, *, decimals=None, rounding="either"):
    """Check every row of reported tables, and rows of one name against each other.

    Parameters
    ----------
    rows : pandas.DataFrame
        Columns ``table``, ``row``, ``n``, ``positives`` and any of `MEASURES`; numbers
        or text (text keeps trailing zeros). Values above 1 are taken for percent.
    decimals : int, optional
        Of all values; by default the most that each column of each table shows.
    rounding : str
        As for `check_row`.

    Returns
    -------
    pandas.DataFrame
        table, row, n, positives, the reported measures, verdict (``possible`` or
        ``impossible``), impossible alone (measures no table gives by themselves),
        implied accuracy (from the other measures, lowest and highest), n tables,
        chance, and Wilson's interval of the reported accuracy.

    Raises
    ------
    InputError
        Names table and row.
    """
    found = []
    for table, part in rows.groupby("table", sort=False):
        values, places = _numbers(part, table, decimals)
        for place, (_, row) in enumerate(part.iterrows()):
            where = f"table {table!r}, row {row['row']!r}"
            reported = {name: column[place] for name, column in values.items()}
            try:
                n, positives = (_whole(row[name], name) for name in ("n", "positives"))
                check = check_row(reported, n, positives, places, rounding)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            found.append(_line(table, row["row"], n, positives, reported, check))
    return pd.DataFrame(found)


def _line(table, name, n, positives, reported, check):
    accuracy = reported.get("accuracy", math.nan)
    known = not math.isnan(accuracy)
    interval = wilson(accuracy * n, n) if known else None
    low, high = check.implied["accuracy"] or (None, None)
    wrong = [measure for measure, fits in check.alone.items() if not fits]
    return {
        "table": table,
        "row": name,
        "n": n,
        "positives": positives,
        **{measure: reported.get(measure, math.nan) for measure in MEASURES},
        "verdict": "possible" if check.possible else "impossible",
        "impossible alone": ", ".join(wrong),
        "implied accuracy low": low,
        "implied accuracy high": high,
        "n tables": check.n_tables,
        "chance": check.chance,
        "accuracy low": interval.low if known else None,
        "accuracy high": interval.high if known else None,
    }


def _whole(value, name):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} {value!r} is not a number") from None
    if not number.is_integer():
        raise InputError(f"{name} must be a whole number, not {value}")
    return int(number)


def _numbers(part, table, decimals):
    """Give each measure's values in [0, 1] and the decimals of its column."""
    values, places = {}, {}
    for name in [measure for measure in MEASURES if measure in part]:
        texts = [_text(value) for value in part[name]]
        try:
            numbers = np.array([float(text) if text else np.nan for text in texts])
        except ValueError as error:
            raise InputError(f"table {table!r}, {name}: {error}") from None
        shown = [len(text.partition(".")[2]) for text in texts if text]
        percent = bool((numbers > 1).any())
        values[name] = numbers / 100 if percent else numbers
        places[name] = max(shown, default=0) + 2 * percent
        if decimals is not None:
            places[name] = decimals
    return values, places


def _text(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = str(value).strip().removesuffix("%").strip()
    return text.removesuffix(".0") if isinstance(value, float) else text


def conflicts(rows):
    """List values that tables report differently for the same row.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `check_tables`.

    Returns
    -------
    pandas.DataFrame
        One row per row name and measure with unlike values: row, measure, then one
        column per table (missing where a table does not report it), and spread.
    """
    found = []
    tables = list(dict.fromkeys(rows["table"]))
    for name, part in rows.groupby("row", sort=False):
        by_table = part.drop_duplicates("table").set_index("table")
        for measure in MEASURES:
            values = by_table[measure].dropna()
            spread = values.max() - values.min() if len(values) else 0.0
            if spread > _SLACK:
                line = {"row": name, "measure": measure}
                line |= {table: values.get(table) for table in tables}
                found.append(line | {"spread": spread})
    columns = ["row", "measure", *tables, "spread"]
    return pd.DataFrame(found, columns=columns)


def summary(rows):
    """Count impossible rows by table, with what chance alone would find.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `check_tables`.

    Returns
    -------
    pandas.DataFrame
        table, rows, impossible, if invented (how many would be impossible if values
        were drawn from the grid of their decimals), named (the impossible rows).
    """
    found = []
    for table, part in rows.groupby("table", sort=False):
        wrong = part["verdict"] == "impossible"
        found.append(
            {
                "table": table,
                "rows": len(part),
                "impossible": int(wrong.sum()),
                "if invented": float((1 - part["chance"]).sum()),
                "named": ", ".join(part.loc[wrong, "row"].astype(str)),
            }
        )
    return pd.DataFrame(found)


def mean_improvement(pairs, claimed, decimals=3):
    """Check a claimed mean relative improvement against the pairs it is a mean of.

    Parameters
    ----------
    pairs : dict of (float, float)
        Name to value and baseline, above 0.
    claimed : float
        Claimed mean of value / baseline - 1.
    decimals : int
        Of the claim.

    Returns
    -------
    dict
        ``each`` (improvement by name), ``mean``, ``ratio_of_means``, and ``agrees``:
        whether either rounds to the claim.
    """
    each = {name: a / b - 1 for name, (a, b) in pairs.items()}
    mean = sum(each.values()) / len(each)
    values = np.array(list(pairs.values()), dtype=float)
    ratio = float(values[:, 0].mean() / values[:, 1].mean() - 1)
    agrees = any(
        abs(x - claimed) <= 0.5 * 10.0**-decimals + _SLACK for x in (mean, ratio)
    )
    return {"each": each, "mean": mean, "ratio_of_means": ratio, "agrees": agrees}
