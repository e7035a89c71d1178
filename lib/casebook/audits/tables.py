"""Whether reported accuracy, precision, recall and F1, and reported means, can be true at all.

With n claims of which so many are positive there are finitely many confusion tables. A row of
reported values that none of them gives, however it is rounded, is impossible. Every prediction is
taken to be one of the two labels; where some are neither, accuracy is still a whole number of
n-ths, but precision, recall and F1 have more freedom. Likewise n ratings from 1 to 5 have finitely
many means (Brown and Heathers 2017).
"""

import math
from collections import namedtuple
from functools import lru_cache
from pathlib import Path

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
DECIMALS = 12  # the most; a float holds no more
MOST_CLAIMS = 5_000  # of one table; the enumeration grows with the square
ROUNDING_SLACK = 1e-9  # of comparisons of rounded values
MEAN_SCALES = {
    "1 to 5": (1, 2, 3, 4, 5),
    "0 or 1": (0, 1),
    "reciprocal rank to 10": (0, *(1 / rank for rank in range(1, 11))),
}
"""Values whose means are checked; reciprocal ranks only where there are a handful of questions."""
POSSIBLE = "possible"
IMPOSSIBLE = "impossible"
MEASURE = "share of rows that some confusion matrix gives"


# --- one row


#: What the confusion tables say of one reported row: whether some table gives all its values; by
#: measure, whether some table gives it alone; from and to which accuracy the other values leave;
#: and the share of value combinations of the same decimals that some table gives.
RowCheck = namedtuple("RowCheck", "possible alone implied chance")


def check_row(reported, n, positives, decimals=3):
    """Check one row by enumerating all confusion tables; values are rounded or cut."""
    if n not in range(1, MOST_CLAIMS + 1):
        raise InputError(
            f"n must be a whole number between 1 and {MOST_CLAIMS:,}, not {n:g}"
        )
    if positives not in range(int(n) + 1):
        raise InputError(f"{positives:g} positives of {n:g} claims are impossible")
    decimals = pd.Series(decimals, list(REPORTED_MEASURES))
    values = pd.Series(reported, dtype=float).dropna()
    measures = _measures_of_tables(int(n), int(positives))
    fits = {}
    for name, value in values.items():
        fits[name] = _may_be(measures[name].to_numpy(), value, decimals[name])
    fits = pd.DataFrame(fits, index=measures.index)
    others = fits.drop(columns="accuracy", errors="ignore")
    accuracies = measures["accuracy"][others.all(axis=1)]
    possible = bool(fits.all(axis=1).any())
    alone = fits.any().to_dict()
    implied = float(accuracies.min()), float(accuracies.max())
    return RowCheck(
        possible, alone, implied, _chance(measures[list(values.index)], decimals)
    )


@lru_cache(maxsize=1)  # of many claims it is large; rows of one table have as many
def _measures_of_tables(n, positives):
    """Measures of every confusion table of so many claims."""
    tp, tn = (
        counts.ravel() for counts in np.indices((positives + 1, n - positives + 1))
    )
    fn = positives - tp
    fp = n - positives - tn
    measures = pd.DataFrame({"accuracy": (tp + tn) / n})
    measures["precision"] = tp / (tp + fp).clip(1)
    measures["recall"] = tp / max(positives, 1)
    measures["f1"] = 2 * tp / (2 * tp + fp + fn).clip(1)
    return measures


def _chance(measures, decimals):
    """Share of value combinations of the same decimals that some table gives."""
    steps = 10.0 ** decimals[list(measures)].to_numpy()
    rounded = (measures.to_numpy() * steps).round().tolist()
    return max(len(set(map(tuple, rounded))), 1) / (steps + 1).prod()


def _may_be(values, reported, decimals):
    """Which values may have been rounded or cut to this one; ties go either way."""
    step = 10.0**-decimals
    is_nearest = np.abs(values - reported) <= step / 2 + ROUNDING_SLACK
    is_cut = (values >= reported - ROUNDING_SLACK) & (
        values < reported + step - ROUNDING_SLACK
    )
    return is_nearest | is_cut


