"""Whether reported accuracy, precision, recall and F1, and reported means, can be true at all.

With n claims of which so many are positive there are finitely many confusion tables. A row of
reported values that none of them gives, however it is rounded, is impossible. Every prediction is
taken to be one of the two labels; where some are neither, accuracy is still a whole number of
n-ths, but precision, recall and F1 have more freedom. Likewise n ratings from 1 to 5 have finitely
many means (Brown and Heathers 2017).
"""

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from casebook.data.tables import read_table, records_of
from casebook.errors import InputError
from casebook.readers import parse_json, read_json
from casebook.stats.intervals import bounded, wilson
from casebook.stats.samples import check_choice

REPORTED_MEASURES = ("accuracy", "precision", "recall", "f1")
ROUNDINGS = ("either", "half", "down")
DECIMALS = 12  # the most; a float holds no more
MOST_CLAIMS = 5_000  # of one table; the enumeration grows with the square
ROUNDING_SLACK = 1e-9  # of comparisons of rounded values
MEAN_SCALES = {
    "1 to 5": (1, 2, 3, 4, 5),
    "0 or 1": (0, 1),
    "reciprocal rank to 10": (0, *(1 / rank for rank in range(1, 11))),
}
"""Values whose means are checked; reciprocal ranks only where there are a handful of questions."""
PERCENT = 1.5  # median of a column from which its values are percent
TABLE_COLUMNS = {"row", "table", "n", "positives", "file", "line", *REPORTED_MEASURES}


# --- one row ------------------------------------------------------------------


class RowCheck(NamedTuple):
    """What enumeration of all confusion tables says of one reported row."""

    possible: bool  # whether some table gives all values
    alone: dict  # {measure: whether some table gives its value by itself}
    tables: list  # the first ten tables (TP, FN, FP, TN) that give all
    n_tables: int
    implied: dict  # {measure: the range that the other values leave}
    chance: float  # share of value combinations of the same decimals that some table gives


def check_row(reported, n, positives, decimals=3, rounding="either"):
    """Check one row by enumerating all confusion tables."""
    if not isinstance(decimals, dict):
        decimals = dict.fromkeys(REPORTED_MEASURES, decimals)
    _check_choices(reported, n, positives, decimals, rounding)
    values = {}
    for measure, value in reported.items():
        if value is not None and not math.isnan(value):
            values[measure] = float(value)
    counts, measures = _confusion_tables(n, positives)
    fits = {}
    for measure, value in values.items():
        fits[measure] = _may_be(measures[measure], value, decimals[measure], rounding)
    implied = {}
    for measure in REPORTED_MEASURES:
        left = measures[measure][_all_fit(fits, len(counts[0]), but=measure)]
        implied[measure] = (float(left.min()), float(left.max())) if len(left) else None
    indices = np.flatnonzero(_all_fit(fits, len(counts[0])))
    examples = [column[indices[:10]].tolist() for column in counts]
    return RowCheck(
        possible=len(indices) > 0,
        alone={measure: bool(fit.any()) for measure, fit in fits.items()},
        tables=list(zip(*examples, strict=True)),
        n_tables=len(indices),
        implied=implied,
        chance=_chance({measure: measures[measure] for measure in values}, decimals),
    )


def _check_choices(reported, n, positives, decimals, rounding):
    for measure in reported:
        check_choice("measure", measure, REPORTED_MEASURES)
    check_choice("rounding", rounding, ROUNDINGS)
    if not 0 < n <= MOST_CLAIMS:
        raise InputError(f"n must lie between 1 and {MOST_CLAIMS:,}, not {n}")
    if not 0 <= positives <= n:
        raise InputError(f"{positives} positives of {n} claims are impossible")
    if not all(0 <= count <= DECIMALS for count in decimals.values()):
        raise InputError(f"decimals must lie between 0 and {DECIMALS}")


