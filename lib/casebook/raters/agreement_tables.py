"""How far a panel agrees: preferences and ratings, pair by pair, rater by rater."""

import itertools

import numpy as np
import pandas as pd

from casebook.measures.agreement import agreement_table, krippendorff_alpha, leave_one_rater_out
from casebook.raters.rows import RATING_SCALE
from casebook.raters.unblinding import SCALES

NOMINAL = (
    "percent_agreement",
    "fleiss_kappa",
    "conger_kappa",
    "light_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "krippendorff_alpha",
)
PAIRWISE = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic")
VOTES = (-1, 0, 1)


def vote_agreement(panel, *, n_boot=1000, seed=0):
    """Measure agreement on the preferences with every coefficient."""
    options = {"n_boot": n_boot, "seed": seed, "categories": VOTES, "wide": True}
    tables = [agreement_table(panel.votes, "nominal", coefficients=NOMINAL, **options)]
    for level in ("ordinal", "interval"):
        names = ["krippendorff_alpha"]
        table = agreement_table(panel.votes, level, coefficients=names, **options)
        tables.append(table.assign(coefficient=f"krippendorff_alpha_{level}"))
    names = ["gwet_ac2"]
    tables.append(agreement_table(panel.votes, coefficients=names, **options))
    return pd.concat(tables, ignore_index=True)


def vote_shares(panel):
    """Give the shares of wins, ties and losses: the prevalence behind every kappa."""
    values = panel.votes.to_numpy()
    values = values[~np.isnan(values)]
    names = {1.0: panel.focus, -1.0: panel.other, 0.0: "Tie"}
    rows = [
        {"vote": name, "count": int((values == v).sum()), "share": (values == v).mean()} for v, name in names.items()
    ]
    return pd.DataFrame(rows)


def pairwise_agreement(panel, *, n_boot=1000, seed=0):
    """Measure Cohen's kappa of every two raters, unweighted and weighted."""
    options = {"n_boot": n_boot, "seed": seed, "categories": VOTES, "wide": True}
    tables = []
    for one, two in itertools.combinations(panel.raters, 2):
        pair = panel.votes[[one, two]]
        table = agreement_table(pair, coefficients=PAIRWISE, **options)
        table.insert(0, "rater_a", one)
        table.insert(1, "rater_b", two)
        tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def without_each_rater(panel):
    """Measure agreement on the preferences without each rater in turn."""
    chosen = {"fleiss_kappa": {}, "krippendorff_alpha": {"level": "nominal"}}
    tables = [
        leave_one_rater_out(panel.votes, name, chosen=options, categories=VOTES, wide=True).assign(coefficient=name)
        for name, options in chosen.items()
    ]
    return pd.concat(tables, ignore_index=True)


def rating_agreement(panel, *, n_boot=1000, seed=0):
    """Measure ordinal alpha of the ratings: per scale and system, and of differences."""
    rows = []
    for scale in SCALES:
        tables = {s: panel.ratings[scale, s] for s in (panel.focus, panel.other)}
        tables["difference"] = panel.differences(scale)
        for name, table in tables.items():
            categories = range(-4, 5) if name == "difference" else RATING_SCALE
            rows.append({"scale": scale, "of": name, **alpha_row(table, categories, n_boot=n_boot, seed=seed)})
    return pd.DataFrame(rows)


def alpha_row(table, categories=RATING_SCALE, *, n_boot=1000, seed=0):
    """Measure Krippendorff's ordinal alpha of one table of ratings."""
    options = {"n_boot": n_boot, "seed": seed, "wide": True}
    found = krippendorff_alpha(table, level="ordinal", categories=list(categories), **options)
    panel, new = (b or (None, None) for b in (found.panel_ci, found.new_panel_ci))
    return {
        "alpha": found.estimate,
        "alpha low": panel[0],
        "alpha high": panel[1],
        "new panel low": new[0],
        "new panel high": new[1],
        "percent_agreement": found.percent_agreement,
        "n": found.n_items,
        "raters": found.n_raters,
        "reason": found.reason,
    }
