"""Whether reported accuracy, precision, recall and F1 can be true at all.

With n claims of which so many are positive there are finitely many confusion tables. A row of reported values that none
of them gives, however it is rounded, is impossible. Every prediction is taken to be one of the two labels; where some
are neither, accuracy is still a whole number of n-ths, but precision, recall and F1 have more freedom.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.readers import read_json, read_records
from casebook.stats.intervals import wilson
from casebook.stats.samples import check_choice

MEASURES = ("accuracy", "precision", "recall", "f1")
ROUNDINGS = ("either", "half", "down")
DECIMALS = 12  # the most; a float holds no more
LARGEST = 5_000  # claims of one table; the enumeration grows with the square
SLACK = 1e-9  # of comparisons of rounded values
PERCENT = 1.5  # median of a column from which its values are percent
COLUMNS = {"row", "table", "n", "positives", "file", "line", *MEASURES}


# --- one row ------------------------------------------------------------------


@dataclass(frozen=True)
class RowCheck:
    """What enumeration says of one reported row.

    `alone` tells which values some table gives by themselves, `tables` are the first ten (TP, FN, FP, TN) that give
    all, `implied` the range of each measure over the tables that give the others, `chance` the share of value
    combinations on the grid of the same decimals that some table gives.
    """

    possible: bool
    alone: dict
    tables: list
    n_tables: int
    implied: dict
    chance: float


def check_row(reported, n, positives, decimals=3, rounding="either"):
    """Check one row by enumerating all confusion tables."""
    if unknown := sorted(set(reported) - set(MEASURES)):
        raise InputError(f"unknown measure {unknown[0]!r}: choose from {', '.join(MEASURES)}")
    check_choice("rounding", rounding, ROUNDINGS)
    if not 0 < n <= LARGEST:
        raise InputError(f"n must lie between 1 and {LARGEST:,}, not {n}")
    if not 0 <= positives <= n:
        raise InputError(f"{positives} positives of {n} claims are impossible")
    places = decimals if isinstance(decimals, dict) else dict.fromkeys(MEASURES, decimals)
    for name, count in places.items():
        if not 0 <= count <= DECIMALS:
            raise InputError(f"decimals of {name} must lie between 0 and {DECIMALS}, not {count}")
    values = {name: float(value) for name, value in reported.items() if value is not None and not math.isnan(value)}
    tp, tn = (counts.ravel() for counts in np.indices((positives + 1, n - positives + 1)))
    fn, fp = positives - tp, n - positives - tn
    found = {
        "accuracy": (tp + tn) / n,
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
    }
    fits = {name: _close(found[name], value, places[name], rounding) for name, value in values.items()}
    implied = {}
    for name in MEASURES:
        others = [fit for other, fit in fits.items() if other != name]
        part = found[name][_all(others, len(tp))]
        implied[name] = (float(part.min()), float(part.max())) if len(part) else None
    rows = np.flatnonzero(_all(fits.values(), len(tp)))
    chance = 1.0
    if values:
        shown = np.stack([np.rint(found[name] * 10 ** places[name]) for name in values], axis=1)
        chance = len(np.unique(shown, axis=0)) / math.prod(10 ** places[name] + 1 for name in values)
    return RowCheck(
        possible=bool(len(rows)),
        alone={name: bool(fit.any()) for name, fit in fits.items()},
        tables=[tuple(int(counts[row]) for counts in (tp, fn, fp, tn)) for row in rows[:10]],
        n_tables=len(rows),
        implied=implied,
        chance=chance,
    )


def _ratio(above, below):
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _close(found, value, places, rounding):
    """Whether values may have been reported as this one; ties go either way."""
    step = 10.0**-places
    nearest = np.abs(found - value) <= step / 2 + SLACK
    cut = (found >= value - SLACK) & (found < value + step - SLACK)
    return {"half": nearest, "down": cut, "either": nearest | cut}[rounding]


def _all(fits, size):
    return np.logical_and.reduce([np.ones(size, bool), *fits])


# --- tables ------------------------------------------------------------------


def check_tables(rows, *, decimals=None, rounding="either"):
    """Check every row of reported tables.

    Parameters
    ----------
    rows : pandas.DataFrame
        As `read_tables` gives them: ``table``, ``row``, ``n`` (claims), ``positives``, and any of accuracy, precision,
        recall and f1, as numbers or text. A value with a percent sign is percent, and so is a column of a table whose
        median lies above 1.5.
    decimals : int, optional
        Of all values, 0 to 12; else as many as the longest value of a column shows.
    rounding : {"either", "half", "down"}
        How values may have been rounded.

    Returns
    -------
    pandas.DataFrame
        The rows with ``verdict`` (possible, impossible), ``impossible alone`` (measures that no table gives even by
        themselves), the accuracy that the other values imply, ``n tables``, ``chance`` that an invented row would pass,
        and the interval of the reported accuracy, all in [0, 1].

    Raises
    ------
    InputError
        If a value is no number, or the counts are impossible; file and line are named.

    Examples
    --------
    >>> import pandas as pd
    >>> reported = pd.DataFrame({"table": "paper", "row": ["full", "bare"], "n": 10, "positives": 5})
    >>> found = check_tables(reported.assign(accuracy=["0.8", "0.85"]))
    >>> found[["row", "verdict", "impossible alone"]].values.tolist()
    [['full', 'possible', ''], ['bare', 'impossible', 'accuracy']]
    """
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
            found.append(
                {"table": table, "row": row["row"], "n": n, "positives": positives, **_line(reported, check, n)}
            )
    return pd.DataFrame(found)


def _line(reported, check, n):
    accuracy = reported.get("accuracy", math.nan)
    interval = wilson(accuracy * n, n) if 0 <= accuracy <= 1 else None
    low, high = check.implied["accuracy"] or (None, None)
    wrong = [
        measure if 0 <= reported[measure] <= 1 else f"{measure} outside 0 to 1"
        for measure, fits in check.alone.items()
        if not fits
    ]
    return {
        **{measure: reported.get(measure, math.nan) for measure in MEASURES},
        "verdict": "possible" if check.possible else "impossible",
        "impossible alone": ", ".join(wrong),
        "implied accuracy low": low,
        "implied accuracy high": high,
        "n tables": check.n_tables,
        "chance": check.chance,
        "accuracy low": interval.low if interval else None,
        "accuracy high": interval.high if interval else None,
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
    name = f"table {row['table']!r}, row {row['row']!r}"
    line = f":{row['line']}" if row.get("line") else ""
    return f"{row['file']}{line}: {name}" if row.get("file") else name


def _numbers(part, decimals):
    """Give each measure's values in [0, 1] and the decimals of its column."""
    values, places = {}, {}
    for name in [measure for measure in MEASURES if measure in part]:
        texts = [_text(value) for value in part[name]]
        numbers = pd.to_numeric(pd.Series(texts, dtype=object).replace("", None), errors="coerce").to_numpy(float)
        blank = np.array([not text for text in texts])  # is not reported
        for place in np.flatnonzero(~blank & ~np.isfinite(numbers))[:1]:
            shown = repr(texts[place] if len(texts[place]) <= 40 else f"{texts[place][:40]}...")
            problem = f"{name} {shown} is not a number; leave it blank if not reported"
            raise InputError(f"{_where(part.iloc[place])}: {problem}")
        signed = np.array([str(value).strip().endswith("%") for value in part[name]])
        plain = numbers[~signed & ~blank]
        percent = signed | (len(plain) > 0 and np.median(plain) > PERCENT)
        values[name] = np.where(percent, numbers / 100, numbers)
        shown = [
            len(text.partition(".")[2]) + 2 * hundred for text, hundred in zip(texts, percent, strict=True) if text
        ]
        places[name] = min(max(shown, default=0), DECIMALS) if decimals is None else decimals
    return values, places


