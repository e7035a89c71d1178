"""Reported tables checked, and what the check finds among rows of known making."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.audits.table_files import read_tables
from casebook.audits.table_rows import MEASURES, check_row
from casebook.audits.tables import check_tables, summary
from casebook.datasets.sources import MIRROR_VARIABLE
from casebook.inference.proportions import wilson
from casebook.inference.samples import stream
from casebook.tables import bullets

SIZES = (10, 20, 50, 100, 200)
TRUE = "true rows"
ALTERED, ALONE = "accuracy altered, all four reported", "altered accuracy alone"


def check_reported(names, decimals=None):
    """Check the reported tables of files of the dataset mirror."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    paths = {name: Path(mirror) / name if mirror else None for name in names}
    absent = [name for name, path in paths.items() if not path or not path.is_file()]
    frames = [check_tables(read_tables(path), decimals=decimals) for name, path in paths.items() if name not in absent]
    return (pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()), absent


def known_rows(sizes=SIZES, repeats=200, positive_share=0.8, seed=0):
    """Flag rows of known making: true ones, and ones whose accuracy was altered."""
    rng = np.random.Generator(stream(seed, "known rows of tables"))
    found = []
    for n in sizes:
        positives = round(positive_share * n)
        flagged = {TRUE: 0, ALTERED: 0, ALONE: 0}
        for _ in range(repeats):
            row = _true_row(n, positives, rng)
            flagged[TRUE] += not check_row(row, n, positives).possible
            row["accuracy"] = _altered(row["accuracy"], rng)
            flagged[ALTERED] += not check_row(row, n, positives).possible
            alone = {"accuracy": round(row["accuracy"], 2)}
            flagged[ALONE] += not check_row(alone, n, positives, 2).possible
        for kind, count in flagged.items():
            share = wilson(count, repeats)
            found.append(
                {
                    "row": f"{n} claims",
                    "series": kind,
                    "value": share.estimate,
                    "low": share.low,
                    "high": share.high,
                    "n": repeats,
                }
            )
    return pd.DataFrame(found)


def _true_row(n, positives, rng):
    tp = rng.binomial(positives, rng.uniform(0.4, 0.95))
    tn = rng.binomial(n - positives, rng.uniform(0.4, 0.95))
    fp, fn = n - positives - tn, positives - tp
    values = (
        (tp + tn) / n,
        tp / (tp + fp) if tp + fp else 0.0,
        tp / positives if positives else 0.0,
        2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0,
    )
    return {m: round(float(v), 3) for m, v in zip(MEASURES, values, strict=True)}


def _altered(accuracy, rng):
    step = float(rng.integers(1, 10)) / 100 * rng.choice([-1, 1])
    inside = 0 <= accuracy + step <= 1
    return round(accuracy + (step if inside else -step), 3)


def table_answer(rows, absent, control):
    """Say which tables hold impossible rows, and how far to trust the check."""
    lines = []
    for part in summary(rows).to_dict("records") if len(rows) else []:
        named = f": {part['named']}" if part["named"] else ""
        lines.append(f"{part['table']}: {part['impossible']} of {part['rows']} rows are impossible{named}.")
    lines += [f"{name} is not on this machine." for name in absent]
    false = control[control["series"] == TRUE]["value"].max()
    caught = control[control["series"] == ALONE].set_index("row")["value"]
    lines.append(
        f"Of rows of known making {false:.1%} of the true ones are flagged; of altered "
        f"accuracies, without the other three, {caught.iloc[0]:.1%} at "
        f"{caught.index[0]} and {caught.iloc[-1]:.1%} at {caught.index[-1]}."
    )
    return bullets(lines)


def accuracy_rows(rows):
    """Set the accuracy of impossible rows beside what their other values imply."""
    found = []
    wrong = rows[rows["verdict"] == "impossible"] if len(rows) else rows
    for row in wrong.to_dict("records"):
        name = f"{row['table']}: {row['row']}"
        bounds = row["accuracy low"], row["accuracy high"]
        found.append((name, "reported", row["accuracy"], *bounds))
        low, high = row["implied accuracy low"], row["implied accuracy high"]
        if low is not None and low == low:
            found.append((name, "implied by the others", (low + high) / 2, low, high))
    return pd.DataFrame(found, columns=["row", "series", "value", "low", "high"])


def table_numbers(rows, control):
    """Give the share of impossible rows by table for ``numbers.json``."""
    false = float(control[control["series"] == TRUE]["value"].max())
    found = {}
    for part in summary(rows).to_dict("records") if len(rows) else []:
        share = wilson(part["impossible"], part["rows"])
        number = {"impossible": share.number(false)}
        found[part["table"]] = {"reported table": number}
    return found
