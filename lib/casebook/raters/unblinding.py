"""Joining returned forms with the sealed key, once all of them are in."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from casebook.errors import InputError
from casebook.raters.defects import LOST, NOTE, Defect
from casebook.raters.layouts import LIKERT
from casebook.raters.sealing import text_hash

SIDE_COLUMN = "_rag_side_for_analysis"
SCALES = ("factuality", "usefulness")


@dataclass(frozen=True, eq=False)
class Votes:
    """Judgements of a panel with the systems behind them."""

    frame: pd.DataFrame
    systems: tuple
    focus: str
    raters: tuple
    defects: tuple
    absent: tuple = ()


def unblind(forms, key, *, force=False):
    """Join forms of preferences with the key."""
    rows, defects, absent = _opened(forms, key, "paired", force)
    columns = [_vote(row, shown, key) for row, shown in rows]
    frame = pd.DataFrame(columns)
    raters = tuple(r for r in key["forms"] if r not in absent)
    systems = tuple(key["systems"])
    return Votes(frame, systems, key["focus"], raters, defects, absent)


def unblind_likert(forms, key, *, force=False):
    """Join Likert forms with the key."""
    rows, defects, _ = _opened(forms, key, "likert", force)
    scales = [column.name for column in LIKERT.answers]
    frame = pd.DataFrame(
        {
            "rater": sealed["rater"],
            "item_id": sealed["item"],
            "chunk": sealed["chunk"],
            "system": sealed["system"],
            **{scale: shown[scale] for scale in scales},
            "notes": shown["notes"],
        }
        for sealed, shown in rows
    )
    return frame, defects


def _opened(forms, key, layout, force):
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    owners = _owners(forms, key)
    absent = tuple(rater for rater in key["forms"] if rater not in owners)
    if absent and not force:
        raise InputError(
            f"{len(absent)} of {len(key['forms'])} forms are not in "
            f"({', '.join(absent)}): unblind when they are, or force it"
        )
    if not owners:
        raise InputError("no form of this study is in")
    rows, defects = [], []
    for form in forms:
        defects += form.defects
    for rater, form in owners.items():
        rows += _joined(form, rater, key["forms"][rater]["rows"], defects)
    return rows, tuple(defects), absent


def _owners(forms, key):
    """Find whose form each file is: by the ids in it, whatever its name."""
    rater_of = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    owners = {}
    for form in forms:
        found = Counter(rater_of.get(i) for i in form.rows[form.layout.key])
        found.pop(None, None)
        if not found:
            problem = "none of its ids is in the key: another study, or edited ids"
            raise InputError(f"{form.path}: {problem}")
        rater = max(found, key=found.get)
        if rater in owners:
            other = owners[rater].path
            raise InputError(f"{form.path}: form of {rater} is in already: {other}")
        owners[rater] = form
    return {rater: owners[rater] for rater in key["forms"] if rater in owners}


def _joined(form, rater, sealed, defects):
    """Pair the rows of a form with the key's; name what does not fit."""

    def report(row, column, kind, found, effect):
        place = (str(form.path), form.sheet, row, column)
        defects.append(Defect(*place, kind, found, effect))

    name, expected = form.layout.key, {row["id"]: row for row in sealed}
    shown = {row[name]: row for row in form.rows.to_dict("records")}
    for identity, row in shown.items():
        if identity not in expected:
            report(row["row"], name, "unknown_id", identity, LOST)
    for place, identity in enumerate(expected, start=1):
        if identity not in shown:
            report(None, name, "missing_row", f"{identity}, row {place + 1}", LOST)
    order = [identity for identity in shown if identity in expected]
    if order != [identity for identity in expected if identity in shown]:
        report(None, name, "reordered", "rows are joined by their ids", NOTE)
    pairs = []
    for identity in order:
        row, known = shown[identity], expected[identity]
        for column, digest in known["texts"].items():
            text = row[column].replace("\r\n", "\n").replace("\r", "\n")
            if text_hash(text) != digest:
                report(row["row"], column, "edited_text", "not as sent out", NOTE)
        place = {"rater": rater, "place": len(pairs) + 1}
        pairs.append((known | place, row))
    return pairs


def _vote(sealed, shown, key):
    left, right = sealed["left"], sealed["right"]
    strata = {row["item_id"]: row["stratum"] for row in key["draw"]}
    return {
        "rater": sealed["rater"],
        "item_id": sealed["item"],
        "place": sealed["place"],
        **judgement(shown, left, right),
        "stratum": strata.get(sealed["item"], "all"),
    }


def judgement(shown, left, right):
    """Say what one row of a form means, given the systems behind its sides."""
    meaning = {"S1": left, "S2": right, "Tie": "Tie" if left else None}
    preferred = shown["preferred"]
    sides = (("left", "s1"), ("right", "s2"))
    return {
        "row": shown["row"],
        "left": left,
        "right": right,
        "preferred": preferred,
        "choice": meaning.get(preferred),
        **{f"{n}_{side}": shown[f"{n}_{s}"] for side, s in sides for n in SCALES},
        "comment": shown["comment"],
        "guess": shown.get("guess"),
        "prompt": shown["prompt_text"],
        "text_left": shown["system1_output"],
        "text_right": shown["system2_output"],
    }
