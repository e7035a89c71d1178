"""The reconstructed example as votes of a panel."""

import pandas as pd

from casebook.paths import DATA
from casebook.raters.documented import BASE, RAG
from casebook.raters.unblinding import SCALES, Votes

EXAMPLE = DATA / "raters" / "reconstructed_votes.csv"
SUFFIX = "_answers.xlsx"  # of the documented file names


def example_votes():
    """Read the reconstruction of the documented example.

    Returns
    -------
    casebook.raters.unblinding.Votes
        50 items, 4 raters, systems RAG and BASE. It is not the study's data: answers
        and comments are blank, and see ``data/raters/README.md``.
    """
    table = pd.read_csv(EXAMPLE)
    rag_left = table["rag_side"] == "S1"
    sides = {"left": ("rag", "base"), "right": ("base", "rag")}
    ratings = {
        f"{scale}_{side}": table[f"{scale}_{one}"].where(
            rag_left, table[f"{scale}_{two}"]
        )
        for side, (one, two) in sides.items()
        for scale in SCALES
    }
    choice = table["preference"]
    prefers_left = (choice == RAG) == rag_left
    preferred = prefers_left.map({True: "S1", False: "S2"})
    frame = pd.DataFrame(
        {
            "rater": table["rater"],
            "item_id": "item" + table["item"].astype(str).str.zfill(2),
            "place": table["row"],
            "row": table["row"] + 1,
            "left": rag_left.map({True: RAG, False: BASE}),
            "right": rag_left.map({True: BASE, False: RAG}),
            "preferred": preferred.where(choice != "Tie", "Tie"),
            "choice": choice,
            **{name: column.astype(float) for name, column in ratings.items()},
            **dict.fromkeys(("comment", "prompt", "text_left", "text_right"), ""),
            "guess": None,
            "stratum": "all",
        }
    )
    return Votes(frame, (RAG, BASE), RAG, tuple(sorted(frame["rater"].unique())), ())
