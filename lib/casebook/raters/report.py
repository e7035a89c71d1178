"""What the chapter on rater agreement shows: its data, tables and numbers."""

import pandas as pd

from casebook.inference.intervals import bounds_text
from casebook.raters.analysis import Options, analyse
from casebook.raters.example import SUFFIX, example_votes
from casebook.raters.legacy import (
    AGGREGATE,
    AGREEMENT,
    RATINGS,
    documented_analysis,
    records_of,
)
from casebook.raters.opening import open_forms, registered_margin
from casebook.raters.responses import read_forms
from casebook.raters.unblinding import RATINGS as SCALES


def analyse_panel(forms=(), key=None, side_column=None, against=None, options=None):
    """Analyse returned forms, or the reconstructed example if there are none.

    Parameters
    ----------
    forms : sequence of path-like
        Forms, or folders of forms.
    key, side_column
        As `casebook.raters.opening.open_forms`.
    against : str, optional
        System to hold the focus against, if there are several.
    options : casebook.raters.analysis.Options, optional
        How.

    Returns
    -------
    casebook.raters.analysis.Analysis
        The analysis.
    """
    options = options or Options()
    if not forms:
        return analyse(example_votes(), options=options)
    votes = open_forms(read_forms(forms), key, side_column)
    if margin := registered_margin(key):
        options = Options(**(vars(options) | {"margin": margin}))
    return analyse(votes, against, options)


def about(analysis):
    """Say what was judged, by whom, and what was wrong with the forms.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.

    Returns
    -------
    pandas.DataFrame
        Columns item and value.
    """
    panel, defects = analysis.panel, analysis.tables["defects"]
    counts = analysis.tables["preference"].set_index("rater").loc["pooled"]
    rows = [
        ("systems", f"{panel.focus} against {panel.other}"),
        ("items", panel.votes.shape[0]),
        ("raters", panel.votes.shape[1]),
        ("votes", int(counts[["wins", "losses", "ties"]].sum())),
        ("ties", int(counts["ties"])),
        ("missing votes", int(counts["missing"])),
        ("forms not in", len(analysis.votes.absent)),
    ]
    effects = ("lost", "repaired", "note")
    rows += [
        (f"defects of forms: {effect}", int((defects["effect"] == effect).sum()))
        for effect in effects
    ]
    return pd.DataFrame(rows, columns=["item", "value"])


def documented_beside(analysis):
    """Put the numbers of the documented analysis beside the corrected ones.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.

    Returns
    -------
    pandas.DataFrame
        Columns documented (key), its value, corrected (name), value with ``value
        low/high``, control, n and what changes.
    """
    printed = documented_analysis(records_of(analysis.votes, SUFFIX))
    pooled, agreed = printed[AGGREGATE], printed[AGREEMENT]
    n = pooled["n_effective"]
    share = pooled["rag_wins"] / n if n else None
    both, test = analysis.win_rate("item and rater"), analysis.primary()
    table = analysis.tables["agreement"].set_index("coefficient")
    rows = [
        (
            "rag_wins / n_effective",
            share,
            "win rate, items and raters drawn anew",
            both["win_rate"],
            both["ci_low"],
            both["ci_high"],
            0.5,
            both["n"],
            "votes are dependent; other raters would vote otherwise",
        ),
        (
            "p_value_sign_test",
            pooled["p_value_sign_test"],
            "p of the sign-flip of items",
            test["pvalue"],
            None,
            None,
            None,
            test["n"],
            "votes on one item are not independent trials",
        ),
    ]
    names = ("fleiss_kappa", "raw_observed_agreement")
    coefficients = ("fleiss_kappa", "percent_agreement")
    for name, coefficient in zip(names, coefficients, strict=True):
        row = table.loc[coefficient]
        control = 0.0 if coefficient == "fleiss_kappa" else _expected(table)
        rows.append(
            (
                name,
                agreed[name],
                f"{coefficient}, new panel",
                row["estimate"],
                row["new_panel_low"],
                row["new_panel_high"],
                control,
                row["n_items"],
                "no interval is printed",
            )
        )
    ratings = analysis.tables["rating_tests"].set_index("scale")
    for scale in SCALES:
        row = ratings.loc[scale]
        means = [printed[RATINGS][s][f"{scale}_mean"] for s in ("RAG", "BASE")]
        gap = None if None in means else means[0] - means[1]
        rows.append(
            (
                f"{scale}_mean, RAG minus BASE",
                gap,
                "difference, items and raters",
                row["difference"],
                row["both low"],
                row["both high"],
                0.0,
                row["n"],
                "means alone say nothing of their uncertainty",
            )
        )
    columns = ["documented", "its value", "corrected", "value"]
    columns += ["value low", "value high", "control", "n", "why"]
    return pd.DataFrame(rows, columns=columns)


