"""The documented analysis, reproduced line by line for parity, and the study that it was made for.

What it leaves out stands beside it in `casebook.raters.analysis`: votes of one item are dependent,
ties carry information, and a mean or a kappa without an interval says little.
"""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.raters.preference import count_votes
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
RATING_COLUMNS = [f"{scale}_{side}" for side in ("s1", "s2") for scale in DOCUMENTED_SCALES]
# Judgement columns under the names of the documented form.
FORM_COLUMNS = {
    "factuality_left": "factuality_s1",
    "usefulness_left": "usefulness_s1",
    "factuality_right": "factuality_s2",
    "usefulness_right": "usefulness_s2",
}
_OTHER = {"S1": "S2", "S2": "S1"}

EXAMPLE = DATA / "raters" / "reconstructed_votes.csv"
SUFFIX = "_answers.xlsx"  # of the documented file names
RECONSTRUCTION = "reconstruction"


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


def impossible(forms, values):
    """Name what cannot be, which the documented analysis computes without a word."""
    agreement = values[AGREEMENT]
    blank = int(np.isnan(_common_votes(forms)).any(axis=1).sum())
    if blank:
        yield (
            f"{blank} of {agreement['n_items']} items lack a vote: the documented formula takes "
            "the raters of the first item for all, so its kappa of "
            f"{agreement['fleiss_kappa']} is not the agreement of these raters; "
            "leave out --original for one that leaves out what is blank"
        )
    for name, count in Counter(name for name, _ in forms).items():
        if count > 1:
            yield f"{name}: files of one name count as one rater for kappa"
    for name, rows in forms:
        table = pd.DataFrame(rows).reindex(columns=RATING_COLUMNS)
        ratings = table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float).ravel()
        wrong = ratings[~np.isnan(ratings) & ~np.isin(ratings, range(1, 6))]
        if len(wrong):
            yield (
                f"{name}: {len(wrong)} ratings are none of 1 to 5 ({wrong[0]:g}), "
                "and count in their means"
            )


def _stripped(value):
    return value.strip() if isinstance(value, str) else value


def _votes(rows):
    """Give 1 for RAG, -1 for BASE, 0 for a tie; NaN where a cell is not spelt as documented."""
    votes = []
    for row in rows:
        side = _stripped(row["side"])
        preferred = _stripped(row.get("preferred"))
        meaning = {side: 1.0, _OTHER.get(side): -1.0, "Tie": 0.0} if side in _OTHER else {}
        votes.append(meaning.get(preferred, np.nan))
    return np.array(votes)


def _ratings(rows):
    """Mean ratings; a cell that is no number drops the rest of its row, a blank one makes nan."""
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


def _common_votes(forms):
    """Votes on the items of all forms: files of one base name collapse into one rater."""
    labels = {}
    for name, rows in forms:
        items = [" ".join(str(row["prompt_text"]).split()) for row in rows]
        votes = pd.Series(_votes(rows), items)
        labels[name] = votes[~votes.index.duplicated(keep="last")]
    return pd.concat(labels, axis=1, join="inner").to_numpy()


def _agreement(forms):
    """Fleiss' kappa as documented: the number of raters is that of the first item."""
    votes = _common_votes(forms)
    counts = np.stack([(votes == value).sum(axis=1) for value in (1, -1, 0)], axis=1).astype(float)
    kappa = None
    observed = None
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


# --- rows in the shape that the documented analysis reads ------------------------------


def read_documented_rows(paths, side_column=None, last_column=False, columns=None):
    """Read the first sheet of each form as the documented analysis does: (file name, rows)."""
    forms = []
    for path in map(Path, paths):
        (sheet,) = rename_columns(path, read_book(path).sheets[:1], columns or {})
        key = key_column(path, [name for name in sheet.table if name], side_column, last_column)
        needed = {"preferred", *RATING_COLUMNS, key}
        rows = sheet_records(path, sheet, needed)
        forms.append((path.name, [row | {"side": row[key]} for row in rows]))
    return forms


def records_of(votes, suffix=""):
    """Give unblinded votes in the form that the documented analysis reads."""
    frame = votes.frame.rename(columns=FORM_COLUMNS).assign(prompt_text=votes.frame["item_id"])
    sides = [frame["left"] == votes.focus, frame["right"] == votes.focus]
    frame["side"] = np.select(sides, ["S1", "S2"], None)
    rows = frame[["prompt_text", "preferred", *RATING_COLUMNS, "side"]]
    return [
        (f"{rater}{suffix}", rows[frame["rater"] == rater].to_dict("records"))
        for rater in votes.raters
    ]


# --- the documented study ------------------------------------------------------------------


def votes_of(dataset):
    """Give the votes of a data set and its name, or the reconstruction if it is not here."""
    try:
        data = dataset and load(dataset, kind="votes")
    except Absent:
        data = None
    if not data:
        return example_votes(), RECONSTRUCTION
    table = data.votes.merge(data.items, on="item", validate="many_to_one")
    return _study_votes(table.sort_values(["rater", "row"], ignore_index=True)), data.name


DEALT = "dealt_at_random"
# What depends on who cast which vote, on which side or at which position: published figures do
# not fix it.
_DEALT = (
    "cohen_kappa",
    "leave_one_out",
    "rating_agreement",
    "rating_counts",
    "rating_tests",
    "rater_rating_tests",
    "correlation",
    "position",
    "length",
    "order",
    "duplicates",
    "consistency",
    "arm_guess",
    "telling_words",
    "guesses",
)


def published_tables(tables):
    """Leave out of the reconstruction's tables, or undefine, what random assignment made.

    The win rates stay, those of new raters too: tallies of raters, patterns of items and the total
    fix all their parts.
    """
    published = {name: table for name, table in tables.items() if name not in _DEALT}
    agreement = published["agreement"].assign(
        new_panel_low=np.nan, new_panel_high=np.nan, reason=DEALT
    )
    pairwise = agreement["coefficient"] == "light_kappa"
    agreement.loc[pairwise, ["estimate", "se", "panel_low", "panel_high"]] = np.nan
    return published | {"agreement": agreement}


def example_votes():
    """Give the reconstruction of the documented example, which is not its data."""
    table = pd.read_csv(EXAMPLE)
    rag_left = table["rag_side"] == "S1"
    choice = table["preference"]
    for scale in DOCUMENTED_SCALES:
        rag = table[f"{scale}_rag"]
        base = table[f"{scale}_base"]
        table[f"{scale}_s1"] = rag.where(rag_left, base)
        table[f"{scale}_s2"] = base.where(rag_left, rag)
    left = ((choice == RAG) == rag_left).map({True: "S1", False: "S2"})
    table["preferred"] = left.where(choice != "Tie", "Tie")
    table[["prompt", "rag", "base", "comment"]] = ""
    return _study_votes(table)


def _study_votes(table):
    """Make votes of a table in the columns of a data set of votes."""
    rag_left = table["rag_side"] == "S1"
    rag = table["rag"]
    base = table["base"]
    rows = table.rename(columns={"prompt": "prompt_text"}).assign(
        item_id=table["item"].map("item{:02d}".format),
        place=table["row"],
        row=table["row"] + 1,
        stratum="all",
        left=np.where(rag_left, RAG, BASE),
        right=np.where(rag_left, BASE, RAG),
        system1_output=rag.where(rag_left, base),
        system2_output=base.where(rag_left, rag),
    )
    frame = decode_judgements(rows).astype(dict.fromkeys(FORM_COLUMNS, float))
    return Votes(frame, (RAG, BASE), RAG, tuple(sorted(frame["rater"].unique())), ())
