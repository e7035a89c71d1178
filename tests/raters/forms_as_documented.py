"""Workbooks in the documented layout, made from the reconstructed table."""

import pandas as pd
from openpyxl import Workbook

from casebook.paths import DATA

HEADER = [
    *("prompt_id", "prompt_text", "system1_output", "system2_output", "preferred"),
    *("factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2", "comment"),
    "_rag_side_for_analysis",
]


def votes():
    return pd.read_csv(DATA / "raters" / "reconstructed_votes.csv")


def write_forms(folder):
    """Write rater1_answers.xlsx to rater4_answers.xlsx, quirks included."""
    paths = []
    for rater, rows in votes().groupby("rater"):
        book = Workbook()
        sheet = book.active
        sheet.title = "ratings"
        sheet.append(HEADER)
        for row in rows.to_dict("records"):
            sheet.append(_row(row))
        if rater in {"rater3", "rater4"}:
            book.create_sheet("preview_mapping").append(["which side is which"])
        if rater == "rater3":
            sheet["M3"] = "=SUM(E2:E51)"
        paths.append(folder / f"{rater}_answers.xlsx")
        book.save(paths[-1])
    return paths


def _row(row):
    side = row["rag_side"]
    other = {"S1": "S2", "S2": "S1"}[side]
    preferred = {"RAG": side, "BASE": other, "Tie": "Tie"}[row["preference"]]
    order = ("rag", "base") if side == "S1" else ("base", "rag")
    texts = [f"{system} answer {row['item']}" for system in order]
    scores = [row[f"{s}_{o}"] for o in order for s in ("factuality", "usefulness")]
    prompt = f"Question  {row['item']}?"
    return [f"id{row['item']}", prompt, *texts, preferred, *scores, None, side]
