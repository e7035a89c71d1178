"""The documented analysis, reproduced line by line for parity, and the study that it was made for.

What it leaves out stands beside it in `casebook.raters.analysis`: votes of one item are dependent,
ties carry information, and a mean or a kappa without an interval says little.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.raters.layouts import FORM_SIDES, RATING_POINTS
from casebook.raters.preference import NEW_RATERS, THESE_RATERS, count_votes
from casebook.raters.read import rename_columns
from casebook.raters.unblinding import BASE, RAG, Votes, decode_judgements, key_column
from casebook.sheets import read_book, sheet_records

PER_RATER = "Pairwise preference (per rater, per-row RAG mapping)"
AGGREGATE = "Pairwise preference (aggregate, per-row mapping)"
MEAN_RATINGS = "Mean ratings (aggregate, RAG vs BASE)"
AGREEMENT = "Inter-rater agreement on common prompts"
MEAN_RATINGS_PER_RATER = "Mean ratings (per rater, RAG vs BASE)"
# The document's scales and columns, whatever the forms of today ask.
DOCUMENTED_SCALES = ("factuality", "usefulness")
# Judgement columns under the names of the documented form.
FORM_COLUMNS = {
    f"{scale}_{side}": f"{scale}_{form}"
    for form, side in FORM_SIDES.items()
    for scale in DOCUMENTED_SCALES
}
RATING_COLUMNS = list(FORM_COLUMNS.values())
_OTHER = {"S1": "S2", "S2": "S1"}

EXAMPLE = DATA / "raters" / "reconstructed_votes.csv"
SUFFIX = "_answers.xlsx"  # of the documented file names
RECONSTRUCTION = "reconstruction"
DEALT = "dealt_at_random"
"""Why the reconstruction does not hold what depends on who cast which vote."""

NOTES = {
    RECONSTRUCTION: "These votes are a reconstruction, not the votes of the study: tallies and "
    "patterns are those that PDPABench publishes, who cast which vote was dealt at random. "
    "'casebook data pull pdpabench_votes' fetches the votes."
}
TITLES = {RECONSTRUCTION: "Reconstructed PDPABench votes", "pdpabench_votes": "PDPABench votes"}
NAMES = {RAG: "the answers with retrieval", BASE: "the answers without retrieval"}
"""What readers have to know of the votes, and call them and their systems."""


def documented_sign_test(wins, losses):
    """Sign test as the document computes it, for parity only."""
    n = int(wins + losses)
    if n == 0:
        return None
    try:
        masses = [math.comb(n, k) * 0.5**n for k in range(n + 1)]
    except OverflowError:
        raise InputError(
            f"the documented sign test overflows at {n} untied votes: use the exact sign test"
        ) from None
    # The document takes outcomes that are likelier by rounding for no likelier than the data.
    return min(1.0, sum(mass for mass in masses if mass <= masses[wins] + 1e-15))


def documented_analysis(forms):
    """Compute what the document prints, under its keys, from (name, rows) of each form."""
    all_rows = [row for _, rows in forms for row in rows]
    return {
        PER_RATER: {name: documented_preference(_votes(rows)) for name, rows in forms},
        AGGREGATE: documented_preference(_votes(all_rows)),
        MEAN_RATINGS: _ratings(all_rows),
        AGREEMENT: _agreement(forms),
        MEAN_RATINGS_PER_RATER: {name: _ratings(rows) for name, rows in forms},
    }


def documented_preference(votes):
    """Preference figures of one rater or of all, under the document's names."""
    counts = count_votes(votes)
    return {
        "rag_wins": counts["wins"],
        "rag_losses": counts["losses"],
        "ties": counts["ties"],
        "n_effective": counts["wins"] + counts["losses"],
        "p_value_sign_test": documented_sign_test(counts["wins"], counts["losses"]),
        "unmapped_or_missing": counts["missing"],
    }


def documented_lines(analysis):
    """Write the numbers as the document prints them."""
    lines = []
    for heading, content in analysis.items():
        parts = {"": content}
        if "per rater" in heading:
            parts = {f"{name}: ": row for name, row in content.items()}
        lines += ["", f"=== {heading} ==="]
        lines += [name + str(row).replace("None", "nan") for name, row in parts.items()]
    return lines[1:]