def _expected(table):
    return table.loc["fleiss_kappa", "expected"]


def check_table(analysis):
    """Summarise the checks of validity, one line each.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.

    Returns
    -------
    pandas.DataFrame
        Columns check, value with ``value low/high``, control, p, n and reason.
    """
    tables = analysis.tables
    side = tables["position"].set_index("rater").loc["all"]
    guess = tables["arm_guess"].iloc[0]
    pairs, agree = tables["duplicates"], tables["consistency"]
    drift = tables["order"]
    same = pairs["same_ratings"].max()
    rows = [
        (
            "share of left answers",
            side["left_choice"],
            side["left_choice low"],
            side["left_choice high"],
            0.5,
            side["p"],
            side["n"],
            None,
        ),
        (
            "systems told apart by a classifier of the texts",
            guess["accuracy"],
            guess["accuracy low"],
            guess["accuracy high"],
            0.5,
            guess["p"],
            guess["n"],
            guess["reason"],
        ),
        (
            "largest share of equal rating rows of two raters",
            same,
            None,
            None,
            None,
            None,
            pairs["n"].min(),
            None,
        ),
        (
            "strongest drift over the form, Spearman",
            _extreme(drift["rho"]),
            None,
            None,
            0.0,
            _least(drift["p_holm"]),
            drift["n"].min(),
            None,
        ),
        (
            "votes against their own ratings",
            _share(agree["contradict"], agree["n"]),
            None,
            None,
            None,
            None,
            agree["n"].sum(),
            None,
        ),
    ]
    columns = ["check", "value", "value low", "value high", "control", "p", "n"]
    return pd.DataFrame(rows, columns=[*columns, "reason"])


def _extreme(values):
    known = pd.to_numeric(values).dropna()
    return float(known[known.abs().idxmax()]) if len(known) else None


def _least(values):
    known = pd.to_numeric(values).dropna()
    return float(known.min()) if len(known) else None


def _share(part, whole):
    return float(part.sum() / whole.sum()) if whole.sum() else None


def numbers(analysis, beside=None, further=None):
    """Give the numbers that the book may quote.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.
    beside : pandas.DataFrame, optional
        From `documented_beside`.
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
    for row in analysis.tables["agreement"].to_dict("records"):
        chance = row["expected"] if row["coefficient"] == "percent_agreement" else 0.0
        panel[row["coefficient"]] = _number(
            row, "estimate", bounds, row["n_items"], chance
        )
    found = {"panel": panel}
    if beside is not None:
        found["documented"] = {
            row["documented"]: _number(row, "its value", None, row["n"], row["control"])
            for row in beside.to_dict("records")
        }
    if further is not None and len(further):
        bounds = ("panel_low", "panel_high")
        found["ratings"] = {
            row["coefficient"]: _number(row, "estimate", bounds, row["n_items"], 0.0)
            for row in further.to_dict("records")
        }
    return found


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


def side_sentence(analysis):
    """Say what the side of an answer does.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.

    Returns
    -------
    str
        One sentence with number, interval, p and n.
    """
    found, test = analysis.side(), analysis.tables["side_test"].iloc[0]
    left = found.left_choice
    p = "undefined" if test["p"] is None else f"p = {test['p']:.2g}"
    return (
        f"The left answer is chosen in {left.estimate:.3f} "
        f"{bounds_text(left.low, left.high)} of {left.n} untied votes; a side term "
        f"in Davidson's model: {p}."
    )
