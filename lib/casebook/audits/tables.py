"""Whether reported accuracy, precision, recall and F1, and reported means, can be true at all.

With n claims of which so many are positive there are finitely many confusion tables. A row of reported values that none
of them gives, however it is rounded, is impossible. Every prediction is taken to be one of the two labels; where some
are neither, accuracy is still a whole number of n-ths, but precision, recall and F1 have more freedom. Likewise n
ratings from 1 to 5 have finitely many means (Brown and Heathers 2017).
"""

import math
from collections import namedtuple
from functools import cache
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
SCALES = {
    "1 to 5": (1, 2, 3, 4, 5),
    "0 or 1": (0, 1),
    "reciprocal rank to 10": (0, *(1 / rank for rank in range(1, 11))),
}
"""Values whose means are checked; reciprocal ranks only where there are a handful of questions."""
PERCENT = 1.5  # median of a column from which its values are percent
COLUMNS = {"row", "table", "n", "positives", "file", "line", *MEASURES}


# --- one row ------------------------------------------------------------------


# What enumeration says of one reported row: whether some table gives it all; `alone`, which values some table gives by
# themselves; the first ten `tables` (TP, FN, FP, TN) that give all; the range of each measure `implied` by the others;
# and by `chance`, the share of value combinations on the grid of the same decimals that some table gives.
RowCheck = namedtuple("RowCheck", "possible alone tables n_tables implied chance")


def check_row(reported, n, positives, decimals=3, rounding="either"):
    """Check one row by enumerating all confusion tables."""
    for name in reported:
        check_choice("measure", name, MEASURES)
    check_choice("rounding", rounding, ROUNDINGS)
    places = decimals if isinstance(decimals, dict) else dict.fromkeys(MEASURES, decimals)
    limits = {
        f"n must lie between 1 and {LARGEST:,}, not {n}": 0 < n <= LARGEST,
        f"{positives} positives of {n} claims are impossible": 0 <= positives <= n,
        f"decimals must lie between 0 and {DECIMALS}": all(
            0 <= count <= DECIMALS for count in places.values()
        ),
    }
    for problem in (limit for limit, holds in limits.items() if not holds):
        raise InputError(problem)
    values = {
        name: float(value)
        for name, value in reported.items()
        if value is not None and not math.isnan(value)
    }
    tp, tn = (counts.ravel() for counts in np.indices((positives + 1, n - positives + 1)))
    fn, fp = positives - tp, n - positives - tn
    found = {
        "accuracy": (tp + tn) / n,
        "precision": tp / np.maximum(tp + fp, 1),
        "recall": tp / max(positives, 1),
        "f1": 2 * tp / np.maximum(2 * tp + fp + fn, 1),
    }
    fits = {
        name: _close(found[name], value, places[name], rounding) for name, value in values.items()
    }
    implied, every = {}, np.ones(len(tp), bool)
    for name in MEASURES:
        part = found[name][
            np.logical_and.reduce([every, *(fits[other] for other in fits if other != name)])
        ]
        implied[name] = (float(part.min()), float(part.max())) if len(part) else None
    rows = np.flatnonzero(np.logical_and.reduce([every, *fits.values()]))
    chance = 1.0
    if values:
        shown = np.stack([np.rint(found[name] * 10 ** places[name]) for name in values], axis=1)
        chance = len(np.unique(shown, axis=0)) / math.prod(
            10 ** places[name] + 1 for name in values
        )
    tables = [tuple(int(counts[row]) for counts in (tp, fn, fp, tn)) for row in rows[:10]]
    alone = {name: bool(fits[name].any()) for name in values}
    return RowCheck(bool(len(rows)), alone, tables, len(rows), implied, chance)