# Name what cannot be, which the documented analysis computes without a word.
def impossible(forms, values):
    blank = int(np.isnan(_common_votes(forms)).any(axis=1).sum())
    if blank:
        yield (
            f"{blank} of {values[AGREEMENT]['n_items']} items lack a vote: the documented formula "
            "takes the raters of the first item for all, so its kappa of "
            f"{values[AGREEMENT]['fleiss_kappa']} is not the agreement of these raters; "
            "leave out --original for one that leaves out what is blank"
        )
    for name, rows in forms:
        ratings = pd.DataFrame(rows).reindex(columns=RATING_COLUMNS).stack()  # noqa: PD013
        ratings = pd.to_numeric(ratings, errors="coerce").dropna()
        wrong = ratings[~ratings.isin(RATING_POINTS)]
        if len(wrong):
            problem = f"{len(wrong)} ratings are none of 1 to 5 ({wrong.iloc[0]:g})"
            yield f"{name}: {problem}, and count in their means"


def _stripped(value):
    return value.strip() if isinstance(value, str) else value


# 1 for RAG, -1 for BASE, 0 for a tie; NaN where a cell is not spelt as documented.
def _votes(rows):
    table = pd.DataFrame(rows).reindex(columns=["side", "preferred"]).map(_stripped)
    has_key = table["side"].isin(_OTHER)
    is_rag = table["preferred"] == table["side"]
    is_base = table["preferred"] == table["side"].map(_OTHER)
    is_tie = table["preferred"] == "Tie"
    kinds = [has_key & is_rag, has_key & is_base, has_key & is_tie]
    return np.select(kinds, [1.0, -1.0, 0.0], np.nan)


# Mean ratings; a cell that is no number drops the rest of its row, a blank one makes nan.
def _ratings(rows):
    ratings = {(system, scale): [] for system in (RAG, BASE) for scale in DOCUMENTED_SCALES}
    for row in rows:
        side = _stripped(row["side"])
        if side not in _OTHER:
            continue
        try:
            for system, scale in ratings:
                value = row.get(f"{scale}_{(side if system == RAG else _OTHER[side]).lower()}")
                ratings[system, scale].append(float("nan") if value is None else float(value))
        except (TypeError, ValueError):
            continue
    means = {key: float(np.mean(values)) if values else np.nan for key, values in ratings.items()}
    means = {key: None if np.isnan(mean) else round(mean, 3) for key, mean in means.items()}
    return {
        system: {f"{scale}_mean": means[system, scale] for scale in DOCUMENTED_SCALES}
        | {"n": len(ratings[system, "usefulness"])}
        for system in (RAG, BASE)
    }


# Votes on the items of all forms: files of one base name collapse into one rater.
def _common_votes(forms):
    labels = {}
    for name, rows in forms:
        items = [" ".join(str(row["prompt_text"]).split()) for row in rows]
        votes = pd.Series(_votes(rows), items)
        labels[name] = votes[~votes.index.duplicated(keep="last")]
    return pd.concat(labels, axis=1, join="inner").to_numpy()


# Fleiss' kappa as documented: the number of raters is that of the first item.
def _agreement(forms):
    votes = _common_votes(forms)
    counts = np.stack([(votes == value).sum(axis=1) for value in (1, -1, 0)], axis=1).astype(float)
    kappa = observed = None
    raters = counts[0].sum() if len(counts) else 0
    if raters >= 2:
        observed = float((((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))).mean())
        chance = float(((counts.sum(axis=0) / (len(counts) * raters)) ** 2).sum())
        kappa = 1.0 if chance == 1 else float((observed - chance) / (1 - chance))
    return {
        "fleiss_kappa": None if kappa is None else round(kappa, 3),
        "raw_observed_agreement": None if observed is None else round(observed, 3),
        "raw_observed_agreement_pct": None if observed is None else round(observed * 100, 1),
        "n_items": len(votes),
        "n_raters_expected": len(forms),
    }


