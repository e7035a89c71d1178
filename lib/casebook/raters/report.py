"""What the chapter on rater agreement shows: its data and its tables."""

import pandas as pd

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
