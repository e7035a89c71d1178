"""The documented analysis, reproduced line by line for parity, and the study that it was made for.

What it leaves out stands beside it in `casebook.raters.analysis`: votes of one item are dependent,
ties carry information, and a mean or a kappa without an interval says little.
"""

import math

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.measures.agreement import measure
from casebook.paths import DATA
from casebook.raters.preference import (
    NEW_RATERS,
    THESE_RATERS,
    count_votes,
    crossed_mean,
)
from casebook.raters.ratings import rounded
from casebook.raters.unblinding import BASE, LEFT, RAG, RIGHT, Votes, decode_judgements

PER_RATER = "Pairwise preference (per rater, per-row RAG mapping)"
AGGREGATE = "Pairwise preference (aggregate, per-row mapping)"
MEAN_RATINGS = "Mean ratings (aggregate, RAG vs BASE)"
AGREEMENT = "Inter-rater agreement on common prompts"
# The document's scales, whatever the forms of today ask.
DOCUMENTED_SCALES = ("factuality", "usefulness")

EXAMPLE = DATA / "raters" / "reconstructed_votes.csv"
RECONSTRUCTION = "reconstruction"
NOTES = {
    RECONSTRUCTION: "These are not the study's votes: they were rebuilt from its published "
    "totals, and which rater cast which vote is made up. "
    "'casebook data card pdpabench_votes' says where the votes are."
}
TITLES = {
    RECONSTRUCTION: "Reconstructed PDPABench votes",
    "pdpabench_votes": "PDPABench votes",
}
NAMES = {RAG: "the answers with retrieval", BASE: "the answers without retrieval"}
"""What readers have to know of the votes, and call them and their systems."""

PRINTED_COEFFICIENTS = {
    "fleiss_kappa": "fleiss_kappa",
    "raw_observed_agreement": "percent_agreement",
}
BESIDE = ["quantity", "documented", "its n", "value", "low", "high"]


def documented_sign_test(wins, losses):
    """Sign test as the document computes it, for parity only."""
    n = int(wins + losses)
    if n == 0:
        return None
    masses = [math.comb(n, k) / 2**n for k in range(n + 1)]
    # The document takes outcomes that are likelier by rounding for no likelier than the data.
    return min(1.0, sum(mass for mass in masses if mass <= masses[wins] + 1e-15))


def documented_analysis(votes, suffix=""):
    """What the document prints of unblinded votes, under its keys; RAG is the focus."""
    frame = votes.frame.dropna(subset="left")
    is_left = frame["left"] == votes.focus
    table = frame[["rater", "item_id"]].copy()
    choices = {votes.focus: 1.0, "Tie": 0.0, **dict.fromkeys(votes.systems[1:], -1.0)}
    table["vote"] = frame["choice"].map(choices)
    for scale in DOCUMENTED_SCALES:
        left = frame[f"{scale}_left"].astype(float)
        right = frame[f"{scale}_right"].astype(float)
        table[RAG, scale] = left.where(is_left, right)
        table[BASE, scale] = right.where(is_left, left)
    preferences = {}
    ratings = {}
    for rater in votes.raters:
        form = table[table["rater"] == rater]
        preferences[f"{rater}{suffix}"] = documented_preference(form["vote"])
        ratings[f"{rater}{suffix}"] = _mean_ratings(form)
    return {
        PER_RATER: preferences,
        AGGREGATE: documented_preference(table["vote"]),
        MEAN_RATINGS: _mean_ratings(table),
        AGREEMENT: _agreement(table),
        "Mean ratings (per rater, RAG vs BASE)": ratings,
    }


def documented_preference(votes):
    """Preference figures of one rater or of all, under the document's names."""
    counts = count_votes(votes)
    wins = counts["wins"]
    losses = counts["losses"]
    return {
        "rag_wins": wins,
        "rag_losses": losses,
        "ties": counts["ties"],
        "n_effective": wins + losses,
        "p_value_sign_test": documented_sign_test(wins, losses),
        "unmapped_or_missing": counts["missing"],
    }


def documented_lines(analysis):
    """Write the numbers as the document prints them."""
    lines = []
    for heading, content in analysis.items():
        lines += ["", f"=== {heading} ==="]
        rows = {"": content}
        if "per rater" in heading:
            rows = {f"{name}: ": row for name, row in content.items()}
        for name, row in rows.items():
            lines.append(name + str(row).replace("None", "nan"))
    return lines[1:]


def _mean_ratings(table):
    """Mean ratings; a blank one makes nan."""
    printed = {}
    for system in (RAG, BASE):
        row = {
            f"{scale}_mean": rounded(table[system, scale].mean(skipna=False), 3)
            for scale in DOCUMENTED_SCALES
        }
        printed[system] = row | {"n": len(table)}
    return printed


