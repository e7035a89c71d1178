"""The numbers of a panel that the book may quote."""

import pandas as pd


def numbers(analysis, beside=None, further=None):
    """Give the numbers that the book may quote.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.
    beside : pandas.DataFrame, optional
        From `casebook.raters.report.documented_beside`.
    further : pandas.DataFrame, optional
        From `casebook.raters.published.further_agreement`.

    Returns
    -------
    dict
        {system: {measure: number}}, where the system is ``panel``, ``documented`` or
        ``ratings``.
    """
    both, item = analysis.win_rate("item and rater"), analysis.win_rate("item")
    test = analysis.primary()
    panel = {
        "win rate": _number(both, "win_rate", ("ci_low", "ci_high"), both["n"], 0.5),
        "win rate, this panel": _number(
            item, "win_rate", ("ci_low", "ci_high"), item["n"], 0.5
        ),
        "p of the sign-flip": _number(test, "pvalue", None, test["n"], None),
    }
    bounds = ("new_panel_low", "new_panel_high")
    panel |= _agreement(analysis.tables["agreement"], bounds)
    found = {"panel": panel}
    if beside is not None:
        found["documented"] = {
            row["documented"]: _number(
                row, "its value", None, row["its n"], row["control"]
            )
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
    return {
        "value": value,
        "ci": ci,
        "n": int(n),
        "control": _plain(control),
        "reason": reason,
    }


def _plain(value):
    return None if value is None or pd.isna(value) else float(value)