# --- tables


def check_tables(rows):
    """Check every row of reported tables.

    Parameters
    ----------
    rows : pandas.DataFrame
        As `read_tables` gives them: ``table``, ``row``, ``n`` (claims), ``positives``, and any of
        accuracy, precision, recall and f1, as text. A value with a percent sign is percent, and so
        is a column of a table whose median lies above 1.5. The longest value of a column shows its
        decimals.

    Returns
    -------
    pandas.DataFrame
        The rows with ``verdict`` (possible, impossible), ``impossible alone`` (measures that no
        table gives even by themselves), the accuracy that the other values imply, and the
        ``chance`` that an invented row would pass, in [0, 1].

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
        measures = part.columns.intersection(REPORTED_MEASURES)
        shown = {measure: _numbers(part, measure) for measure in measures}
        decimals = {measure: places for measure, (_, places) in shown.items()}
        for index, row in part.iterrows():
            reported = {
                measure: values[index] for measure, (values, _) in shown.items()
            }
            try:
                check = check_row(reported, row["n"], row["positives"], decimals)
            except InputError as error:
                raise InputError(f"{_where(row)}: {error}") from error
            known = row[["table", "row", "n", "positives"]].to_dict()
            known |= dict.fromkeys(REPORTED_MEASURES, math.nan) | reported
            known["assumed"] = row.get("assumed") or ""
            known["verdict"] = POSSIBLE if check.possible else IMPOSSIBLE
            alone = [
                measure
                for measure, is_possible in check.alone.items()
                if not is_possible
            ]
            known["impossible alone"] = ", ".join(alone)
            known["implied accuracy low"], known["implied accuracy high"] = (
                check.implied
            )
            checked.append(known | {"chance": check.chance})
    return pd.DataFrame(checked).astype({"n": int, "positives": int})


def _where(row):
    return f"{row.get('where', 'rows')}: table {row['table']!r}, row {row['row']!r}"


def _numbers(part, measure):
    """A measure's values in [0, 1], NaN if not reported, and the decimals that they show."""
    texts = part[measure].astype(object).fillna("").astype(str).str.strip()
    bare = texts.str.rstrip("% ")
    shown = bare[bare != ""]
    numbers = pd.to_numeric(shown, errors="coerce")
    for index in shown.index[~np.isfinite(numbers)]:
        problem = f"{measure} {shown[index][:40]!r} is not a number; leave it blank if not reported"
        raise InputError(f"{_where(part.loc[index])}: {problem}")
    has_sign = texts.str.endswith("%")[shown.index]
    # A median above it is one of percentages.
    is_percent = has_sign | (numbers[~has_sign].median() > 1.5)
    places = shown.map(lambda text: len(text.partition(".")[2]))
    decimals = places + 2 * is_percent
    values = numbers.where(~is_percent, numbers / 100)
    return values.reindex(part.index), min(decimals.max(), DECIMALS)


def count_impossible(rows):
    """Impossible rows by table, with what chance alone would find."""
    is_impossible = rows["verdict"] == IMPOSSIBLE
    counted = {"impossible": is_impossible, "if invented": 1 - rows["chance"]}
    counted |= {"named": rows["row"].astype(str).where(is_impossible)}
    by_table = rows.assign(rows=1, **counted).groupby("table", sort=False)
    counts = by_table[["rows", "impossible", "if invented"]].sum()
    counts["named"] = by_table["named"].agg(lambda names: ", ".join(names.dropna()))
    return counts.reset_index()