def _close(found, value, places, rounding):
    """Whether values may have been reported as this one; ties go either way."""
    step = 10.0**-places
    nearest = np.abs(found - value) <= step / 2 + SLACK
    cut = (found >= value - SLACK) & (found < value + step - SLACK)
    return {"half": nearest, "down": cut, "either": nearest | cut}[rounding]


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
        columns = {name: _numbers(part, name, decimals) for name in MEASURES if name in part}
        places = {name: shown for name, (_, shown) in columns.items()}
        for place, (_, row) in enumerate(part.iterrows()):
            reported = {name: values[place] for name, (values, _) in columns.items()}
            try:
                n, positives = (_whole(row[name], name) for name in ("n", "positives"))
                check = check_row(reported, n, positives, places, rounding)
            except InputError as error:
                raise InputError(f"{_where(row)}: {error}") from error
            counts = {"table": table, "row": row["row"], "n": n, "positives": positives}
            found.append(counts | _line(dict.fromkeys(MEASURES, math.nan) | reported, check, n))
    return pd.DataFrame(found)


def _line(reported, check, n):
    accuracy = reported["accuracy"]
    interval = wilson(accuracy * n, n) if 0 <= accuracy <= 1 else None
    low, high = check.implied["accuracy"] or (None, None)
    wrong = [
        measure if 0 <= reported[measure] <= 1 else f"{measure} outside 0 to 1"
        for measure, fits in check.alone.items()
        if not fits
    ]
    return {
        **reported,
        "verdict": "possible" if check.possible else "impossible",
        "impossible alone": ", ".join(wrong),
        "implied accuracy low": low,
        "implied accuracy high": high,
        "n tables": check.n_tables,
        "chance": check.chance,
        "accuracy low": interval and interval.low,
        "accuracy high": interval and interval.high,
    }


def _whole(value, name):
    number = pd.to_numeric(value, errors="coerce")
    if not float(number).is_integer():
        raise InputError(f"{name} {value!r} is not a number of claims")
    return int(number)


def _where(row):
    """Name the file and line of a row, if it came from a file, its table and name."""
    name = f"table {row['table']!r}, row {row['row']!r}"
    line = f":{row['line']}" if row.get("line") else ""
    return f"{row['file']}{line}: {name}" if row.get("file") else name


def _numbers(part, name, decimals):
    """Give a measure's values in [0, 1], NaN where it is not reported, and the decimals that its column shows."""
    cells = ["" if pd.isna(cell) else str(cell).strip() for cell in part[name]]
    # 80.0 as a number is 80; as text it has a decimal.
    whole = [isinstance(cell, float) and cell.is_integer() for cell in part[name]]
    texts = [
        text.partition(".")[0] if one else text.rstrip("% ")
        for text, one in zip(cells, whole, strict=True)
    ]
    numbers = pd.to_numeric(
        pd.Series(texts, dtype=object).replace("", None), errors="coerce"
    ).to_numpy(float)
    signed = np.array([text.endswith("%") for text in cells])
    for place in np.flatnonzero(np.array(texts, dtype=bool) & ~np.isfinite(numbers))[:1]:
        problem = f"{name} {texts[place][:40]!r} is not a number; leave it blank if not reported"
        raise InputError(f"{_where(part.iloc[place])}: {problem}")
    percent = signed | (pd.Series(numbers[~signed]).median() > PERCENT)
    shown = [
        len(text.partition(".")[2]) + 2 * hundred
        for text, hundred in zip(texts, percent, strict=True)
        if text
    ]
    places = min(max(shown, default=0), DECIMALS) if decimals is None else decimals
    return np.where(percent, numbers / 100, numbers), places


def conflicts(rows):
    """List values that tables report differently for the same row."""
    found, tables = [], list(rows["table"].unique())
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
    wrong = rows["verdict"] == "impossible"
    found = rows.assign(
        impossible=wrong, invented=1 - rows["chance"], named=rows["row"].astype(str).where(wrong)
    )
    found = found.groupby("table", sort=False).agg(
        rows=("row", "size"),
        impossible=("impossible", "sum"),
        invented=("invented", "sum"),
        named=("named", lambda names: ", ".join(names.dropna())),
    )
    return found.rename(columns={"invented": "if invented"}).reset_index()