def _text(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = str(value).strip().removesuffix("%").strip()
    return text.removesuffix(".0") if isinstance(value, float) else text


def conflicts(rows):
    """List values that tables report differently for the same row."""
    found, tables = [], list(dict.fromkeys(rows["table"]))
    for name, part in rows.groupby("row", sort=False):
        by_table = part.drop_duplicates("table").set_index("table")
        for measure in MEASURES:
            values = by_table[measure].dropna()
            if len(values) and (spread := values.max() - values.min()) > SLACK:
                given = {table: values.get(table) for table in tables}
                found.append({"row": name, "measure": measure} | given | {"spread": spread})
    return pd.DataFrame(found, columns=["row", "measure", *tables, "spread"])


def summary(rows):
    """Count impossible rows by table, with what chance alone would find."""
    found = []
    for table, part in rows.groupby("table", sort=False):
        wrong = part["verdict"] == "impossible"
        row = {"table": table, "rows": len(part), "impossible": int(wrong.sum())}
        row |= {
            "if invented": float((1 - part["chance"]).sum()),
            "named": ", ".join(part.loc[wrong, "row"].astype(str)),
        }
        found.append(row)
    return pd.DataFrame(found)


def mean_improvement(pairs, claimed, decimals=3):
    """Check a claimed mean relative improvement against the pairs (value, baseline) it is a mean of."""
    values = pd.DataFrame(pairs, index=["value", "baseline"]).T
    each = values["value"] / values["baseline"] - 1
    ratio = float(values["value"].mean() / values["baseline"].mean() - 1)
    agrees = any(abs(x - claimed) <= 0.5 * 10.0**-decimals + SLACK for x in (each.mean(), ratio))
    return {"each": each.to_dict(), "mean": float(each.mean()), "ratio_of_means": ratio, "agrees": agrees}


# --- files ------------------------------------------------------------------


def read_tables(path, n=None, positives=None):
    """Read reported rows from CSV or JSON: a list of rows, or an object of named tables."""
    path = Path(path)
    whole = read_json(path) if path.suffix == ".json" else None
    if isinstance(whole, dict):
        rows = _named_tables(path, whole)
    else:
        rows = [record | {"line": line} for line, record in read_records(path)[0]]
    frame = pd.DataFrame(rows).astype(object).assign(file=str(path))
    for name, default in (("table", path.stem), ("n", n), ("positives", positives)):
        given = frame[name] if name in frame else pd.Series(None, frame.index, object)
        frame[name] = given.where(given.notna() & (given != ""), default)
    if "row" not in frame:
        first = next((name for name in ("config", "system", "name") if name in frame), None)
        if first is None:
            found = [name for name in frame if name not in COLUMNS - set(MEASURES)]
            raise InputError(f"{path}: no column 'row': it has {', '.join(found)}")
        frame = frame.rename(columns={first: "row"})
    if not set(MEASURES) & set(frame):
        raise InputError(f"{path}: none of the columns {', '.join(MEASURES)}")
    for name in ("n", "positives"):
        without = frame["row"][frame[name].isna()]
        if len(without):
            raise InputError(f"{path}: row {without.iloc[0]!r} has no {name}: add a column, or give --{name}")
    return frame


def _named_tables(path, content):
    tables = content.get("tables")
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: has no object 'tables' of named tables")
    columns = content.get("table_columns", ["row", *MEASURES])
    known = [content[name] for name in ("positives", "n_positive", "n_supported") if name in content]
    shared = {"n": content.get("n"), "positives": known[0] if known else None}
    rows = []
    for name, lines in tables.items():
        for number, line in enumerate(lines, start=1):
            if not isinstance(line, list) or len(line) != len(columns):
                raise InputError(
                    f"{path}: table {name!r}, row {number} has not the {len(columns)} values {', '.join(columns)}"
                )
            rows.append(dict(zip(columns, line, strict=True)) | shared | {"table": name})
    return rows
