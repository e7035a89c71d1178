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
        changed, count = re.subn(
            pattern % place, stored % (place, kind, text), content, flags=re.DOTALL
        )
        assert count == 1, content[:2000]
        return changed

    return repacked(source, target, "xl/worksheets/sheet1.xml", change)


def reconstructed():
    """The reconstructed table in the columns of a form, with texts and quirks of its own."""
    table = pd.read_csv(DATA / "raters" / "reconstructed_votes.csv")
    left = table["rag_side"] == "S1"
    for scale in ("factuality", "usefulness"):
        rag, base = table[f"{scale}_rag"], table[f"{scale}_base"]
        table[f"{scale}_s1"], table[f"{scale}_s2"] = rag.where(left, base), base.where(left, rag)
    chosen = (table["preference"] == "RAG") == left
    table["preferred"] = chosen.map({True: "S1", False: "S2"}).where(
        table["preference"] != "Tie", "Tie"
    )
    item = table["item"].astype(str)
    known = {
        "prompt": "Question  " + item + "?",
        "rag": "rag answer " + item,
        "base": "base answer " + item,
    }
    return table.assign(**known, comment=None)


def write_forms(folder, table=None):
    """Write rater1_answers.xlsx to rater4_answers.xlsx: raters 3 and 4 with another sheet, 3 with a
    formula."""
    paths = []
    for rater, rows in (reconstructed() if table is None else table).groupby("rater"):
        book = Workbook()
        sheet = book.active
        sheet.title = "ratings"
        sheet.append(HEADER)
        for row in rows.to_dict("records"):
            texts = [row["rag"], row["base"]][:: 1 if row["rag_side"] == "S1" else -1]
            scores = [row[name] for name in HEADER[5:9]]
            known = [f"id{row['item']}", row["prompt"], *texts, row["preferred"]]
            sheet.append([*known, *scores, row["comment"], row["rag_side"]])
        if rater in {"rater3", "rater4"}:
            book.create_sheet("preview_mapping").append(["which side is which"])
        if rater == "rater3":
            sheet["M3"] = "=SUM(E2:E51)"
        paths.append(folder / f"{rater}_answers.xlsx")
        book.save(paths[-1])
    return paths
