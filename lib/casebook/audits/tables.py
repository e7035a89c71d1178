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

from casebook.data.tables import read_roles, read_table, refusal
from casebook.errors import InputError
from casebook.runs.headlines import HURTS, NO_DIFFERENCE
from casebook.runs.items import ALL_TEXTS, item_page
from casebook.scores import Scores
from casebook.stats.samples import check_choice
from casebook.verdicts import WORSE

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
POSSIBLE = "possible"
IMPOSSIBLE = "impossible"
MEASURE = "share of rows that some confusion matrix gives"


# --- one row


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
    _require_possible_counts(reported, n, positives, decimals, rounding)
    values = pd.Series(reported, dtype=float).dropna()
    counts, measures = _confusion_tables(n, positives)
    fits = pd.DataFrame(index=counts.index)
    for measure, value in values.items():
        fits[measure] = _may_be(measures[measure], value, decimals[measure], rounding)
    implied = {}
    for measure in REPORTED_MEASURES:
        left = measures.loc[fits.drop(columns=measure, errors="ignore").all(axis=1), measure]
        implied[measure] = (float(left.min()), float(left.max())) if len(left) else None
    giving = counts[fits.all(axis=1)]
    return RowCheck(
        possible=len(giving) > 0,
        alone=fits.any().to_dict(),
        tables=list(giving.head(10).itertuples(index=False, name=None)),
        n_tables=len(giving),
        implied=implied,
        chance=_chance(measures[list(values.index)], decimals),
    )


def _require_possible_counts(reported, n, positives, decimals, rounding):
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
    """Counts of all tables of so many claims, and the measures of each."""
    tp, tn = (counts.ravel() for counts in np.indices((positives + 1, n - positives + 1)))
    counts = pd.DataFrame({"tp": tp, "fn": positives - tp, "fp": n - positives - tn, "tn": tn})
    measures = pd.DataFrame(
        {
            "accuracy": (tp + tn) / n,
            "precision": tp / (tp + counts["fp"]).clip(lower=1),
            "recall": tp / max(positives, 1),
            "f1": 2 * tp / (2 * tp + counts["fp"] + counts["fn"]).clip(lower=1),
        }
    )
    return counts, measures


def _chance(measures, decimals):
    """Share of value combinations of the same decimals that some table gives."""
    steps = {measure: 10 ** decimals[measure] for measure in measures}
    rounded = (measures * pd.Series(steps, dtype=float)).round()
    n_possible = len(rounded.drop_duplicates()) if steps else 1
    return n_possible / math.prod(step + 1 for step in steps.values())


def _may_be(values, reported, decimals, rounding):
    """Which values may have been reported as this one; ties go either way."""
    step = 10.0**-decimals
    nearest = np.abs(values - reported) <= step / 2 + ROUNDING_SLACK
    cut = (values >= reported - ROUNDING_SLACK) & (values < reported + step - ROUNDING_SLACK)
    return {"half": nearest, "down": cut, "either": nearest | cut}[rounding]


# --- tables


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
        table gives even by themselves), the accuracy that the other values imply, ``n tables``, and
        the ``chance`` that an invented row would pass, in [0, 1].

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
    for _, part in rows.groupby("table", sort=False):
        values = {}
        shown = {}
        for measure in REPORTED_MEASURES:
            if measure in part:
                values[measure], shown[measure] = _numbers(part, measure, decimals)
        for index, row in part.iterrows():
            reported = {measure: column[index] for measure, column in values.items()}
            try:
                n = _count(row["n"], "n")
                positives = _count(row["positives"], "positives")
                check = check_row(reported, n, positives, shown, rounding)
            except InputError as error:
                raise InputError(f"{_where(row)}: {error}") from error
            name = {"table": row["table"], "row": row["row"], "n": n, "positives": positives}
            found = {"assumed": row.get("assumed") or "", **_verdict(reported, check)}
            checked.append(name | dict.fromkeys(REPORTED_MEASURES, math.nan) | reported | found)
    return pd.DataFrame(checked)


