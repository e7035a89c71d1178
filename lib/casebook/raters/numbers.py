"""The numbers of a panel that the book may quote."""

import pandas as pd

from casebook.inference.preference import NEW_RATERS, THESE_RATERS


def numbers(analysis, beside=None, further=None):
    """Give the numbers that the book may quote."""
    bounds, rates = ("ci_low", "ci_high"), {}
    for name, unit in (("", "item and rater"), (", this panel", "item")):
        row = analysis.win_rate(unit)
        rates[f"win rate{name}"] = _number(row, "win_rate", bounds, row["n"], 0.5)
    tests = {}
    for name, scope in ((", this panel", THESE_RATERS), ("", NEW_RATERS)):
        row = analysis.line(scope)
        rate = _number(row, "win_rate", bounds, row["items"], 0.5)
        rates[f"win rate, ties as half{name}"] = rate
        tests[f"p{name or ', new raters'}"] = _number(row, "p", None, row["items"], None)
    panel = rates | tests
    bounds = ("new_panel_low", "new_panel_high")
    panel |= _agreement(analysis.tables["agreement"], bounds)
    found = {"panel": panel}
    if beside is not None:
        found["documented"] = {
            row["documented"]: _number(row, "its value", None, row["its n"], row["control"])
            for row in beside.to_dict("records")
        }
    if further is not None and len(further):
        bounds = ("panel_low", "panel_high")
        found["ratings"] = _agreement(further, bounds)
    return found


def _agreement(table, bounds):
    """Give coefficients beside chance: 0, and for plain agreement that of Fleiss."""
    rows = table.to_dict("records")
    expected = {row["coefficient"]: row["expected"] for row in rows}
    chances = {"percent_agreement": expected.get("fleiss_kappa")}
    names = [row["coefficient"] for row in rows]
    return {
        name: _number(row, "estimate", bounds, row["n_items"], chances.get(name, 0.0))
        for name, row in zip(names, rows, strict=True)
    }


def _number(row, name, bounds, n, control):
    ci = [_plain(row[b]) for b in bounds] if bounds else [None, None]
    value = _plain(row[name])
    reason = None
    if None in ci:
        reason = row.get("reason") or ("no_interval" if bounds is None else "undefined")
    return {"value": value, "ci": ci, "n": int(n), "control": _plain(control), "reason": reason}


def _plain(value):
    return None if value is None or pd.isna(value) else float(value)
