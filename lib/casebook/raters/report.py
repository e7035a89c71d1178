"""What the chapter on rater agreement shows: its data and its tables."""

from dataclasses import replace

import pandas as pd

from casebook.inference.preference import NEW_RATERS, THESE_RATERS
from casebook.raters.analysis import Options, analyse
from casebook.raters.example import SUFFIX, votes_of
from casebook.raters.legacy import AGGREGATE, AGREEMENT, RATINGS, documented_analysis
from casebook.raters.legacy_records import records_of
from casebook.raters.opening import open_forms, registered_margin
from casebook.raters.responses import read_forms
from casebook.raters.unblinding import SCALES

BANNER = (
    "**A reconstruction, not the study's votes.** The data set is not on this machine "
    "(`casebook data pull pdpabench_votes`, or a mirror). Tallies by rater, patterns "
    "of items and means are the published ones; which rater cast which vote is random. "
    "Nothing below about sides, drift, pairs of raters, single items, or ratings "
    "against votes is a finding."
)


def analyse_panel(forms=(), key=None, side_column=None, against=None, options=None, *, columns=None, dataset=None):
    """Analyse returned forms, or the votes of a data set if there are none.

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
    columns : dict of str, optional
        Documented column to its name in the forms.
    dataset : str or None
        As `casebook.raters.example.votes_of`.

    Returns
    -------
    analysis : casebook.raters.analysis.Analysis
        The analysis.
    name : str
        ``forms``, the data set, or ``reconstruction`` where it is not here.
    """
    options = options or Options()
    if not forms:
        votes, name = votes_of(dataset)
        return analyse(votes, options=options), name
    votes = open_forms(read_forms(forms, columns), key, side_column)
    if margin := registered_margin(key):
        options = replace(options, margin=margin)
    return analyse(votes, against, options), "forms"


def about(analysis):
    """Say what was judged, by whom, and what was wrong with the forms."""
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
    rows += [(f"defects of forms: {effect}", int((defects["effect"] == effect).sum())) for effect in effects]
    return pd.DataFrame(rows, columns=["item", "value"])


def documented_beside(analysis):
    """Put the numbers of the documented analysis beside the corrected ones."""
    printed = documented_analysis(records_of(analysis.votes, SUFFIX))
    rows = [
        *_vote_rows(analysis, printed[AGGREGATE]),
        *_agreement_rows(analysis, printed[AGREEMENT]),
        *_rating_rows(analysis, printed[RATINGS]),
    ]
    columns = ["documented", "its value", "its n", "corrected", "value"]
    columns += ["value low", "value high", "control", "n", "why"]
    return pd.DataFrame(rows, columns=columns)


def _vote_rows(analysis, pooled):
    n = pooled["n_effective"]
    both, these = analysis.win_rate("item and rater"), analysis.line(THESE_RATERS)
    new = analysis.line(NEW_RATERS)
    yield {
        "documented": "rag_wins / n_effective",
        "its value": pooled["rag_wins"] / n if n else None,
        "its n": n,
        "corrected": "win rate, new raters and items",
        "value": both["win_rate"],
        "value low": both["ci_low"],
        "value high": both["ci_high"],
        "control": 0.5,
        "n": both["n"],
        "why": "votes are dependent; other raters would vote otherwise",
    }
    for name, row in (("these raters", these), ("new raters", new)):
        yield {
            "documented": "p_value_sign_test",
            "its value": pooled["p_value_sign_test"],
            "its n": n,
            "corrected": f"p, {name}",
            "value": row["p"],
            "n": row["items"],
            "why": "votes on one item, or of one rater, are no independent trials",
        }