def _verdict(reported, check):
    """Columns of a row for what its check found."""
    alone = []
    for measure, is_possible in check.alone.items():
        if not is_possible:
            outside = "" if 0 <= reported[measure] <= 1 else " outside 0 to 1"
            alone.append(f"{measure}{outside}")
    low, high = check.implied["accuracy"] or (None, None)
    return {
        "verdict": POSSIBLE if check.possible else IMPOSSIBLE,
        "impossible alone": ", ".join(alone),
        "implied accuracy low": low,
        "implied accuracy high": high,
        "n tables": check.n_tables,
        "chance": check.chance,
    }


def _count(value, name):
    number = pd.to_numeric(value, errors="coerce")
    if not float(number).is_integer():
        raise InputError(f"{name} {value!r} is not a number of claims")
    return int(number)


def _where(row):
    return f"{row.get('where', 'rows')}: table {row['table']!r}, row {row['row']!r}"


def _numbers(part, measure, decimals):
    """A measure's values in [0, 1], NaN if not reported, and the decimals that they show."""
    # 80.0 as a number is 80; as text it has a decimal.
    cells = part[measure].map(lambda cell: f"{cell:.12g}" if isinstance(cell, float) else cell)
    texts = cells.mask(part[measure].isna(), "").astype(str).str.strip()
    bare = texts.str.rstrip("% ")
    numbers = pd.to_numeric(bare.mask(bare == ""), errors="coerce")
    for index in part.index[(bare != "") & ~np.isfinite(numbers)]:
        problem = f"{measure} {bare[index][:40]!r} is not a number; leave it blank if not reported"
        raise InputError(f"{_where(part.loc[index])}: {problem}")
    has_sign = texts.str.endswith("%")
    is_percent = has_sign | (numbers[~has_sign].median() > PERCENT)
    if decimals is None:
        shown = bare.str.partition(".")[2].str.len() + 2 * is_percent
        decimals = min(shown[bare != ""].max(), DECIMALS) if (bare != "").any() else 0
    return (numbers / 100).where(is_percent, numbers), decimals


def conflicting_values(rows):
    """Values that tables report differently for the same row."""
    values = rows.melt(["table", "row"], REPORTED_MEASURES, "measure").dropna()
    values = values.drop_duplicates(["table", "row", "measure"])
    by_table = values.pivot_table("value", ["row", "measure"], "table")
    spread = by_table.max(axis=1) - by_table.min(axis=1)
    conflicts = by_table.assign(spread=spread)[spread > ROUNDING_SLACK]
    return conflicts.reset_index().rename_axis(columns=None)


def count_impossible(rows):
    """Impossible rows by table, with what chance alone would find."""
    counts = []
    for table, part in rows.groupby("table", sort=False):
        impossible = part[part["verdict"] == IMPOSSIBLE]
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


def possible_shares(rows, dataset):
    """Share of possible rows by table, as rows of a chapter.

    They are all the rows that were reported, so there is no interval; the control is the share of
    invented rows that would pass.
    """
    assumed = rows["assumed"] != ""
    note = ""
    if assumed.any():
        stated = rows.loc[~assumed, "verdict"]
        reasons = "; ".join(rows.loc[assumed, "assumed"].unique())
        note = f"{assumed.sum()} rows are checked under an assumption ({reasons}). Without them "
        note += f"{(stated == IMPOSSIBLE).sum()} of {len(stated)} are impossible."
    shares = []
    for table, part in {"All reported rows": rows, **dict(list(rows.groupby("table")))}.items():
        possible = part["verdict"] == POSSIBLE
        share = {"system": table, "value": possible.mean(), "low": np.nan, "high": np.nan}
        share |= {"n": len(part), "control": part["chance"].mean(), "null": 1.0, "margin": 0.0}
        share["verdict"] = NO_DIFFERENCE if possible.all() else WORSE
        shares.append(share | {"reason": "all_rows_counted", "note": note})
        note = ""  # it is on all rows
    return Scores(pd.DataFrame(), MEASURE, dataset, unit="rows").described(pd.DataFrame(shares))


