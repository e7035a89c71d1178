"""The documented analysis, reproduced line by line: for parity, not for conclusions.

What it leaves out stands beside it in `casebook.raters.analysis`: votes of one item
are dependent, ties carry information, and a mean or a kappa without an interval says
little.
"""

from collections import Counter

import numpy as np

from casebook.raters.documented import BASE, RAG
from casebook.raters.unblinding import SCALES
from casebook.stats.tests import documented_sign_test

PER_RATER = "Pairwise preference (per rater, per-row RAG mapping)"
AGGREGATE = "Pairwise preference (aggregate, per-row mapping)"
RATINGS = "Mean ratings (aggregate, RAG vs BASE)"
AGREEMENT = "Inter-rater agreement on common prompts"
RATINGS_PER_RATER = "Mean ratings (per rater, RAG vs BASE)"
RATING_COLUMNS = [f"{scale}_{side}" for side in ("s1", "s2") for scale in SCALES]
_OTHER = {"S1": "S2", "S2": "S1"}


def documented_analysis(forms):
    """Compute everything that the document prints, under its keys."""
    every = [row for _, rows in forms for row in rows]
    return {
        PER_RATER: {name: _preferences(rows) for name, rows in forms},
        AGGREGATE: _preferences(every),
        RATINGS: _ratings(every),
        AGREEMENT: _agreement(forms),
        RATINGS_PER_RATER: {name: _ratings(rows) for name, rows in forms},
    }


def impossible(forms, values):
    """Name what cannot be, which the documented analysis computes without a word."""
    found = []
    agreed = values[AGREEMENT]
    kappa, raw = agreed["fleiss_kappa"], agreed["raw_observed_agreement"]
    if (raw is not None and not 0 <= raw <= 1) or abs(kappa or 0) > 1:
        found.append(
            f"agreement of {raw:.1%}, kappa {kappa}: not all items have the votes of "
            "all raters, and the documented formula counts those of the first item"
        )
    names = [name for name, _ in forms]
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        found.append(f"{name}: files of one name count as one rater for kappa")
    for name, rows in forms:
        for column in RATING_COLUMNS:
            given = [_number(row.get(column)) for row in rows]
            wrong = [x for x in given if x is not None and x not in range(1, 6)]
            if wrong:
                found.append(
                    f"{name}: {len(wrong)} ratings in {column} are none of 1 to 5 ({wrong[0]:g}), and count in its mean"
                )
    return found


def _number(value):
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


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
    found = {(s, scale): [] for s in (RAG, BASE) for scale in SCALES}
    for row in rows:
        side = _stripped(row["side"])
        if side not in _OTHER:
            continue
        columns = {RAG: side.lower(), BASE: _OTHER[side].lower()}
        try:
            for system, column in columns.items():
                for scale in SCALES:
                    value = row.get(f"{scale}_{column}")
                    number = float("nan") if value is None else float(value)
                    found[system, scale].append(number)
        except (TypeError, ValueError):
            continue
    return {
        system: {
            **{f"{scale}_mean": _mean(found[system, scale]) for scale in SCALES},
            "n": len(found[system, "usefulness"]),
        }
        for system in (RAG, BASE)
    }


def _mean(values):
    mean = float(np.mean(values)) if values else float("nan")
    return None if np.isnan(mean) else round(mean, 3)


def _agreement(forms):
    """Fleiss' kappa as documented: files of one base name collapse into one rater."""
    labels = {name: {_normalised(row["prompt_text"]): _label(row) for row in rows} for name, rows in forms}
    first, *others = labels.values()
    common = [item for item in first if all(item in other for other in others)]
    counts = np.array(
        [[[by[i] for by in labels.values()].count(c) for c in (RAG, BASE, "Tie")] for i in common], dtype=float
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
    """Write the numbers as the document prints them."""
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