def _agreement_rows(analysis, agreed):
    table = analysis.tables["agreement"].set_index("coefficient")
    chance = table.loc["fleiss_kappa", "expected"]
    for name, coefficient, control in (
        ("fleiss_kappa", "fleiss_kappa", 0.0),
        ("raw_observed_agreement", "percent_agreement", chance),
    ):
        row = table.loc[coefficient]
        yield {
            "documented": name,
            "its value": agreed[name],
            "its n": row["n_items"],
            "corrected": f"{coefficient}, new panel",
            "value": row["estimate"],
            "value low": row["new_panel_low"],
            "value high": row["new_panel_high"],
            "control": control,
            "n": row["n_items"],
            "why": "no interval is printed",
        }


def _rating_rows(analysis, printed):
    ratings = analysis.tables["rating_tests"].set_index("scale")
    for scale in SCALES:
        row = ratings.loc[scale]
        means = [printed[s][f"{scale}_mean"] for s in ("RAG", "BASE")]
        yield {
            "documented": f"{scale}_mean, RAG minus BASE",
            "its value": None if None in means else means[0] - means[1],
            "its n": printed["RAG"]["n"],
            "corrected": "difference, items and raters",
            "value": row["difference"],
            "value low": row["both low"],
            "value high": row["both high"],
            "control": 0.0,
            "n": row["n"],
            "why": "means alone say nothing of their uncertainty",
        }


def kappa_pairs(analysis):
    """Cohen's kappa of every two raters, with its interval, and the weighted ones."""
    table, rows = analysis.tables["pairwise"], []
    if table.empty:  # one rater
        return table
    for pair, part in table.groupby(["rater_a", "rater_b"], sort=False):
        by = part.set_index("coefficient")
        one = by.loc["cohen_kappa"]
        rows.append(
            {
                **dict(zip(("rater", "and rater"), pair, strict=True)),
                "kappa": one["estimate"],
                "kappa low": one["panel_low"],
                "kappa high": one["panel_high"],
                "linear": by.loc["cohen_kappa_linear", "estimate"],
                "quadratic": by.loc["cohen_kappa_quadratic", "estimate"],
                "same votes": one["percent_agreement"],
                "n": one["n_items"],
                "reason": one["reason"] if pd.isna(one["panel_low"]) else None,
            }
        )
    return pd.DataFrame(rows)


def check_table(analysis):
    """Summarise the checks of validity, one line each."""
    tables = analysis.tables
    side = tables["position"].set_index("rater").loc["all"]
    guess = tables["arm_guess"].iloc[0]
    pairs, agree = tables["duplicates"], tables["consistency"]
    drift = tables["order"]
    rows = [
        {
            "check": "share of left answers",
            **_value(side, "left_choice"),
            **{"control": 0.5, "p": side["p"], "n": side["n"]},
        },
        {
            "check": "systems told apart by a classifier of the texts",
            **_value(guess, "accuracy"),
            **{"control": 0.5, "p": guess["p"], "n": guess["n"]},
            "reason": guess["reason"],
        },
        {
            "check": "largest share of equal rating rows of two raters",
            "value": pairs["same_ratings"].max(),
            "n": pairs["n"].min(),
        },
        {
            "check": "strongest drift over the form, Spearman",
            "value": _extreme(drift["rho"]),
            "control": 0.0,
            "p": _least(drift["p_holm"]),
            "n": drift["n"].min(),
        },
        {
            "check": "votes against their own ratings",
            "value": _share(agree["contradict"], agree["n"]),
            "n": agree["n"].sum(),
        },
    ]
    columns = ["check", "value", "value low", "value high", "control", "p", "n"]
    return pd.DataFrame(rows, columns=[*columns, "reason"])


def _value(row, name):
    ends = {f"value {end}": row[f"{name} {end}"] for end in ("low", "high")}
    return {"value": row[name]} | ends


def _extreme(values):
    known = pd.to_numeric(values).dropna()
    return float(known[known.abs().idxmax()]) if len(known) else None


def _least(values):
    known = pd.to_numeric(values).dropna()
    return float(known.min()) if len(known) else None


def _share(part, whole):
    return float(part.sum() / whole.sum()) if whole.sum() else None
