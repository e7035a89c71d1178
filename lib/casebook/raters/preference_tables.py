"""Which system the panel prefers: naive, by item, by item and rater, side by side."""

import pandas as pd

from casebook.inference.equivalence import equivalence
from casebook.inference.preference_power import power_table
from casebook.inference.vote_dependence import rater_heterogeneity, vote_clustering
from casebook.stats.intervals import bounded


def dependence(panel, *, n_boot=2_000, seed=0):
    """Say how far the votes depend on each other."""
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
    """Hold the win rate against the range that counts as no difference."""
    options = {"margin": tuple(margin), "alpha": alpha, "n_boot": n_boot, "seed": seed}
    found = equivalence(panel.votes, **options)
    row = {
        **bounded("win_rate", found.interval),
        "range from": found.margin[0],
        "range to": found.margin[1],
        "p_tost": found.p_tost,
        "verdict": found.verdict,
        "n": found.interval.n,
        "reason": found.reason,
    }
    return pd.DataFrame([row])


def power(dependence, alpha=0.05):
    """Say how many votes other true win rates would need, at this panel's dependence."""
    effect = dependence.set_index("measure").loc["design effect", "value"]
    known = 1.0 if pd.isna(effect) else max(1.0, float(effect))
    return power_table(alpha=alpha, design_effect=known)
