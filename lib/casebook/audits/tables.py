"""Whether reported accuracy, precision, recall and F1 can be true at all.

With n claims of which so many are positive there are finitely many confusion tables. A
row of reported values that none of them gives, however it is rounded, is impossible.
Every prediction is taken to be one of the two labels; where some are neither, accuracy
is still a whole number of n-ths, but precision, recall and F1 have more freedom.
"""

import math

import numpy as np
import pandas as pd

from casebook.audits.table_rows import DECIMALS, MEASURES, SLACK, check_row
from casebook.errors import InputError
from casebook.stats.intervals import wilson

PERCENT = 1.5  # median of a column from which its values are percent


def check_tables(rows, *, decimals=None, rounding="either"):
    """Check every row of reported tables, and rows of one name against each other."""
    found = []
    for table, part in rows.groupby("table", sort=False):
        values, places = _numbers(part, decimals)
        for place, (_, row) in enumerate(part.iterrows()):
            reported = {name: column[place] for name, column in values.items()}
            try:
                n, positives = (_whole(row[name], name) for name in ("n", "positives"))
                check = check_row(reported, n, positives, places, rounding)
            except InputError as error:
                raise InputError(f"{_where(row)}: {error}") from error
            found.append(_line(table, row["row"], n, positives, reported, check))
    return pd.DataFrame(found)


def _line(table, name, n, positives, reported, check):
    accuracy = reported.get("accuracy", math.nan)
    known = 0 <= accuracy <= 1
    interval = wilson(accuracy * n, n) if known else None
    low, high = check.implied["accuracy"] or (None, None)
    wrong = [
        measure if 0 <= reported[measure] <= 1 else f"{measure} outside 0 to 1"
        for measure, fits in check.alone.items()
        if not fits
    ]
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


def _where(row):
    """Name the file and line of a row, if it came from a file, its table and name."""
    line = row.get("line")
    place = f"{row.get('file')}:{line}: " if line else f"{row.get('file')}: "
    name = f"table {row['table']!r}, row {row['row']!r}"
    return f"{place}{name}" if row.get("file") else name


def _number(text):
    """Read a value as reported; blank is not reported."""
    number = float(text or "nan")
    if math.isinf(number):
        raise ValueError
    return number


def _numbers(part, decimals):
    """Give each measure's values in [0, 1] and the decimals of its column."""
    values, places = {}, {}
    for name in [measure for measure in MEASURES if measure in part]:
        texts = [_text(value) for value in part[name]]
        numbers = np.empty(len(texts))
        for place, text in enumerate(texts):
            try:
                numbers[place] = _number(text)
            except ValueError:
                shown = repr(text if len(text) <= 40 else f"{text[:40]}...")
                problem = f"{name} {shown} is not a number; leave it blank if not reported"
                raise InputError(f"{_where(part.iloc[place])}: {problem}") from None
        signed = np.array([str(value).strip().endswith("%") for value in part[name]])
        plain = numbers[~signed & ~np.isnan(numbers)]
        percent = signed | (len(plain) > 0 and np.median(plain) > PERCENT)
        values[name] = np.where(percent, numbers / 100, numbers)
        shown = [
            len(text.partition(".")[2]) + 2 * hundredth for text, hundredth in zip(texts, percent, strict=True) if text
        ]
        places[name] = min(max(shown, default=0), DECIMALS)
        if decimals is not None:
            places[name] = decimals
    return values, places


def _text(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = str(value).strip().removesuffix("%").strip()
    return text.removesuffix(".0") if isinstance(value, float) else text


def conflicts(rows):
    """List values that tables report differently for the same row."""
    found = []
    tables = list(dict.fromkeys(rows["table"]))
    for name, part in rows.groupby("row", sort=False):
        by_table = part.drop_duplicates("table").set_index("table")
        for measure in MEASURES:
            values = by_table[measure].dropna()
            spread = values.max() - values.min() if len(values) else 0.0
            if spread > SLACK:
                line = {"row": name, "measure": measure}
                line |= {table: values.get(table) for table in tables}
                found.append(line | {"spread": spread})
    columns = ["row", "measure", *tables, "spread"]
    return pd.DataFrame(found, columns=columns)


def summary(rows):
    """Count impossible rows by table, with what chance alone would find."""
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
    """Check a claimed mean relative improvement against the pairs it is a mean of."""
    each = {name: a / b - 1 for name, (a, b) in pairs.items()}
    mean = sum(each.values()) / len(each)
    values = np.array(list(pairs.values()), dtype=float)
    ratio = float(values[:, 0].mean() / values[:, 1].mean() - 1)
    agrees = any(abs(x - claimed) <= 0.5 * 10.0**-decimals + SLACK for x in (mean, ratio))
    return {"each": each, "mean": mean, "ratio_of_means": ratio, "agrees": agrees}
