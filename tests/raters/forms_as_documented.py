"""Workbooks in the documented layout, made from the reconstructed table."""

import re
import zipfile

from openpyxl import Workbook

from casebook.raters.documented import example_votes

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


def write_forms(folder):
    """Write rater1_answers.xlsx to rater4_answers.xlsx: raters 3 and 4 with another sheet, 3 with a
    formula."""
    paths = []
    for rater, rows in example_votes().frame.groupby("rater"):
        book = Workbook()
        sheet = book.active
        sheet.title = "ratings"
        sheet.append(HEADER)
        for row in rows.itertuples():
            item = int(row.item_id.removeprefix("item"))
            texts = [f"{side.lower()} answer {item}" for side in (row.left, row.right)]
            known = [f"id{item}", f"Question  {item}?", *texts, row.preferred]
            left = [row.factuality_left, row.usefulness_left]
            right = [row.factuality_right, row.usefulness_right]
            side = "S1" if row.left == "RAG" else "S2"
            sheet.append([*known, *left, *right, None, side])
        if rater in {"rater3", "rater4"}:
            book.create_sheet("preview_mapping").append(["which side is which"])
        if rater == "rater3":
            sheet["M3"] = "=SUM(E2:E51)"
        paths.append(folder / f"{rater}_answers.xlsx")
        book.save(paths[-1])
    return paths