def _confusion_tables(n, positives):
    """Give the counts TP, FN, FP, TN of all tables of so many claims, and each measure of them."""
    tp, tn = (counts.ravel() for counts in np.indices((positives + 1, n - positives + 1)))
    fn = positives - tp
    fp = n - positives - tn
    measures = {
        "accuracy": (tp + tn) / n,
        "precision": tp / np.maximum(tp + fp, 1),
        "recall": tp / max(positives, 1),
        "f1": 2 * tp / np.maximum(2 * tp + fp + fn, 1),
    }
    return (tp, fn, fp, tn), measures


def _all_fit(fits, n_tables, but=None):
    """Say which tables fit all reported values, or all but that of one measure."""
    everything = np.ones(n_tables, bool)
    for measure, fit in fits.items():
        if measure != but:
            everything &= fit
    return everything


def _chance(measures, decimals):
    """Share of value combinations of the same decimals that some table gives."""
    if not measures:
        return 1.0
    steps = {measure: 10 ** decimals[measure] for measure in measures}
    rounded = [np.rint(values * steps[measure]) for measure, values in measures.items()]
    n_possible = len(np.unique(np.stack(rounded, axis=1), axis=0))
    return n_possible / math.prod(step + 1 for step in steps.values())


def _may_be(values, reported, decimals, rounding):
    """Say which values may have been reported as this one; ties go either way."""
    step = 10.0**-decimals
    nearest = np.abs(values - reported) <= step / 2 + ROUNDING_SLACK
    cut = (values >= reported - ROUNDING_SLACK) & (values < reported + step - ROUNDING_SLACK)
    return {"half": nearest, "down": cut, "either": nearest | cut}[rounding]


# --- tables ------------------------------------------------------------------


def check_tables(rows, *, decimals=None, rounding="either"):
    """Check every row of reported tables.

    Parameters
    ----------
    rows : pandas.DataFrame
        As `read_tables` gives them: ``table``, ``row``, ``n`` (claims), ``positives``, and any of
        accuracy, precision, recall and f1, as numbers or text. A value with a percent sign is
        percent, and so is a column of a table whose median lies above 1.5.
    decimals : int, optional
        Of all values, 0 to 12; else as many as the longest value of a column shows.
    rounding : {"either", "half", "down"}
        How values may have been rounded.

    Returns
    -------
    pandas.DataFrame
        The rows with ``verdict`` (possible, impossible), ``impossible alone`` (measures that no
        table gives even by themselves), the accuracy that the other values imply, ``n tables``,
        ``chance`` that an invented row would pass, and the interval of the reported accuracy, all
        in [0, 1].

    Raises
    ------
    InputError
        If a value is no number, or the counts are impossible; file and line are named.

    Examples
    --------
    >>> import pandas as pd
    >>> reported = pd.DataFrame({"table": "paper", "row": ["full", "bare"], "n": 10})
    >>> reported["positives"] = 5
    >>> found = check_tables(reported.assign(accuracy=["0.8", "0.85"]))
    >>> found[["row", "verdict", "impossible alone"]].values.tolist()
    [['full', 'possible', ''], ['bare', 'impossible', 'accuracy']]
    """
    checked = []
    for table, part in rows.groupby("table", sort=False):
        values = {}
        column_decimals = {}
        for measure in REPORTED_MEASURES:
            if measure in part:
                values[measure], column_decimals[measure] = _numbers(part, measure, decimals)
        for index, (_, row) in enumerate(part.iterrows()):
            reported = {measure: column[index] for measure, column in values.items()}
            try:
                n = _count(row["n"], "n")
                positives = _count(row["positives"], "positives")
                check = check_row(reported, n, positives, column_decimals, rounding)
            except InputError as error:
                raise InputError(f"{_where(row)}: {error}") from error
            name = {"table": table, "row": row["row"], "n": n, "positives": positives}
            checked.append(name | _checked_row(reported, check, n))
    return pd.DataFrame(checked)