def _agreement(table):
    """Fleiss' kappa on the items for which all raters voted."""
    table = table.drop_duplicates(["item_id", "rater"], keep="last")
    votes = table.pivot(index="item_id", columns="rater", values="vote").dropna()  # noqa: PD010
    found = measure("fleiss_kappa", votes, wide=True)
    observed = found.percent_agreement
    return {
        "fleiss_kappa": rounded(found.estimate, 3),
        "raw_observed_agreement": rounded(observed, 3),
        "raw_observed_agreement_pct": rounded(observed and observed * 100, 1),
        "n_items": len(votes),
        "n_raters_expected": votes.shape[1],
    }


def beside_standard(analysis):
    """The printed numbers (documented) beside the standard analysis of the same quantities."""
    printed = documented_analysis(analysis.votes)
    counts = printed[AGGREGATE]
    n = counts["n_effective"]
    p = counts["p_value_sign_test"]
    rates = analysis.tables["win_rates"].set_index("who")
    untied = analysis.panel.votes.replace(0, np.nan)
    net = pd.Series(crossed_mean(untied, weights="votes"))
    share = (net[["difference", "low", "high"]] + 1) / 2
    wins = counts["rag_wins"] / max(n, 1)
    rows = [("rag_wins / n_effective", wins, n, *share.clip(0, 1))]
    for ending, who in {"": THESE_RATERS, ", new raters": NEW_RATERS}.items():
        rows.append(
            (f"p_value_sign_test{ending}", p, n, rates.loc[who, "p"], None, None)
        )
    values = printed[AGREEMENT]
    agreement = analysis.tables["agreement"].set_index("coefficient")
    of_new = agreement[["estimate", "new_panel_low", "new_panel_high"]]
    for name, coefficient in PRINTED_COEFFICIENTS.items():
        rows.append((name, values[name], values["n_items"], *of_new.loc[coefficient]))
    means = pd.DataFrame(printed[MEAN_RATINGS], dtype=float)
    tests = analysis.tables.get("rating_tests", pd.DataFrame(columns=["scale"]))
    columns = ["difference", "both low", "both high"]
    tests = tests.set_index("scale").reindex(index=DOCUMENTED_SCALES, columns=columns)
    for scale, test in tests.iterrows():
        rag, base = means.loc[f"{scale}_mean"]
        rows.append(
            (f"{scale}_mean, RAG minus BASE", rag - base, means.loc["n", RAG], *test)
        )
    table = pd.DataFrame(rows, columns=BESIDE)
    table = table.astype({"value": float, "low": float, "high": float})
    return table.assign(n=rates["groups"].iloc[-1])


# --- the documented study


def votes_of(dataset):
    """The votes of a data set and its name, or the reconstruction if it is not here."""
    try:
        data = dataset and load(dataset, kind="votes")
    except Absent:
        data = None
    if not data:
        return example_votes(), RECONSTRUCTION
    table = data.votes.merge(data.items, on="item", validate="many_to_one")
    return _study_votes(
        table.sort_values(["rater", "row"], ignore_index=True)
    ), data.name


def published_tables(tables):
    """Of the reconstruction's tables those that do not depend on who cast which vote."""
    agreement = tables["agreement"].assign(reason="dealt_at_random")
    agreement[["new_panel_low", "new_panel_high"]] = np.nan
    return {"win_rates": tables["win_rates"], "agreement": agreement}


def example_votes():
    """The reconstruction of the documented example, which is not its data."""
    table = pd.read_csv(EXAMPLE)
    rag_left = table["rag_side"] == "S1"
    for scale in DOCUMENTED_SCALES:
        rag = table[f"{scale}_rag"]
        base = table[f"{scale}_base"]
        table[f"{scale}_s1"] = rag.where(rag_left, base)
        table[f"{scale}_s2"] = base.where(rag_left, rag)
    is_left = table["preference"] == table["rag_side"].map(LEFT)
    table["preferred"] = is_left.map({True: "S1", False: "S2"})
    table["preferred"] = table["preferred"].mask(table["preference"] == "Tie", "Tie")
    table[["prompt", "rag", "base", "comment"]] = ""
    return _study_votes(table)


def _study_votes(table):
    """Votes of a table in the columns of a data set of votes."""
    rag_left = table["rag_side"] == "S1"
    rows = table.rename(columns={"prompt": "prompt_text", "row": "place"}).assign(
        item_id=table["item"].map("item{:02d}".format),
        row=table["row"] + 1,
        left=table["rag_side"].map(LEFT),
        right=table["rag_side"].map(RIGHT),
        system1_output=table["rag"].where(rag_left, table["base"]),
        system2_output=table["base"].where(rag_left, table["rag"]),
    )
    raters = sorted(table["rater"].unique())
    return Votes(decode_judgements(rows), (RAG, BASE), RAG, tuple(raters))
