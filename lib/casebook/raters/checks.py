"""Is the panel's verdict valid? Position, length, order, strata."""

import numpy as np
import pandas as pd
from scipy import stats

from casebook.inference.position import position_effect
from casebook.inference.preference_rates import win_rate
from casebook.inference.votes import count_votes, item_means
from casebook.raters.rows import bounded_mean
from casebook.stats.intervals import bounded
from casebook.stats.samples import number_or_none
from casebook.stats.tests import holm


def position_table(panel):
    """Measure what the side of an answer does, for every rater and for all."""
    parts = {rater: [rater] for rater in panel.raters} | {"all": panel.raters}
    rows = []
    for name, raters in parts.items():
        cast = panel.votes[raters].notna()
        if not cast.to_numpy().any():
            rows.append({"rater": name, "p": None, "n": 0})
            continue
        sides = panel.left[raters].where(cast, False).astype(bool)
        found = position_effect(panel.votes[raters].to_numpy(), sides.to_numpy())
        rows.append(
            {
                "rater": name,
                **bounded("left_choice", found.left_choice),
                "p": found.left_test.pvalue,
                "win_rate_left": found.win_rate_left.estimate,
                "win_rate_right": found.win_rate_right.estimate,
                **bounded("difference", found.difference),
                **bounded("side_balanced", found.side_balanced),
                "n": found.left_test.n,
                "focus_left": found.left_share,
            }
        )
    table = pd.DataFrame(rows)
    adjusted = [*holm(list(table["p"])[:-1]), None]
    table.insert(5, "p_holm", pd.Series(adjusted, dtype=object))
    return table


def length_effect(panel, *, n_boot=10_000, seed=0):
    """Ask whether the longer answer wins, and whether one system is the longer."""
    lengths = panel.texts[[panel.focus, panel.other]].map(len)
    longer = np.sign(lengths[panel.focus] - lengths[panel.other]).to_numpy()
    if not lengths.to_numpy().any():
        return pd.DataFrame(columns=["what", "share", "share low", "share high", "n"])
    for_longer = (panel.votes.mul(longer, axis=0).mean(axis=1) + 1) / 2
    parts = {
        f"{panel.focus} is the longer answer": (longer + 1) / 2,
        "votes for the longer answer, ties as half": for_longer[longer != 0],
        f"votes for {panel.focus} where it is longer": _wins(panel, longer > 0),
        f"votes for {panel.focus} where it is shorter": _wins(panel, longer < 0),
    }
    return _shares(parts, n_boot, seed)


def _wins(panel, chosen):
    return (panel.votes[chosen].mean(axis=1) + 1) / 2


def _shares(parts, n_boot, seed):
    rows = []
    for what, values in parts.items():
        known = pd.Series(values).dropna().to_numpy(float)
        share = bounded_mean("share", known, n_boot=n_boot, seed=seed)
        rows.append({"what": what, **share, "n": len(known)})
    return pd.DataFrame(rows)


def order_drift(panel):
    """Ask whether judgements change from the first to the last row of a form."""
    left_choice = panel.votes.where(panel.left.astype(object) == True, -panel.votes)  # noqa: E712
    level = sum(panel.ratings.values()) / len(panel.ratings)
    outcomes = {"vote": panel.votes, "left answer": left_choice, "mean rating": level}
    rows = []
    for name, values in outcomes.items():
        for rater in panel.raters:
            pair = pd.DataFrame({"x": panel.place[rater], "y": values[rater]}).dropna()
            rows.append({"rater": rater, "of": name, **_spearman(pair)})
    table = pd.DataFrame(rows)
    table.insert(4, "p_holm", holm(list(table["p"])))
    return table


def _spearman(pair):
    if len(pair) < 3 or pair.nunique().min() < 2:
        return {"rho": None, "p": None, "n": len(pair)}
    found = stats.spearmanr(pair["x"].astype(float), pair["y"])
    return {"rho": number_or_none(found.statistic), "p": number_or_none(found.pvalue), "n": len(pair)}


def by_stratum(panel, *, n_boot=10_000, seed=0):
    """Give the preference in each stratum of items."""
    rows = []
    for stratum, items in panel.strata.groupby(panel.strata).groups.items():
        votes = panel.votes.loc[items]
        counts = count_votes(votes)
        row = {"stratum": stratum, "items": len(items), **vars(counts)}
        if votes.notna().to_numpy().any():
            options = {"ties": "half", "n_boot": n_boot, "seed": seed}
            row["net"] = float(item_means(votes).mean())
            row |= bounded("win_rate", win_rate(votes, unit="item", **options))
        rows.append(row)
    return pd.DataFrame(rows)
