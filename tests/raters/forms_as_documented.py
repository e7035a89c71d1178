"""Workbooks in the documented layout, made from the reconstructed table."""

import re
import zipfile

import pandas as pd
from openpyxl import Workbook

from casebook.paths import DATA

HEADER = [
    *("prompt_id", "prompt_text", "system1_output", "system2_output", "preferred"),
    *("factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2", "comment"),
    "_rag_side_for_analysis",
]


def repacked(source, target, name, change):
    """Copy a workbook with one of its members changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", 8) as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, change(content) if member == name else content)
    return target


def with_stored(source, target, cell, value):
    """Store a value with the formula of one cell, as a spreadsheet does."""

    def change(content):
        pattern = rb'<c r="%s"([^>]*?)(?: t="\w+")?>(<f.*?</f>)<v ?/?>(?:</v>)?</c>'
        kind = b"str" if isinstance(value, str) else b"n"
        stored = rb'<c r="%s"\1 t="%s">\2<v>%s</v></c>'
        place, text = cell.encode(), str(value).encode()
        changed, count = re.subn(pattern % place, stored % (place, kind, text), content, flags=re.DOTALL)
        assert count == 1, content[:2000]
        return changed

    return repacked(source, target, "xl/worksheets/sheet1.xml", change)


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