def _checked_row(reported, check, n):
    reported = dict.fromkeys(REPORTED_MEASURES, math.nan) | reported
    accuracy = reported["accuracy"]
    interval = {"accuracy low": None, "accuracy high": None}
    if 0 <= accuracy <= 1:
        interval = bounded("accuracy", wilson(accuracy * n, n))
    implied_low, implied_high = check.implied["accuracy"] or (None, None)
    impossible_alone = []
    for measure, is_possible in check.alone.items():
        if is_possible:
            continue
        if 0 <= reported[measure] <= 1:
            impossible_alone.append(measure)
        else:
            impossible_alone.append(f"{measure} outside 0 to 1")
    return {
        **reported,
        "verdict": "possible" if check.possible else "impossible",
        "impossible alone": ", ".join(impossible_alone),
        "implied accuracy low": implied_low,
        "implied accuracy high": implied_high,
        "n tables": check.n_tables,
        "chance": check.chance,
        **interval,
    }


def _count(value, name):
    number = pd.to_numeric(value, errors="coerce")
    if not float(number).is_integer():
        raise InputError(f"{name} {value!r} is not a number of claims")
    return int(number)


def _where(row):
    """Name the file and line of a row, if it came from a file, its table and name."""
    name = f"table {row['table']!r}, row {row['row']!r}"
    line = f":{row['line']}" if row.get("line") else ""
    return f"{row['file']}{line}: {name}" if row.get("file") else name


def _numbers(part, measure, decimals):
    """Give a measure's values in [0, 1], NaN if not reported, and the decimals that they show."""
    cells = ["" if pd.isna(cell) else str(cell).strip() for cell in part[measure]]
    texts = [text.rstrip("% ") for text in cells]
    for index, cell in enumerate(part[measure]):
        if isinstance(cell, float) and cell.is_integer():
            # 80.0 as a number is 80; as text it has a decimal.
            texts[index] = cells[index].partition(".")[0]
    numbers = pd.to_numeric(pd.Series(texts, dtype=object).replace("", None), errors="coerce")
    numbers = numbers.to_numpy(float)
    for index, text in enumerate(texts):
        if text and not np.isfinite(numbers[index]):
            raise InputError(
                f"{_where(part.iloc[index])}: {measure} {text[:40]!r} is not a number; "
                "leave it blank if not reported"
            )
    has_sign = np.array([text.endswith("%") for text in cells])
    percent = has_sign | (pd.Series(numbers[~has_sign]).median() > PERCENT)
    if decimals is None:
        shown_decimals = [
            len(text.partition(".")[2]) + (2 if is_percent else 0)
            for text, is_percent in zip(texts, percent, strict=True)
            if text
        ]
        decimals = min(max(shown_decimals, default=0), DECIMALS)
    return np.where(percent, numbers / 100, numbers), decimals


def conflicting_values(rows):
    """List values that tables report differently for the same row."""
    differing = []
    tables = list(rows["table"].unique())
    for name, part in rows.groupby("row", sort=False):
        by_table = part.drop_duplicates("table").set_index("table")
        for measure in REPORTED_MEASURES:
            values = by_table[measure].dropna()
            spread = values.max() - values.min()
            if spread > ROUNDING_SLACK:
                conflict = {"row": name, "measure": measure}
                conflict |= {table: values.get(table) for table in tables}
                conflict["spread"] = spread
                differing.append(conflict)
    return pd.DataFrame(differing, columns=["row", "measure", *tables, "spread"])


def count_impossible(rows):
    """Count impossible rows by table, with what chance alone would find."""
    counts = []
    for table, part in rows.groupby("table", sort=False):
        impossible = part[part["verdict"] == "impossible"]
        counts.append(
            {
                "table": table,
                "rows": len(part),
                "impossible": len(impossible),
                "if invented": (1 - part["chance"]).sum(),
                "named": ", ".join(impossible["row"].astype(str)),
            }
        )
    return pd.DataFrame(counts)