def beside_standard(analysis):
    """The printed numbers (documented) beside the standard analysis of the same quantities."""
    printed = documented_analysis(records_of(analysis.votes, SUFFIX))
    tables = analysis.tables
    counts = printed[AGGREGATE]
    means = pd.DataFrame(printed[MEAN_RATINGS]).astype(float)
    differences = means[RAG] - means[BASE]
    rates = tables["win_rates"].set_index("who")[["p", "value", "low", "high"]]
    share = tables["intervals"].set_index(["unit", "ties"]).loc[("item and rater", "drop")]
    kappa = tables["agreement"].set_index("coefficient")
    kappa = kappa[["estimate", "new_panel_low", "new_panel_high"]]
    untied = counts["n_effective"]
    documented = {
        "rag_wins / n_effective": counts["rag_wins"] / max(untied, 1),
        "p_value_sign_test": counts["p_value_sign_test"],
        "p_value_sign_test, new raters": counts["p_value_sign_test"],
        "fleiss_kappa": printed[AGREEMENT]["fleiss_kappa"],
        "raw_observed_agreement": printed[AGREEMENT]["raw_observed_agreement"],
    }
    standard = [
        share[["win_rate", "low", "high"]],
        [rates.loc[THESE_RATERS, "p"], None, None],
        [rates.loc[NEW_RATERS, "p"], None, None],
        kappa.loc["fleiss_kappa"],
        kappa.loc["percent_agreement"],
    ]
    columns = ["difference", "both low", "both high"]
    tests = tables.get("rating_tests", pd.DataFrame(columns=["scale"])).set_index("scale")
    for scale in DOCUMENTED_SCALES:
        documented[f"{scale}_mean, RAG minus BASE"] = differences[f"{scale}_mean"]
        standard.append(tests.reindex(index=[scale], columns=columns).iloc[0])
    table = pd.DataFrame(map(list, standard), columns=["value", "low", "high"], dtype=float)
    items = printed[AGREEMENT]["n_items"]
    its_n = [untied, untied, untied, items, items, *[means.loc["n", RAG]] * 2]
    about = {"documented": list(documented.values()), "its n": its_n}
    n = tables["win_rates"]["groups"].iloc[-1]
    return table.assign(quantity=list(documented), **about, n=n)


# --- rows in the shape that the documented analysis reads


# Read the first sheet of each form as the documented analysis does: (file name, rows).
def read_documented_rows(paths, side_column=None, last_column=False, columns=None):
    forms = []
    for path in map(Path, paths):
        (sheet,) = rename_columns(path, read_book(path).sheets[:1], columns or {})
        key = key_column(path, [name for name in sheet.table if name], side_column, last_column)
        rows = sheet_records(path, sheet, {"preferred", *RATING_COLUMNS, key})
        forms.append((path.name, [row | {"side": row[key]} for row in rows]))
    return forms


# Give unblinded votes in the form that the documented analysis reads.
def records_of(votes, suffix=""):
    frame = votes.frame.rename(columns=FORM_COLUMNS).assign(prompt_text=votes.frame["item_id"])
    sides = [frame["left"] == votes.focus, frame["right"] == votes.focus]
    frame["side"] = np.select(sides, ["S1", "S2"], None)
    rows = frame[["prompt_text", "preferred", *RATING_COLUMNS, "side"]]
    return [
        (f"{rater}{suffix}", rows[frame["rater"] == rater].to_dict("records"))
        for rater in votes.raters
    ]


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
    return _study_votes(table.sort_values(["rater", "row"], ignore_index=True)), data.name


# What the published tallies of raters and patterns of items fix, whoever cast which vote.
_PUBLISHED = ("win_rates", "intervals", "dependence", "agreement")


# Leave out of the reconstruction's tables, or undefine, what random assignment made.
def published_tables(tables):
    published = {name: tables[name] for name in _PUBLISHED}
    agreement = published["agreement"].assign(reason=DEALT)
    agreement[["new_panel_low", "new_panel_high"]] = np.nan
    pairwise = agreement["coefficient"] == "light_kappa"
    agreement.loc[pairwise, ["estimate", "se", "panel_low", "panel_high"]] = np.nan
    return published | {"agreement": agreement}


def example_votes():
    """The reconstruction of the documented example, which is not its data."""
    table = pd.read_csv(EXAMPLE)
    rag_left = table["rag_side"] == "S1"
    for scale in DOCUMENTED_SCALES:
        rag = table[f"{scale}_rag"]
        base = table[f"{scale}_base"]
        table[f"{scale}_s1"] = rag.where(rag_left, base)
        table[f"{scale}_s2"] = base.where(rag_left, rag)
    left = ((table["preference"] == RAG) == rag_left).map({True: "S1", False: "S2"})
    table["preferred"] = left.where(table["preference"] != "Tie", "Tie")
    table[["prompt", "rag", "base", "comment"]] = ""
    return _study_votes(table)


# Votes of a table in the columns of a data set of votes.
def _study_votes(table):
    rag_left = table["rag_side"] == "S1"
    rows = table.rename(columns={"prompt": "prompt_text"}).assign(
        item_id=table["item"].map("item{:02d}".format),
        place=table["row"],
        row=table["row"] + 1,
        left=np.where(rag_left, RAG, BASE),
        right=np.where(rag_left, BASE, RAG),
        system1_output=table["rag"].where(rag_left, table["base"]),
        system2_output=table["base"].where(rag_left, table["rag"]),
    )
    frame = decode_judgements(rows).astype(dict.fromkeys(FORM_COLUMNS, float))
    return Votes(frame, (RAG, BASE), RAG, tuple(sorted(frame["rater"].unique())))