def words_of(row):
    """Words of the answer on the share of possible rows."""
    n_impossible = row["n"] * (1 - row["value"])
    return {
        "answers": {HURTS: "No", NO_DIFFERENCE: "Yes"},
        "words": {HURTS: "impossible rows", NO_DIFFERENCE: POSSIBLE},
        "meaning": f"No confusion matrix gives {n_impossible:.0f} of the {row['n']} rows.",
    }


def reported_items(rows):
    """Single rows that were checked, impossible ones first, for a page of their own."""
    rows = rows.sort_values("verdict", kind="stable").reset_index(drop=True)
    names = rows["table"] + ": " + rows["row"]
    again = names.groupby(names).cumcount()
    counts = (
        rows["n"].astype(str) + " claims, " + rows["positives"].astype(str) + " of them positive"
    )
    items = pd.DataFrame(
        {
            "id": names.where(again == 0, names + " (" + (again + 1).astype(str) + ")"),
            "text": "Reported of " + counts,
            "verdict": rows["verdict"],
            "assumed": rows["assumed"],
            "impossible by themselves": rows["impossible alone"],
            "accuracy that the other columns leave, least": rows["implied accuracy low"],
            "accuracy that the other columns leave, most": rows["implied accuracy high"],
            "confusion matrices that give the row": rows["n tables"],
            "chance that an invented row would pass": rows["chance"],
        }
    )
    items = items.join(rows[list(REPORTED_MEASURES)].add_prefix("reported "))
    items = items.join(pd.get_dummies(rows["verdict"]))
    items = items.join(pd.get_dummies(rows["table"], prefix="table", prefix_sep=": "))
    return item_page(items, noun="row", ready=[(IMPOSSIBLE, None, None)], shown=ALL_TEXTS)


# --- means


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
        row["verdict"] = POSSIBLE if is_possible else IMPOSSIBLE
        row["nearest"] = float(means[np.abs(means - mean).argmin()])
        checks.append(row)
    return pd.DataFrame(checks)


@cache
def _possible_means(n, values):
    """All means that n values of a set can have."""
    sums = np.zeros(1)
    for _ in range(n):
        sums = np.unique(np.add.outer(sums, values).round(DECIMALS))
    return sums / n


def mean_improvement(pairs, claimed):
    """Whether a claimed mean relative improvement is that of its pairs (value, baseline)."""
    values = pd.DataFrame(pairs, index=["value", "baseline"]).T
    mean = float((values["value"] / values["baseline"] - 1).mean())
    ratio_of_means = float(values["value"].mean() / values["baseline"].mean() - 1)
    tolerance = 0.0005 + ROUNDING_SLACK  # claimed to three decimals
    nearest = min(abs(mean - claimed), abs(ratio_of_means - claimed))
    return {"mean": mean, "ratio_of_means": ratio_of_means, "agrees": nearest <= tolerance}


# --- files


def read_tables(path, n=None, positives=None):
    """Reported rows of a table of any format; ``attrs["reading"]`` says what was read.

    Counts that the file lacks are given once; a blank ``table`` is the name of the file.
    """
    path = Path(path)
    table = read_table(path)
    given = {name: number for name, number in {"n": n, "positives": positives}.items() if number}
    needed = ["row", *({"n", "positives"} - set(given))]
    reading = read_roles(table, "reported", needed, hint=". Counts that it lacks: --n, --positives")
    for name in given:
        if name in reading:
            raise refusal(path, f"has a column {name}, so --{name} has no effect: leave it out")
    if not any(measure in reading for measure in REPORTED_MEASURES):
        raise refusal(path, f"has none of the columns {', '.join(REPORTED_MEASURES)}")
    rows = reading.table.assign(**given)
    names = rows["table"] if "table" in reading else pd.Series("", rows.index)
    rows["table"] = names.fillna("").replace("", path.stem)
    rows["where"] = [f"{path}:{line}" for line in rows.index]
    rows = rows.reset_index(drop=True)
    rows.attrs["reading"] = reading.record()
    return rows