def check_means(rows):
    """Check reported means of values from a known set.

    Parameters
    ----------
    rows : pandas.DataFrame
        ``mean`` (text, with the decimals that were reported), ``n`` (values) and ``values`` (a key
        of `MEAN_SCALES`).

    Returns
    -------
    pandas.DataFrame
        The rows with ``verdict`` (possible, impossible) and the ``nearest`` mean that n values can
        have.

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
        check_choice("values", row["values"], MEAN_SCALES)
        decimals = len(str(row["mean"]).partition(".")[2])
        means = _possible_means(int(row["n"]), MEAN_SCALES[row["values"]])
        mean = float(row["mean"])
        is_possible = _may_be(means, mean, decimals, "either").any()
        row["verdict"] = "possible" if is_possible else "impossible"
        row["nearest"] = float(means[np.abs(means - mean).argmin()])
        checks.append(row)
    return pd.DataFrame(checks)


@cache
def _possible_means(n, values):
    """Give all means that n values of a set can have."""
    sums = np.zeros(1)
    for _ in range(n):
        sums = np.unique(np.add.outer(sums, values).round(DECIMALS))
    return sums / n


def mean_improvement(pairs, claimed):
    """Check a claimed mean relative improvement against its pairs (value, baseline)."""
    values = pd.DataFrame(pairs, index=["value", "baseline"]).T
    improvements = values["value"] / values["baseline"] - 1
    mean = float(improvements.mean())
    ratio_of_means = float(values["value"].mean() / values["baseline"].mean() - 1)
    tolerance = 0.0005 + ROUNDING_SLACK  # claimed to three decimals
    return {
        "each": improvements.to_dict(),
        "mean": mean,
        "ratio_of_means": ratio_of_means,
        "agrees": min(abs(mean - claimed), abs(ratio_of_means - claimed)) <= tolerance,
    }


# --- files ------------------------------------------------------------------


def read_tables(path, n=None, positives=None):
    """Read reported rows from CSV or JSON: a list of rows, or an object of named tables."""
    path = Path(path)
    content = read_json(path) if path.suffix == ".json" else None
    if isinstance(content, dict):
        rows = _named_tables(path, content)
    else:
        table = read_table(path, parse=parse_json)
        rows = [record | {"line": line} for line, record in records_of(table)]
    frame = pd.DataFrame(rows).astype(object).assign(file=str(path))
    frame["table"] = _filled(frame, "table", path.stem)
    for name, default in {"n": n, "positives": positives}.items():
        column = _filled(frame, name, default)
        if default is not None and name in frame and column.equals(frame[name]):
            raise InputError(
                f"--{name} has no effect: every row of {path} has its own: leave it out"
            )
        frame[name] = column
    row_column = next((name for name in ("row", "config", "system", "name") if name in frame), None)
    if row_column is None or not set(REPORTED_MEASURES) & set(frame):
        lacks = "no column 'row'"
        if row_column:
            lacks = f"none of the columns {', '.join(REPORTED_MEASURES)}"
        raise InputError(
            f"{path}: {lacks}: it has {', '.join(frame.columns.drop(['table', 'file']))}"
        )
    frame = frame.rename(columns={row_column: "row"})
    for name in ("n", "positives"):
        without = frame["row"][frame[name].isna()]
        if len(without):
            raise InputError(
                f"{path}: row {without.iloc[0]!r} has no {name}: add a column, or give --{name}"
            )
    return frame


def _filled(frame, name, default):
    """Give a column with its gaps filled, or the default where there is no such column."""
    if name not in frame:
        return pd.Series(default, frame.index, object)
    column = frame[name]
    return column.where(column.notna() & (column != ""), default)


def _named_tables(path, content):
    tables = content.get("tables")
    columns = content.get("table_columns", ["row", *REPORTED_MEASURES])
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: has no object 'tables' of named tables")
    common = {"n": content.get("n"), "positives": None}
    for name in ("n_supported", "n_positive", "positives"):  # the last one counts most
        if name in content:
            common["positives"] = content[name]
    rows = []
    for table, lines in tables.items():
        for number, line in enumerate(lines, start=1):
            if not isinstance(line, list) or len(line) != len(columns):
                expected = f"the {len(columns)} values {', '.join(columns)}"
                raise InputError(f"{path}: table {table!r}, row {number} has not {expected}")
            rows.append(dict(zip(columns, line, strict=True)) | common | {"table": table})
    return rows
