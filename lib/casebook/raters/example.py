"""The documented study as votes of a panel: the real ones, or their reconstruction."""

import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.paths import DATA
from casebook.raters.documented import BASE, RAG
from casebook.raters.unblinding import SCALES, Votes

EXAMPLE = DATA / "raters" / "reconstructed_votes.csv"
SUFFIX = "_answers.xlsx"  # of the documented file names
RECONSTRUCTION = "reconstruction"


def votes_of(dataset):
    """Give the votes of a data set, or of the reconstruction if it is not here."""
    if dataset is None:
        return example_votes(), RECONSTRUCTION
    try:
        data = load(dataset, kind="votes")
    except Absent:
        return example_votes(), RECONSTRUCTION
    table = data.votes.merge(data.items, on="item", validate="many_to_one")
    table = table.sort_values(["rater", "row"], ignore_index=True)
    return _votes(table), data.name


def example_votes():
    """Give the reconstruction of the documented example, which is not its data."""
    table = pd.read_csv(EXAMPLE)
    rag_left, choice = table["rag_side"] == "S1", table["preference"]
    for scale in SCALES:
        rag, base = table[f"{scale}_rag"], table[f"{scale}_base"]
        table[f"{scale}_s1"] = rag.where(rag_left, base)
        table[f"{scale}_s2"] = base.where(rag_left, rag)
    left = ((choice == RAG) == rag_left).map({True: "S1", False: "S2"})
    table["preferred"] = left.where(choice != "Tie", "Tie")
    table[["prompt", "rag", "base", "comment"]] = ""
    return _votes(table)


def _votes(table):
    """Make votes of a table in the columns of `casebook.data.splits.VoteSet`."""
    rag_left = table["rag_side"] == "S1"
    left = rag_left.map({True: RAG, False: BASE})
    right = rag_left.map({True: BASE, False: RAG})
    choice = left.where(table["preferred"] == "S1", right)
    frame = pd.DataFrame(
        {
            "rater": table["rater"],
            "item_id": "item" + table["item"].astype(str).str.zfill(2),
            "place": table["row"],
            "row": table["row"] + 1,
            "left": left,
            "right": right,
            "preferred": table["preferred"],
            "choice": choice.where(table["preferred"] != "Tie", "Tie"),
            **{
                f"{scale}_{side}": table[f"{scale}_{column}"].astype(float)
                for side, column in (("left", "s1"), ("right", "s2"))
                for scale in SCALES
            },
            "comment": table["comment"],
            "prompt": table["prompt"],
            "text_left": table["rag"].where(rag_left, table["base"]),
            "text_right": table["base"].where(rag_left, table["rag"]),
            "guess": None,
            "stratum": "all",
        }
    )
    return Votes(frame, (RAG, BASE), RAG, tuple(sorted(frame["rater"].unique())), ())
