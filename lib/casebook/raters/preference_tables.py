"""Which system the panel prefers: naive, by item, by item and rater, side by side."""

import numpy as np
import pandas as pd

from casebook.inference.bradley_terry import (
    fit_bradley_terry,
    likelihood_ratio_test,
)
from casebook.inference.bradley_terry_bootstrap import bootstrap_bradley_terry
from casebook.inference.equivalence import equivalence
from casebook.inference.intervals import bounded
from casebook.inference.preference_power import power_table
from casebook.inference.vote_dependence import rater_heterogeneity, vote_clustering
from casebook.raters.preference_models import vote_models

OUTCOME = {"S1": "first", "S2": "second", "Tie": "tie"}


def dependence(panel, *, n_boot=2_000, seed=0):
    """Say how far the votes depend on each other.

    Parameters
    ----------
    panel : casebook.raters.panel.Panel
        Judgements.
    n_boot, seed
        Of the bootstrap of items.

    Returns
    -------
    pandas.DataFrame
        Columns measure, value, low, high, n, p and reason: ICC(1) of the votes on one
        item, design effect, effective number of votes, and the chi-square test that
        all raters have one win rate.
    """
    found = vote_clustering(panel.votes, n_boot=n_boot, seed=seed)
    mixed = rater_heterogeneity(panel.votes)
    votes = {"n": found.n_votes, "reason": found.icc.reason}
    rows = [
        {
            "measure": "ICC(1) of votes on one item",
            "value": found.icc.estimate,
            "low": found.icc.low,
            "high": found.icc.high,
            **votes,
        },
        {"measure": "design effect", "value": found.design_effect, **votes},
        {"measure": "effective number of votes", "value": found.effective_n, **votes},
        {
            "measure": f"raters differ, chi-square on {mixed.df} df",
            "value": mixed.statistic,
            "p": mixed.pvalue,
            "n": mixed.n,
            "reason": mixed.reason,
        },
    ]
    columns = ["measure", "value", "low", "high", "p", "n", "reason"]
    return pd.DataFrame(rows, columns=columns)


def equivalence_row(panel, margin, *, alpha=0.05, n_boot=10_000, seed=0):
    """Hold the win rate against the range that counts as no difference.

    Parameters
    ----------
    panel : casebook.raters.panel.Panel
        Judgements.
    margin : (float, float)
        The range, fixed beforehand.
    alpha : float
        Level of the one-sided tests.
    n_boot, seed
        Of the bootstrap of items.

    Returns
    -------
    pandas.DataFrame
        One row: win_rate (ties as half) with bounds, low and high end of the range,
        p_tost, inside (share of bootstrap draws in the range), verdict, n, reason.
    """
    options = {"margin": tuple(margin), "alpha": alpha, "n_boot": n_boot, "seed": seed}
    found = equivalence(panel.votes, **options)
    row = {
        **bounded("win_rate", found.interval),
        "range from": found.margin[0],
        "range to": found.margin[1],
        "p_tost": found.p_tost,
        "inside": found.inside,
        "verdict": found.verdict,
        "n": found.interval.n,
        "reason": found.reason,
    }
    return pd.DataFrame([row])


def comparisons_of(rows):
    """Give judgements in the form that paired-comparison models take.

    Parameters
    ----------
    rows : pandas.DataFrame
        As `casebook.raters.unblinding.Votes.frame`.

    Returns
    -------
    pandas.DataFrame
        Columns item, rater, first (left system), second, outcome; judgements without
        a preference or a system are left out.
    """
    known = rows[rows["preferred"].notna() & rows["left"].notna()]
    return pd.DataFrame(
        {
            "item": known["item_id"],
            "rater": known["rater"],
            "first": known["left"],
            "second": known["right"],
            "outcome": known["preferred"].map(OUTCOME),
        }
    ).reset_index(drop=True)


def strengths(votes, *, n_boot=1_000, seed=0):
    """Fit Davidson's model with a side term to all systems of a study.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        All judgements.
    n_boot, seed
        Of the bootstrap of items and raters.

    Returns
    -------
    table : pandas.DataFrame
        Columns parameter, estimate, se, pvalue (both taking votes for independent),
        ``estimate low/high`` (items and raters drawn anew), worth and reason.
    test : casebook.inference.bradley_terry.LikelihoodRatio
        Of the side term.
    """
    comparisons = comparisons_of(votes.frame)
    reference = next(system for system in votes.systems if system != votes.focus)
    options = {"reference": reference}
    plain = fit_bradley_terry(comparisons, **options)
    full = fit_bradley_terry(comparisons, order=True, **options)
    drawn = bootstrap_bradley_terry(
        comparisons, ["item", "rater"], order=True, n_boot=n_boot, seed=seed, **options
    )
    table = full.table[["parameter", "estimate", "se", "pvalue", "worth"]].copy()
    bounds = drawn.set_index("parameter").reindex(table["parameter"])
    table["estimate low"] = bounds["ci_low"].to_numpy()
    table["estimate high"] = bounds["ci_high"].to_numpy()
    table["n"] = int(full.n)
    table["reason"] = full.reason or bounds["reason"].to_numpy()
    return table, likelihood_ratio_test(full, plain)


def side_test(test, n):
    """Give the test of the side term as a table.

    Parameters
    ----------
    test : casebook.inference.bradley_terry.LikelihoodRatio
        From `strengths`.
    n : int
        Comparisons.

    Returns
    -------
    pandas.DataFrame
        One row: model, statistic, df, p, n, reason.
    """
    row = {
        "model": "Davidson with a side term against none",
        "statistic": test.statistic,
        "df": test.df,
        "p": test.pvalue,
        "n": n,
        "reason": test.reason,
    }
    return pd.DataFrame([row])


def models(panel):
    """Estimate the log odds of a win with models that know of items and raters.

    Parameters
    ----------
    panel : casebook.raters.panel.Panel
        Judgements.

    Returns
    -------
    pandas.DataFrame
        As `casebook.raters.preference_models.vote_models`, with the side as a term if
        both sides occur; one row with the reason ``no_untied_vote`` if all votes tie.
    """
    votes = panel.votes
    untied = (votes.notna() & (votes != 0)).to_numpy()
    if not untied.any():
        return pd.DataFrame([{"model": "logit", "n": 0, "reason": "no_untied_vote"}])
    sides = panel.left.to_numpy()
    both = len({bool(side) for side in sides[untied]}) == 2
    return vote_models(votes, np.where(untied, sides, False) if both else None)


def power(dependence, alpha=0.05):
    """Say how many votes other true win rates would need, at this panel's dependence.

    Parameters
    ----------
    dependence : pandas.DataFrame
        From the function of that name.
    alpha : float
        Two-sided level.

    Returns
    -------
    pandas.DataFrame
        As `casebook.inference.preference_power.power_table`, for a power of 0.8; a
        design effect below 1 or unknown counts as 1.
    """
    effect = dependence.set_index("measure").loc["design effect", "value"]
    known = 1.0 if pd.isna(effect) else max(1.0, float(effect))
    return power_table(alpha=alpha, design_effect=known)