def possible_shares(rows, dataset):
    """Share of possible rows by table, as rows of a chapter.

    They are all the rows that were reported, so there is no interval; the control is the share of
    invented rows that would pass.
    """
    sorted_rows = rows.sort_values("table", kind="stable")
    all_rows = rows.assign(table="All reported rows")
    counts = count_impossible(pd.concat([all_rows, sorted_rows]))
    n = counts["rows"]
    shares = pd.DataFrame({"system": counts["table"], "n": n})
    shares["value"] = 1 - counts["impossible"] / n
    shares["control"] = 1 - counts["if invented"] / n
    shares["verdict"] = np.where(shares["value"] == 1, NO_DIFFERENCE, WORSE)
    shares = shares.assign(low=np.nan, high=np.nan, null=1.0, margin=0.0)
    shares["reason"] = "all_rows_counted"
    # It is about all rows.
    shares["note"] = [_assumptions(rows), *[""] * (len(shares) - 1)]
    return Scores(pd.DataFrame(), MEASURE, dataset, unit="rows").described(shares)


def _assumptions(rows):
    assumed = rows[rows["assumed"] != ""]
    stated = rows.drop(assumed.index)["verdict"]
    n_impossible = sum(stated == IMPOSSIBLE)
    reasons = "; ".join(assumed["assumed"].unique())
    checked = f"{len(assumed)} rows are checked under an assumption ({reasons})."
    without = f"Without them {n_impossible} of {len(stated)} are impossible."
    return f"{checked} {without}" if reasons else ""


def words_of(row):
    """Words of the answer on the share of possible rows."""
    n_impossible = row["n"] * (1 - row["value"])
    return {
        "answers": {HURTS: "No", NO_DIFFERENCE: "Yes"},
        "words": {HURTS: "impossible rows", NO_DIFFERENCE: POSSIBLE},
        "meaning": f"{n_impossible:.0f} of the {row['n']} rows fit no possible confusion matrix.",
    }


def reported_items(rows):
    """Single rows that were checked, impossible ones first, for a page of their own."""
    items = rows.sort_values("verdict", kind="stable").reset_index(drop=True)
    names = items["table"] + ": " + items["row"]
    again = names.groupby(names).cumcount() + 1
    counted = names + " (" + again.astype(str) + ")"
    items.insert(0, "id", names.where(again == 1, counted))
    items["text"] = "Reported of " + items["n"].astype(str) + " claims"
    for verdict in items["verdict"].unique():
        items[verdict] = items["verdict"] == verdict
    return item_page(
        items, noun="row", ready=[(IMPOSSIBLE, None, None)], shown=ALL_TEXTS
    )


# --- means


def check_mean(shown, n, scale):
    """Verdict on a reported mean of n values, a text with its decimals, of one of `MEAN_SCALES`."""
    check_choice("scale", scale, MEAN_SCALES)
    sums = np.zeros(1)
    for _ in range(n):
        sums = np.unique(np.add.outer(sums, MEAN_SCALES[scale]).round(DECIMALS))
    decimals = len(shown.partition(".")[2])
    is_possible = _may_be(sums / n, float(shown), decimals).any()
    return POSSIBLE if is_possible else IMPOSSIBLE


# --- files


def read_tables(path, n=None, positives=None):
    """Reported rows of a table of any format; ``attrs["reading"]`` says what was read.

    Counts that the file lacks are given once; a blank ``table`` is the name of the file.
    """
    path = Path(path)
    table = read_table(path)
    counts = {"n": n, "positives": positives}
    given = {name: count for name, count in counts.items() if count}
    needed = ["row", *(counts.keys() - given.keys())]
    hint = ". Counts that it lacks: --n, --positives"
    reading = read_roles(
        table, "reported", needed, dict.fromkeys(given, "-"), hint=hint
    )
    if reading.columns.keys().isdisjoint(REPORTED_MEASURES):
        raise refusal(path, f"has none of the columns {', '.join(REPORTED_MEASURES)}")
    rows = reading.table.assign(where=[f"{path}:{line}" for line in table.index])
    for name in counts.keys() - given.keys():
        rows[name] = reading.numbers(name)
    rows = rows.assign(**given, table=reading.cells("table").replace("", path.stem))
    rows = rows.reset_index(drop=True)
    rows.attrs["reading"] = reading.record()
    return rows
