"""The documented analysis, reproduced line by line: for parity, not for conclusions.

What it leaves out stands beside it in `casebook.raters.analysis`: votes of one item
are dependent, ties carry information, and a mean or a kappa without an interval says
little.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.inference.sign_tests import documented_sign_test
from casebook.raters.documented import BASE, RAG
from casebook.raters.grids import read_book
from casebook.raters.unblinding import SIDE_COLUMN

PER_RATER = "Pairwise preference (per rater, per-row RAG mapping)"
AGGREGATE = "Pairwise preference (aggregate, per-row mapping)"
RATINGS = "Mean ratings (aggregate, RAG vs BASE)"
AGREEMENT = "Inter-rater agreement on common prompts"
RATINGS_PER_RATER = "Mean ratings (per rater, RAG vs BASE)"
_OTHER = {"S1": "S2", "S2": "S1"}
_SCALES = ("factuality", "usefulness")


def read_records(paths, side_column=None, *, last_column=False):
    """Read the first sheet of each form as the documented analysis does.

    Parameters
    ----------
    paths : sequence of path-like
        Forms in the documented layout.
    side_column : str, optional
        Column of the key; ``_rag_side_for_analysis`` by default.
    last_column : bool
        Take the last column where there is none of that name.

    Returns
    -------
    list of (str, list of dict)
        Base name of each file and its rows, with ``side`` for the key.

    Raises
    ------
    InputError
        If a form cannot be read or has no key column.
    """
    return [_records(Path(p), side_column or SIDE_COLUMN, last_column) for p in paths]


def _records(path, side_column, last_column):
    grid = read_book(path).grids[0]
    if not grid.rows:
        raise InputError(f"{path}: sheet {grid.name!r} is empty")
    (_, head), *rows = sorted(grid.rows.items())
    names = [str(name).strip() if name is not None else "" for name in head]
    if side_column not in names and not last_column:
        raise InputError(
            f"{path}: no key column {side_column!r}: name it with --side-col, or allow "
            "the last column with --last-column"
        )
    key = names.index(side_column) if side_column in names else len(names) - 1
    records = []
    for _, cells in rows:
        padded = [*cells, *[None] * (len(names) - len(cells))]
        record = dict(zip(names, padded, strict=False))
        records.append(record | {"side": padded[key]})
    return path.name, records


def records_of(votes, suffix=""):
    """Give unblinded votes in the form that the documented analysis reads.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        Votes of two systems.
    suffix : str
        Added to the raters' labels, to give the documented file names.

    Returns
    -------
    list of (str, list of dict)
        As `read_records`; the focus system stands for RAG.
    """
    found = []
    for rater in votes.raters:
        part = votes.frame[votes.frame["rater"] == rater].to_dict("records")
        rows = []
        for row in part:
            side = {row["left"]: "S1", row["right"]: "S2"}.get(votes.focus)
            scores = {
                f"{scale}_{column}": row[f"{scale}_{place}"]
                for scale in _SCALES
                for column, place in (("s1", "left"), ("s2", "right"))
            }
            known = {"prompt_text": row["item_id"], "preferred": row["preferred"]}
            rows.append(known | scores | {"side": side})
        found.append((f"{rater}{suffix}", rows))
    return found


def documented_analysis(forms):
    """Compute everything that the document prints, under its keys.

    Parameters
    ----------
    forms : list of (str, list of dict)
        From `read_records` or `records_of`.

    Returns
    -------
    dict
        Heading of each printed section to its numbers, rounded as printed. A number
        that the document would print as nan is None.
    """
    every = [row for _, rows in forms for row in rows]
    return {
        PER_RATER: {name: _preferences(rows) for name, rows in forms},
        AGGREGATE: _preferences(every),
        RATINGS: _ratings(every),
        AGREEMENT: _agreement(forms),
        RATINGS_PER_RATER: {name: _ratings(rows) for name, rows in forms},
    }


def _stripped(value):
    return value.strip() if isinstance(value, str) else value


def _label(row):
    """Give RAG, BASE or Tie; None if key or preference is not as documented."""
    side, preferred = _stripped(row["side"]), _stripped(row.get("preferred"))
    if side not in _OTHER or preferred not in {*_OTHER, "Tie"}:
        return None
    if preferred == "Tie":
        return "Tie"
    return RAG if preferred == side else BASE


def _preferences(rows):
    counts = Counter(_label(row) for row in rows)
    wins, losses = counts[RAG], counts[BASE]
    return {
        "rag_wins": wins,
        "rag_losses": losses,
        "ties": counts["Tie"],
        "n_effective": wins + losses,
        "p_value_sign_test": documented_sign_test(wins, losses),
        "unmapped_or_missing": counts[None],
    }


def _ratings(rows):
    """Mean ratings; a cell that is no number drops what comes after it in its row."""
    found = {(s, scale): [] for s in (RAG, BASE) for scale in _SCALES}
    for row in rows:
        side = _stripped(row["side"])
        if side not in _OTHER:
            continue
        columns = {RAG: side.lower(), BASE: _OTHER[side].lower()}
        try:
            for system, column in columns.items():
                for scale in _SCALES:
                    value = row.get(f"{scale}_{column}")
                    number = float("nan") if value is None else float(value)
                    found[system, scale].append(number)
        except (TypeError, ValueError):
            continue
    return {
        system: {
            **{f"{scale}_mean": _mean(found[system, scale]) for scale in _SCALES},
            "n": len(found[system, "usefulness"]),
        }
        for system in (RAG, BASE)
    }


def _mean(values):
    mean = float(np.mean(values)) if values else float("nan")
    return None if np.isnan(mean) else round(mean, 3)


def _agreement(forms):
    """Fleiss' kappa as documented: files of one base name collapse into one rater."""
    labels = {
        name: {_normalised(row["prompt_text"]): _label(row) for row in rows}
        for name, rows in forms
    }
    first, *others = labels.values()
    common = [item for item in first if all(item in other for other in others)]
    counts = np.array(
        [
            [[by[i] for by in labels.values()].count(c) for c in (RAG, BASE, "Tie")]
            for i in common
        ],
        dtype=float,
    ).reshape(-1, 3)
    kappa, observed = _fleiss(counts)
    percent = None if observed is None else round(observed * 100, 1)
    return {
        "fleiss_kappa": None if kappa is None else round(kappa, 3),
        "raw_observed_agreement": None if observed is None else round(observed, 3),
        "raw_observed_agreement_pct": percent,
        "n_items": len(common),
        "n_raters_expected": len(forms),
    }


def _normalised(text):
    return " ".join(str(text).split())


def _fleiss(counts):
    """Kappa and observed agreement, with the raters of the first item for all."""
    raters = counts[0].sum() if len(counts) else 0
    if raters < 2:
        return None, None
    pairs = (counts**2).sum(axis=1) - raters
    observed = float((pairs / (raters * (raters - 1))).mean())
    shares = counts.sum(axis=0) / (len(counts) * raters)
    chance = float((shares**2).sum())
    kappa = 1.0 if chance == 1 else (observed - chance) / (1 - chance)
    return float(kappa), observed


def documented_lines(analysis):
    """Write the numbers as the document prints them.

    Parameters
    ----------
    analysis : dict
        From `documented_analysis`.

    Returns
    -------
    list of str
        Lines, headings and blank lines included.
    """
    lines = []
    for heading, content in analysis.items():
        lines += ["", f"=== {heading} ==="]
        if heading in {PER_RATER, RATINGS_PER_RATER}:
            lines += [f"{name}: {_shown(row)}" for name, row in content.items()]
        else:
            lines.append(_shown(content))
    return lines[1:]


def _shown(value):
    return str(value).replace("None", "nan")