def check_means(rows):
    """Check reported means of values from a known set.

    Parameters
    ----------
    rows : pandas.DataFrame
        ``mean`` (text, with the decimals that were reported), ``n`` (values) and ``values`` (a key of `SCALES`).

    Returns
    -------
    pandas.DataFrame
        The rows with ``verdict`` (possible, impossible) and the ``nearest`` mean that n values can have.

    Raises
    ------
    InputError
        If a scale is unknown.

    Examples
    --------
    >>> rows = pd.DataFrame({"mean": ["4.26", "4.25"], "n": 50, "values": "1 to 5"})
    >>> check_means(rows)["verdict"].tolist()
    ['possible', 'impossible']
    """
    checks = []
    for row in rows.to_dict("records"):
        check_choice("values", row["values"], SCALES)
        mean = float(row["mean"])
        decimals = len(str(row["mean"]).partition(".")[2])
        means = _possible_means(int(row["n"]), SCALES[row["values"]])
        possible = _close(means, mean, decimals, "either").any()
        nearest = means[np.abs(means - mean).argmin()]
        checks.append(
            row | {"verdict": "possible" if possible else "impossible", "nearest": float(nearest)}
        )
    return pd.DataFrame(checks)


@cache
def _possible_means(n, values):
    """All means that n values of a set can have."""
    sums = np.zeros(1)
    for _ in range(n):
        sums = np.unique(np.add.outer(sums, values).round(DECIMALS))
    return sums / n


def mean_improvement(pairs, claimed):
    """Check a claimed mean relative improvement against the pairs (value, baseline) it is a mean of."""
    values = pd.DataFrame(pairs, index=["value", "baseline"]).T
    each = values["value"] / values["baseline"] - 1
    ratio = float(values["value"].mean() / values["baseline"].mean() - 1)
    # Claimed to three decimals.
    agrees = any(abs(x - claimed) <= 0.0005 + SLACK for x in (each.mean(), ratio))
    return {
        "each": each.to_dict(),
        "mean": float(each.mean()),
        "ratio_of_means": ratio,
        "agrees": agrees,
    }


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
        filled = given.notna() & (given != "")
        if default is not None and name != "table" and filled.all():
            raise InputError(
                f"--{name} has no effect: every row of {path} has its own: leave it out"
            )
        frame[name] = given.where(filled, default)
    named = next((name for name in ("row", "config", "system", "name") if name in frame), None)
    if named is None or not set(MEASURES) & set(frame):
        lacks = f"none of the columns {', '.join(MEASURES)}" if named else "no column 'row'"
        raise InputError(
            f"{path}: {lacks}: it has {', '.join(frame.columns.drop(['table', 'file']))}"
        )
    frame = frame.rename(columns={named: "row"})
    for name in ("n", "positives"):
        without = frame["row"][frame[name].isna()]
        if len(without):
            raise InputError(
                f"{path}: row {without.iloc[0]!r} has no {name}: add a column, or give --{name}"
            )
    return frame


def _named_tables(path, content):
    tables, columns = content.get("tables"), content.get("table_columns", ["row", *MEASURES])
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: has no object 'tables' of named tables")
    known = [
        content[name] for name in ("positives", "n_positive", "n_supported") if name in content
    ]
    shared = {"n": content.get("n"), "positives": known[0] if known else None}
    rows = []
    for name, lines in tables.items():
        for number, line in enumerate(lines, start=1):
            if not isinstance(line, list) or len(line) != len(columns):
                expected = f"the {len(columns)} values {', '.join(columns)}"
                raise InputError(f"{path}: table {name!r}, row {number} has not {expected}")
            rows.append(dict(zip(columns, line, strict=True)) | shared | {"table": name})
    return rows
